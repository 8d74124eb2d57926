/**
 * One who listens to jobs: an iterator of their events. Of jobs that it knows by their ids it also looks each second how they are, so
 * that it does not wait for ever for the end of one that ended before it listened, or whose event was lost.
 */
import type { Milliseconds, Timer } from '../../base/clock';
import type { Application } from '../../connections/application';
import type { Connection } from '../../connections/contract';
import { foundJob, type FoundJob } from '../found-job';
import { EventFeed } from './event-feed';
import { fits, type EventFilter, type JobEvent, type KeptEvent } from './job-event';

export interface EventsOptions extends EventFilter {
  /** Only these jobs: up to 100 ids, as `dispatch` returned them. What has happened to them already is told too. */
  readonly ids?: readonly string[] | undefined;
  /** Only jobs of this queue. */
  readonly queue?: string | undefined;
  /** Only jobs with these names: up to 100. */
  readonly names?: readonly string[] | undefined;
  /** Ends the iteration when it aborts. */
  readonly signal?: AbortSignal | undefined;
}

/** Events that wait for a slow reader. */
const MOST_WAITING = 1000;
/** Between looks: until workers must know that somebody listens, and then. */
const LOOK = { eager: 1000, times: 4, seldom: 5000 } as const;
/** After an end that a look has found, what workers tell of the job may be older: they write it a moment later. */
const STALE: Milliseconds = 5000;
/** Concurrent looks. */
const AT_ONCE = 10;

/** What one job is known to have come to. */
interface Known {
  /** How many of its events were given to the reader. */
  events: number;
  /** The attempt that has started. */
  attempt?: number | undefined;
  progress?: string | undefined;
  progressedAt?: Milliseconds | undefined;
  isOver?: boolean | undefined;
  deafUntil?: Milliseconds | undefined;
}

type Turn = IteratorResult<JobEvent, undefined>;

export class JobEvents implements AsyncIterableIterator<JobEvent, undefined> {
  readonly #connection: Connection;
  readonly #application: Application;
  readonly #filter: EventFilter;
  readonly #known: ReadonlyMap<string, Known>;
  readonly #waiting: JobEvent[] = [];
  readonly #readers: ((turn: Turn) => void)[] = [];
  readonly #leave: () => void;
  readonly #unhook: () => void;
  #looks = 0;
  #nextLook: Timer | undefined;
  #isOver = false;

  /** @throws E_NO_RECORDS, E_MANAGER_CLOSED */
  constructor(connection: Connection, application: Application, { ids, queue, names, signal }: EventsOptions) {
    this.#connection = connection;
    this.#application = application;
    this.#filter = { ids: ids && [...ids], queue, names: names && [...names] };
    this.#known = new Map((ids ?? []).map((id) => [id, { events: 0 }]));
    const end = (): void => this.#end();
    this.#leave = EventFeed.of(application, connection).add({
      filter: this.#filter,
      hear: (event) => this.#hear(event),
      end,
    });
    signal?.addEventListener('abort', end);
    this.#unhook = () => signal?.removeEventListener('abort', end);
    if (signal?.aborted === true) end();
    else if (ids !== undefined) void this.#look();
  }

  next(): Promise<Turn> {
    const value = this.#waiting.shift();
    if (value !== undefined) return Promise.resolve({ value, done: false });
    if (this.#isOver) return Promise.resolve({ value: undefined, done: true });
    return new Promise((resolve) => void this.#readers.push(resolve));
  }

  /** Called by `break` and `return`. */
  return(): Promise<Turn> {
    this.#waiting.length = 0;
    this.#end();
    return Promise.resolve({ value: undefined, done: true });
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  #end(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#nextLook?.cancel();
    this.#unhook();
    this.#leave();
    for (const reader of this.#readers.splice(0)) reader({ value: undefined, done: true });
  }

  #hear(event: KeptEvent, isLook = false): void {
    if (this.#isOver || !fits(this.#filter, event)) return;
    const known = this.#known.get(event.id);
    if (known !== undefined) {
      if (!isLook && this.#application.clock.monotonic() < (known.deafUntil ?? 0)) return;
      if (!isNews(event, known)) return;
      known.events += 1;
    }
    const value = { ...event, at: new Date(event.at) } as JobEvent;
    const reader = this.#readers.shift();
    if (reader !== undefined) return reader({ value, done: false });
    this.#waiting.push(value);
    // Rather than fill the memory of a process whose reader is slow.
    if (this.#waiting.length > MOST_WAITING) this.#waiting.shift();
  }

  /** Never rejects. */
  async #look(): Promise<void> {
    const open = [...this.#known].filter(([, { isOver }]) => isOver !== true).map(([id]) => id);
    for (let place = 0; place < open.length && !this.#isOver; place += AT_ONCE)
      await Promise.all(open.slice(place, place + AT_ONCE).map((id) => this.#lookFor(id)));
    if (this.#isOver) return;
    this.#looks += 1;
    const pause = this.#looks < LOOK.times ? LOOK.eager : LOOK.seldom;
    this.#nextLook = this.#application.clock.after(pause, () => void this.#look());
  }

  async #lookFor(id: string): Promise<void> {
    const connection = this.#connection;
    const { queue } = this.#filter;
    const { clock } = this.#application;
    const known = this.#known.get(id)!;
    const { events } = known;
    try {
      const waiting = await connection.queues.find?.(id, queue);
      const found = await foundJob(connection, this.#application, id, queue, waiting);
      // Something was heard meanwhile, and what was found is older.
      if (known.events !== events) return;
      for (const event of eventsOf(found, clock.now())) this.#hear(event, true);
      if (known.isOver === true) known.deafUntil = clock.monotonic() + STALE;
    } catch {
      // The store is away, or cannot look for jobs: what workers tell is heard all the same.
    }
  }
}

/** Whether a job has not come to this before, as far as is known; then it has now. */
function isNews(event: KeptEvent, known: Known): boolean {
  const { type, attempt } = event;
  if (type === 'started') {
    if (known.attempt === attempt && known.isOver !== true) return false;
    Object.assign(known, { attempt, progress: undefined, isOver: false });
    return true;
  }
  if (type === 'progressed') {
    const progress = JSON.stringify([event.value, event.text]);
    const isOld = event.at < (known.progressedAt ?? 0);
    if (known.isOver === true || known.progress === progress || isOld) return false;
    Object.assign(known, { progress, progressedAt: event.at });
    return true;
  }
  if (known.isOver === true) return false;
  if (type !== 'released') known.isOver = true;
  // The next attempt may have the same number, or have been found by a look before this was heard.
  else if (attempt >= (known.attempt ?? 0)) known.attempt = undefined;
  return true;
}

/** What must have happened to a job that is found like this. */
function eventsOf(found: FoundJob, now: Milliseconds): readonly KeptEvent[] {
  const { id, connection, name = '', queue = '', progress, history } = found;
  const about = { id, connection, name, queue, attempt: found.attempts ?? 1, at: now };
  switch (found.state) {
    case 'running': {
      const started = { type: 'started', ...about } as const;
      return progress === undefined
        ? [started]
        : [
            started,
            { ...about, type: 'progressed', value: progress.value, text: progress.text, at: progress.at.getTime() },
          ];
    }
    case 'completed':
      return [{ type: 'completed', ...about, at: found.completedAt?.getTime() ?? now }];
    case 'failed':
      return [{ type: 'failed', ...about, at: found.failedAt.getTime(), error: found.error }];
    case 'unknown': {
      const last = history.at(-1);
      return last?.outcome === 'cancelled'
        ? [{ type: 'cancelled', ...about, attempt: last.attempt, at: last.at.getTime() }]
        : [];
    }
    default:
      return [];
  }
}
