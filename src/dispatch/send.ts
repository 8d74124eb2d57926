/** Hands encoded jobs to a driver: one, or many in pages. */
import { OnqueueError } from '../base/onqueue-error';
import type { QueueingEvent } from '../job/hook-events';
import type { Connection } from '../connections/contract';
import { entriesFor, type TimedTarget } from '../connections/due-entries';
import { withConsequence } from '../base/define-error';
import { QueueUnavailableError } from '../connections/errors';
import type { EncodedJob } from './job-encoder';
import { nextTurn } from '../base/next-turn';
import { MOST_JOBS, pageBytes, pagesOf } from '../base/pages';

/** What takes jobs. */
export type Target = Pick<Connection, 'push'> & Partial<Pick<Connection, 'driver' | 'pushesAtOnce'>> & TimedTarget;

/** A job that goes by a push of its own, which gives its id or an empty text. */
export interface OwnPush {
  readonly name: string;
  readonly connection: string;
  readonly queue: string;
  readonly push: () => Promise<string>;
}

export type Parcel = EncodedJob | OwnPush;

/** A push that failed. */
export interface Refusal {
  readonly error: unknown;
  /** `job`: it ran within its push, and failed itself: sent again, it would run twice. `own`: the push of its own failed. */
  readonly of: 'store' | 'job' | 'own';
}

/** Gives its id. @throws QueueUnavailableError naming the job, and what else the driver throws */
export async function send(target: Target, job: EncodedJob): Promise<string> {
  try {
    if (job.hooks !== undefined) await job.hooks.emit('queueing', pushEvent(job));
    const entries = entriesFor(target, [job]);
    await target.push(job.queue, entries instanceof Promise ? await entries : entries);
    if (job.hooks !== undefined) await job.hooks.emit('queued', pushEvent(job));
    return job.id;
  } catch (error) {
    throw runsJobs(target) ? error : withConsequence(error, `${job.name} was not queued`);
  }
}

/** A page on its way. */
interface Sending {
  readonly page: Page;
  /** Undefined: all are in. `taken`: those that are in all the same. */
  readonly ended: Promise<(Refusal & { readonly taken: readonly EncodedJob[] }) | undefined>;
}

/**
 * Sends many jobs, page by page, each queue's in order, then those with a push of their own. With a connection that is away
 * it goes on with those of others.
 *
 * @param sent hears of each job that is in, with its id
 * @param refused hears of each page that is not, or not wholly; what it throws ends the sending
 */
export async function sendAll(
  parcels: readonly Parcel[],
  targetOf: (connection: string) => Target,
  sent: (parcel: Parcel, id: string) => void,
  refused: (refusal: Refusal, page: readonly [Parcel, ...Parcel[]]) => void,
): Promise<void> {
  const away = new Set<string>();
  for (const group of groups(parcels.filter((parcel): parcel is EncodedJob => !isOwn(parcel)))) {
    const { connection } = group[0];
    const target = (): Target => targetOf(connection);
    const { jobs, atOnce } = mostOf(target);
    const underWay: Sending[] = [];
    const refusals: (readonly [Refusal, Page])[] = [];
    // Where one page was refused, those behind it are heard before anybody is told: they may be in.
    const hear = async (most: number): Promise<void> => {
      while (underWay.length > (refusals.length > 0 ? 0 : most)) {
        const { page, ended } = underWay.shift()!;
        const refusal = await ended;
        for (const job of refusal?.taken ?? page) sent(job, job.id);
        if (refusal !== undefined) refusals.push([refusal, page]);
      }
      for (const [refusal, page] of refusals.splice(0)) {
        if (refusal.of === 'store' && refusal.error instanceof QueueUnavailableError) away.add(connection);
        refused(refusal, page);
      }
    };
    // Each page holds one at least.
    for (const page of pagesOf(group, bytesOf, jobs) as Iterable<Page>) {
      if (away.has(connection)) break;
      underWay.push(await push(target, page));
      await hear(atOnce - 1);
      await nextTurn();
    }
    await hear(0);
  }
  for (const own of parcels.filter(isOwn)) {
    try {
      sent(own, await own.push());
    } catch (error) {
      refused({ error, of: 'own' }, [own]);
    }
  }
}

/** Resolves when the page is on its way. */
async function push(targetOf: () => Target, page: Page): Promise<Sending> {
  let of: Refusal['of'] = 'store';
  const refusal = (error: unknown): Awaited<Sending['ended']> => {
    return { error, taken: of === 'job' ? page : takenOf(page, error), of };
  };
  try {
    const target = targetOf();
    if (runsJobs(target)) of = 'job';
    await tell('queueing', page);
    const pushed = target.push(page[0].queue, await entriesFor(target, page));
    return { page, ended: pushed.then(() => tell('queued', page)).then(() => undefined, refusal) };
  } catch (error) {
    return { page, ended: Promise.resolve(refusal(error)) };
  }
}

async function tell(hook: 'queueing' | 'queued', jobs: readonly EncodedJob[]): Promise<void> {
  for (const job of jobs) await job.hooks?.emit(hook, pushEvent(job));
}

function pushEvent({ id, name, connection, queue, entry }: EncodedJob): QueueingEvent {
  const { payload, dueAt, delay = 0 } = entry;
  const when = dueAt === undefined ? delay : new Date(dueAt);
  return { connectionName: connection, queue, id: id || undefined, name, payload, delay: when };
}

/** What a driver took of a page that it refused in part: it says which it did not, and sent again the others would run twice. */
function takenOf(page: readonly EncodedJob[], error: unknown): readonly EncodedJob[] {
  const refused: unknown = error instanceof OnqueueError ? (error.facts as { readonly refused?: unknown }).refused : [];
  return Array.isArray(refused) && refused.length > 0 ? page.filter((_, place) => !refused.includes(place)) : [];
}

/** Whether jobs run within their push. */
function runsJobs({ driver }: Target): boolean {
  return driver === 'sync';
}

/**
 * How many jobs travel in a page, and how many pages at once. Of jobs that run within their push each ends for itself: one
 * that has run must not be told as not sent.
 */
function mostOf(targetOf: () => Target): { readonly jobs: number; readonly atOnce: number } {
  try {
    const target = targetOf();
    return { jobs: runsJobs(target) ? 1 : MOST_JOBS, atOnce: target.pushesAtOnce ?? 1 };
  } catch {
    // The push tells why.
    return { jobs: MOST_JOBS, atOnce: 1 };
  }
}

/** Jobs of one queue, for one call. */
type Page = readonly [EncodedJob, ...EncodedJob[]];

const bytesOf = ({ entry }: EncodedJob): number => pageBytes(entry.payload);

function groups(jobs: Iterable<EncodedJob>): Iterable<Page> {
  const groups = new Map<string, [EncodedJob, ...EncodedJob[]]>();
  let group: [EncodedJob, ...EncodedJob[]] | undefined;
  for (const job of jobs) {
    // Mostly the next one goes where the last one went.
    if (group?.[0].connection !== job.connection || group[0].queue !== job.queue) {
      const target = JSON.stringify([job.connection, job.queue]);
      group = groups.get(target);
      if (group === undefined) {
        groups.set(target, (group = [job]));
        continue;
      }
    }
    group.push(job);
  }
  return groups.values();
}

export function isOwn(parcel: Parcel): parcel is OwnPush {
  return 'push' in parcel;
}
