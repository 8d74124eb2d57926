/** Looks for a text among jobs, in steps that each cost a store little: whoever wants more goes on from where the last one ended. */
import { redact } from '../../base/redact';
import { CapabilityError, isStoreAway } from '../../connections/errors';
import type { JobPage } from '../../operations/job-page';
import type { JobState, ListedJob } from '../../operations/listed-job';
import type { Snapshot } from '../../operations/snapshot';
import { html, type Html } from '../html';
import { excerptOf } from '../parts/excerpt';
import type { PageContext } from '../view';
import { Budget } from './budget';
import { jobTexts } from './job-texts';
import { Pattern } from './pattern';
import type { Place, Wanted } from './wanted';

/** So many found jobs are enough for a page. */
const MOST_FOUND = 100;

/** What people look for most comes before what there is most of. */
const ORDER: readonly JobState[] = ['running', 'failed', 'delayed', 'ready'];

export interface Match {
  readonly job: ListedJob;
  /** What stands around the text, with marks. */
  readonly excerpt: Html;
}

export interface Scan {
  readonly matches: readonly Match[];
  /** Jobs, those of the requests before with them. */
  readonly looked: number;
  /** Jobs that there are to look at. */
  readonly total: number;
  /** Undefined: that was all. */
  readonly next: Place | undefined;
  /** What was not looked at, and why. */
  readonly troubles: readonly string[];
}

/** Jobs of one state in a queue. */
type Shelf = Pick<Place, 'connection' | 'queue' | 'state'> & { readonly count: number };

/** @param seen of the connections that answer @throws E_INVALID_LISTING */
export async function scan(context: PageContext, wanted: Wanted, seen: readonly Snapshot[]): Promise<Scan> {
  const { from } = wanted;
  const shelves = seen.flatMap((snapshot) => shelvesOf(context, wanted, snapshot));
  const total = shelves.reduce((sum, { count }) => sum + count, 0);
  const pattern = new Pattern(wanted.text);
  const budget = new Budget(context.manager.clock);
  const matches: Match[] = [];
  const troubles = new Map<string, string>();
  const scanned = (next?: Omit<Place, 'looked'>): Scan => {
    const looked = (from?.looked ?? 0) + budget.jobs;
    return {
      matches,
      looked,
      total: Math.max(total, looked),
      next: next && { ...next, looked },
      troubles: [...troubles.values()],
    };
  };
  for (const shelf of shelves.filter((each) => isAhead(each, wanted))) {
    const { connection, queue, state } = shelf;
    let after = from !== undefined && isSame(shelf, from) ? from.after : undefined;
    do {
      if (troubles.has(connection)) break;
      const limit = matches.length >= MOST_FOUND ? 0 : budget.next;
      if (limit === 0) return scanned({ connection, queue, state, after });
      const page = await pageOf(context, shelf, { limit, after });
      if (typeof page === 'string') {
        troubles.set(connection, page);
        break;
      }
      for (const job of page.jobs) {
        const texts = jobTexts(job.payload);
        budget.spend(texts.reduce((sum, { length }) => sum + length, 0));
        const match = matchOf(job, texts, pattern);
        if (match !== undefined) matches.push(match);
      }
      after = page.next;
    } while (after !== undefined);
  }
  return scanned();
}

/** A text: why there is none. */
async function pageOf(
  { manager }: PageContext,
  { connection, queue, state }: Shelf,
  options: { readonly limit: number; readonly after: string | undefined },
): Promise<JobPage | string> {
  try {
    return await manager.connection(connection).jobs(queue, { ...options, state });
  } catch (error) {
    if (isStoreAway(error) || error instanceof CapabilityError) return redact(error.message);
    throw error;
  }
}

/** Those with jobs that the store shows. */
function shelvesOf({ manager }: PageContext, { queue, state }: Wanted, snapshot: Snapshot): readonly Shelf[] {
  const { connection, queues } = snapshot;
  const driver = manager.driver(connection);
  const isShown = (each: JobState): boolean =>
    each === 'failed' ? manager.failed.storeFor(driver) !== undefined : driver.capabilities.peek;
  const states = ORDER.filter((each) => (state === undefined || each === state) && isShown(each));
  const named = queues.filter((one) => queue === undefined || one.queue === queue);
  return states.flatMap((each) =>
    named
      .map((one) => ({ connection, queue: one.queue, state: each, count: one[each] ?? 0 }))
      .filter(({ count }) => count > 0),
  );
}

function isSame(shelf: Shelf, { connection, queue, state }: Place): boolean {
  return shelf.connection === connection && shelf.queue === queue && shelf.state === state;
}

/** Whether it is not behind us. Queues come and go between two requests: their order stays. */
function isAhead({ connection, queue, state }: Shelf, { connections, from }: Wanted): boolean {
  if (from === undefined) return true;
  const steps = [
    connections.indexOf(connection) - connections.indexOf(from.connection),
    ORDER.indexOf(state) - ORDER.indexOf(from.state),
    queue < from.queue ? -1 : 0,
  ];
  return (steps.find((step) => step !== 0) ?? 0) >= 0;
}

function matchOf(job: ListedJob, texts: readonly string[], pattern: Pattern): Match | undefined {
  const { id, name, payload } = job;
  const error = job.error === undefined ? undefined : pattern.excerpt(job.error);
  if (error !== undefined) return { job, excerpt: html`<span class="bad">${error}</span>` };
  for (const text of texts) {
    const excerpt = pattern.excerpt(text);
    if (excerpt !== undefined) return { job, excerpt: html`<code>${excerpt}</code>` };
  }
  if (pattern.isIn(name) || (id !== undefined && pattern.isIn(id))) return { job, excerpt: excerptOf(payload) };
  return undefined;
}
