/** Searches jobs for a text, in steps that each cost a store little; the next request continues where the last one ended. */
import { failedStoreOf } from '../connections/application';
import type { QueueManager } from '../application/queue-manager';
import type { Milliseconds } from '../base/clock';
import { redact } from '../base/redact';
import { CapabilityError, isStoreAway } from '../connections/errors';
import { JOB_STATES, type JobPage } from '../operations/found-job';
import type { JobState, ListedJob } from '../operations/listed-job';
import type { Snapshot } from '../operations/snapshot';
import { isRecord } from '../payload/values';
import { address, listIn } from './addresses';
import { neededField } from './errors';
import { html, type Html } from './html';
import { SHOWN_ELSEWHERE } from './job/data';
import { dataText, excerptOf } from './parts/text';
import { Budget } from './readings';
import type { PageContext } from './view';

/** Enough found jobs for one page. */
const MOST_FOUND = 100;

/** The time after which the viewer gets what was found so far. */
const LONGEST: Milliseconds = 1000;

/** The most that a store lists at once. */
const MOST_AT_ONCE = 100;

/** The states that people search most come before the most common ones. */
const ORDER: readonly JobState[] = ['running', 'failed', 'delayed', 'ready'];

export interface Match {
  readonly job: ListedJob;
  /** The text around the match, with marks. */
  readonly excerpt: Html;
}

export interface Scan {
  readonly matches: readonly Match[];
  /** Jobs searched so far, including those of earlier requests. */
  readonly looked: number;
  /** Jobs that can be searched. */
  readonly total: number;
  /** Undefined if all were searched. */
  readonly next: Place | undefined;
  /** What was not searched, and why. */
  readonly troubles: readonly string[];
}

/** Jobs of one state in a queue. */
type Shelf = Pick<Place, 'connection' | 'queue' | 'state'> & { readonly count: number };

/** @param seen the snapshots of the connections that answer @throws E_INVALID_LISTING */
export async function scan(context: PageContext, wanted: Wanted, seen: readonly Snapshot[]): Promise<Scan> {
  const { from } = wanted;
  const shelves = seen.flatMap((snapshot) => shelvesOf(context, wanted, snapshot));
  const total = shelves.reduce((sum, { count }) => sum + count, 0);
  const pattern = new Pattern(wanted.text);
  const { clock } = context.manager;
  const began = clock.monotonic();
  const budget = new Budget(MOST_AT_ONCE);
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
    const isSame = from?.connection === connection && from.queue === queue && from.state === state;
    let after = isSame ? from.after : undefined;
    do {
      if (troubles.has(connection)) break;
      const isEnough = matches.length >= MOST_FOUND || clock.monotonic() - began > LONGEST;
      const limit = isEnough ? 0 : budget.next;
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

/** A text says why there is no page. */
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

/** The shelves with jobs that the store can list. */
function shelvesOf({ manager }: PageContext, { queue, state }: Wanted, snapshot: Snapshot): readonly Shelf[] {
  const { connection, queues } = snapshot;
  const driver = manager.driver(connection);
  const isShown = (each: JobState): boolean =>
    each === 'failed' ? failedStoreOf(driver, manager) !== undefined : driver.queues.peek !== undefined;
  const states = ORDER.filter((each) => (state === undefined || each === state) && isShown(each));
  const named = queues.filter((one) => queue === undefined || one.queue === queue);
  return states.flatMap((each) =>
    named
      .map((one) => ({ connection, queue: one.queue, state: each, count: one[each] ?? 0 }))
      .filter(({ count }) => count > 0),
  );
}

/** Whether it is not yet searched. Queues come and go between two requests, but their order stays. */
function isAhead({ connection, queue, state }: Shelf, { connections, from }: Wanted): boolean {
  if (from === undefined) return true;
  const steps = [
    connections.indexOf(connection) - connections.indexOf(from.connection),
    ORDER.indexOf(state) - ORDER.indexOf(from.state),
    queue < from.queue ? -1 : 0,
  ];
  return (steps.find((step) => step !== 0) ?? 0) >= 0;
}

/**
 * The texts of a payload that are searched: what its dispatcher gave, not the rest of the envelope. @param payload with its secrets
 * masked: a guess at a masked value must not be confirmed
 */
function jobTexts(payload: unknown): readonly string[] {
  if (!isRecord(payload)) return [dataText(payload)];
  const given = Object.entries(payload).filter(([field]) => !SHOWN_ELSEWHERE.has(field));
  return [
    ...('data' in payload ? [dataText(payload)] : []),
    ...given.map(([field, value]) => `${field}: ${typeof value === 'string' ? value : JSON.stringify(value)}`),
  ];
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

/** What is searched, and where, according to the page's address. */
export interface Wanted {
  /** Empty if nothing is to be searched yet. */
  readonly text: string;
  /** Undefined means all, also below. */
  readonly connection: string | undefined;
  readonly queue: string | undefined;
  readonly state: JobState | undefined;
  readonly connections: readonly string[];
  /** Undefined if from the beginning. */
  readonly from: Place | undefined;
}

/** How far earlier requests have searched. */
interface Place {
  readonly connection: string;
  readonly queue: string;
  readonly state: JobState;
  /** The job after which to continue. Undefined if from the first. */
  readonly after: string | undefined;
  /** Jobs searched so far. */
  readonly looked: number;
}

/** In characters: no job contains a longer text, and searching large jobs for it would block the whole process. */
const LONGEST_TEXT = 300;

/** @throws E_DASHBOARD_QUERY, E_UNKNOWN_CONNECTION */
export function wantedIn(query: URLSearchParams, manager: QueueManager): Wanted {
  const connection = query.get('connection') || undefined;
  const connections = connection === undefined ? manager.connectionNames() : [manager.settings(connection).name];
  const state = query.get('state') || undefined;
  const text = query.get('text')?.trim() ?? '';
  if (text.length > LONGEST_TEXT) throw neededField('text');
  return {
    text,
    connection,
    queue: query.get('queue') || undefined,
    state: state === undefined ? undefined : stateIn(state, 'state'),
    connections,
    from: placeIn(query.get('from'), connections),
  };
}

/** The page that continues there. */
export function further({ text, connection, queue, state }: Wanted, from: Place): string {
  const place = [from.connection, from.queue, from.state, from.after ?? null, from.looked];
  return address('search', { text, connection, queue, state, from: JSON.stringify(place) });
}

function placeIn(text: string | null, connections: readonly string[]): Place | undefined {
  if (text === null) return undefined;
  const [connection, queue, state, after, looked] = listIn(text);
  if (typeof connection !== 'string' || !connections.includes(connection)) throw neededField('from');
  if (typeof queue !== 'string' || (typeof after !== 'string' && after !== null)) throw neededField('from');
  if (!Number.isSafeInteger(looked) || Number(looked) < 0) throw neededField('from');
  return { connection, queue, state: stateIn(state, 'from'), after: after ?? undefined, looked: Number(looked) };
}

function stateIn(given: unknown, field: string): JobState {
  const state = JOB_STATES.find((each) => each === given);
  if (state === undefined) throw neededField(field);
  return state;
}

/** Characters shown before and after the first match. */
const BEFORE = 24;
const BEHIND = 160;

interface Stretch {
  readonly start: number;
  readonly end: number;
}

/** Finds a text within others, ignoring case. */
export class Pattern {
  readonly #forms: readonly string[];

  /** @param text not empty */
  constructor(text: string) {
    // In JSON, quotes and backslashes are escaped.
    this.#forms = [...new Set([text, JSON.stringify(text).slice(1, -1)])].map(withoutCase);
  }

  isIn(text: string): boolean {
    return this.#first(text) !== undefined;
  }

  marked(text: string): Html {
    return html`<bdi>${this.#parts(text)}</bdi>`;
  }

  /** The text around the first match. Undefined if there is none. */
  excerpt(text: string): Html | undefined {
    const found = this.#first(text);
    if (found === undefined) return undefined;
    const [start, end] = [Math.max(0, found.start - BEFORE), found.end + BEHIND];
    return html`<bdi>${start > 0 && '…'}${this.#parts(text.slice(start, end))}${end < text.length && '…'}</bdi>`;
  }

  #parts(text: string): readonly (Html | string)[] {
    const parts: (Html | string)[] = [];
    let shown = 0;
    for (const { start, end } of this.#matches(text)) {
      parts.push(text.slice(shown, start), html`<mark>${text.slice(start, end)}</mark>`);
      shown = end;
    }
    return [...parts, text.slice(shown)];
  }

  #first(text: string): Stretch | undefined {
    const [found] = this.#matches(text);
    return found;
  }

  /** A regular expression would compare the whole pattern at each place of a text that repeats itself: 4 MB took 3.7 s. */
  *#matches(given: string): Generator<Stretch> {
    const text = withoutCase(given);
    const next = this.#forms.map((form) => ({ form, start: text.indexOf(form) }));
    for (;;) {
      const [first] = next.filter(({ start }) => start >= 0).toSorted((one, other) => one.start - other.start);
      if (first === undefined) return;
      const { start } = first;
      const end = start + first.form.length;
      yield { start, end };
      for (const one of next) if (one.start >= 0 && one.start < end) one.start = text.indexOf(one.form, end);
    }
  }
}

/** In lower case, every character at its place: only İ would become longer. A σ is written differently at the end of a word. */
function withoutCase(text: string): string {
  return text.replaceAll('İ', 'I').toLowerCase().replaceAll('ς', 'σ');
}
