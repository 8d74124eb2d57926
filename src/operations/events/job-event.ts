/**
 * What happens to jobs, as other processes hear of it: the events, the texts in which they travel, and what a listener wants to hear.
 * All of it is kept in records that expire within seconds.
 */
import type { Milliseconds, Seconds } from '../../base/clock';
import { errorMessage, errorName } from '../../base/exception-text';
import { redact } from '../../base/redact';
import type { Application, EndedRun, Observer, OperationsConnection } from '../../connections/application';
import type { Connection } from '../../connections/contract';
import type { JobContext, Progress } from '../../job/job-context';
import { fieldsIn, isRecord } from '../../payload/values';
import { uuidv7 } from '../../payload/uuid';
import { invalidEventFilter } from '../errors';
import { LONGEST_ID } from '../../connections/record-store';

interface Told {
  readonly id: string;
  readonly name: string;
  readonly connection: string;
  readonly queue: string;
  /** 1 in the first run. */
  readonly attempt: number;
  /** By the clock of the worker, or of whoever found it out by looking. */
  readonly at: Date;
}

/** A handler is about to run. */
export interface JobStarted extends Told {
  readonly type: 'started';
}

/** A running job has reported its progress. Of several reports within a tenth of a second, the last one. */
export interface JobProgressed extends Told {
  readonly type: 'progressed';
  /** From 0 to 1. */
  readonly value: number;
  readonly text?: string | undefined;
}

export interface JobCompleted extends Told {
  readonly type: 'completed';
}

/** It has failed for good. */
export interface JobFailed extends Told {
  readonly type: 'failed';
  /** One line, with secrets masked. */
  readonly error: string;
}

/** It went back to its queue, to run again: after an error, or because it or its worker said so. */
export interface JobReleased extends Told {
  readonly type: 'released';
  /** One line, with secrets masked. Undefined if there was no error. */
  readonly error?: string | undefined;
}

export interface JobCancelled extends Told {
  readonly type: 'cancelled';
}

/** Something that has happened to a job, in any process. */
export type JobEvent = JobStarted | JobProgressed | JobCompleted | JobFailed | JobReleased | JobCancelled;

type Kept<Event> = Event extends JobEvent ? Omit<Event, 'at'> & { readonly at: Milliseconds } : never;

/** An event as it travels. */
export type KeptEvent = Kept<JobEvent>;

/** What a listener wants to hear. What is absent excludes nothing. */
export interface EventFilter {
  readonly ids?: readonly string[] | undefined;
  readonly queue?: string | undefined;
  readonly names?: readonly string[] | undefined;
}

/** The last events of each worker's process. */
export const EVENTS = 'events';
/** Wakes the listeners; says nothing itself. */
export const NEWS = { kind: 'news', id: 'events' } as const;
/** What the listeners of each process want to hear. */
export const LISTENERS = 'listeners';
/** How long these records live after they were last written. */
export const LIVES: Seconds = 15;

/** Bytes of a record. */
const MOST_BYTES = 16 * 1024;
/** In characters. */
const LONGEST_ERROR = 500;

export const MOST_IDS = 100;

const TYPES: ReadonlySet<unknown> = new Set<JobEvent['type']>([
  'started',
  'progressed',
  'completed',
  'failed',
  'released',
  'cancelled',
]);

const identities = new WeakMap<Connection, string>();

/** The id of this process among those that tell and hear of the jobs of a connection. */
export function identityOf(connection: Connection): string {
  const identity = identities.get(connection) ?? uuidv7();
  identities.set(connection, identity);
  return identity;
}

export function fits({ ids, queue, names }: EventFilter, event: Pick<JobEvent, 'id' | 'name' | 'queue'>): boolean {
  if (queue !== undefined && queue !== event.queue) return false;
  return ids?.includes(event.id) !== false && names?.includes(event.name) !== false;
}

const OPTIONS = ['ids', 'queue', 'names', 'signal', 'connection'];

/** @throws E_INVALID_EVENT_FILTER */
export function checkedEvents<Options extends EventFilter>(options: Options): Options {
  // One that is misspelt would let everything through.
  const unknown = Object.keys(options).find((key) => !OPTIONS.includes(key));
  if (unknown !== undefined)
    throw invalidEventFilter(unknown, options[unknown as keyof Options], 'ids, queue, names or signal');
  const { ids, names } = options;
  for (const [key, list] of Object.entries({ ids, names })) {
    if (list === undefined) continue;
    const isList = Array.isArray(list) && list.length > 0 && list.length <= MOST_IDS;
    const isRight =
      isList && list.every((each) => typeof each === 'string' && each !== '' && each.length <= LONGEST_ID);
    if (!isRight)
      throw invalidEventFilter(
        key,
        list,
        `a list of 1 to ${MOST_IDS} ${key === 'ids' ? 'ids, as dispatch returned them' : 'names of jobs'}`,
      );
  }
  return options;
}

/** What turns the jobs of one connection, as this process sees them, into events. */
export abstract class EventSource {
  protected readonly observer: Observer;

  protected constructor(
    protected readonly application: Application,
    protected readonly connection: Connection,
    protected readonly store: OperationsConnection,
  ) {
    const { clock } = application;
    this.observer = eventObserver(
      connection.name,
      () => clock.now(),
      (event) => this.tell(event),
    );
  }

  protected abstract tell(event: KeptEvent): void;
}

function eventObserver(connection: string, now: () => Milliseconds, tell: (event: KeptEvent) => void): Observer {
  const about = ({ id, name, queue, attempts: attempt }: JobContext) => ({
    id,
    name,
    connection,
    queue,
    attempt,
    at: now(),
  });
  const isOurs = ({ connectionName, id }: JobContext): boolean =>
    connectionName === connection && id.length <= LONGEST_ID;
  return {
    around(job: JobContext, call: () => unknown): unknown {
      if (isOurs(job)) tell({ type: 'started', ...about(job) });
      return call();
    },
    progressed(job: JobContext, { value, text }: Progress): void {
      if (isOurs(job)) tell({ type: 'progressed', ...about(job), value, text });
    },
    ended({ job, outcome, error }: EndedRun): void {
      if (!isOurs(job) || outcome === 'lost') return;
      const line =
        error &&
        redact(`${errorName(error)}: ${errorMessage(error)}`)
          .slice(0, LONGEST_ERROR)
          .toWellFormed();
      if (outcome === 'failed') tell({ type: outcome, ...about(job), error: line ?? '' });
      else if (outcome === 'released') tell({ type: outcome, ...about(job), error: line });
      else tell({ type: outcome, ...about(job) });
    },
  };
}

/** Fewer of the oldest if they are too long. @param first the number of the first event */
export function eventsText(events: readonly KeptEvent[], first: number): string {
  const texts = events.map((event) => JSON.stringify(event));
  let bytes = 40;
  let from = texts.length;
  while (from > 0 && (bytes += Buffer.byteLength(texts[from - 1]!) + 1) <= MOST_BYTES) from -= 1;
  return `{"first":${first + from},"events":[${texts.slice(from).join(',')}]}`;
}

/** Undefined if it cannot be read: anybody may have written the text. @param after the number of the last event that is known already */
export function readEvents(
  text: string,
  after: number,
): { readonly events: readonly KeptEvent[]; readonly last: number } | undefined {
  const { first, events } = fieldsIn(text) ?? {};
  if (!Number.isSafeInteger(first) || !Array.isArray(events)) return undefined;
  const from = first as number;
  return {
    events: events.slice(Math.max(0, after + 1 - from)).filter(isEvent),
    last: from + events.length - 1,
  };
}

function isEvent(value: unknown): value is KeptEvent {
  return (
    isRecord(value) &&
    TYPES.has(value['type']) &&
    ['id', 'name', 'connection', 'queue'].every((field) => typeof value[field] === 'string') &&
    ['attempt', 'at'].every((field) => Number.isFinite(value[field])) &&
    (value['type'] !== 'progressed' || Number.isFinite(value['value'])) &&
    (value['type'] !== 'failed' || typeof value['error'] === 'string')
  );
}

/** Everything, if the filters are too long for a record. */
export function filtersText(filters: readonly EventFilter[]): string {
  const text = JSON.stringify({ filters });
  return Buffer.byteLength(text) <= MOST_BYTES ? text : '{"filters":[{}]}';
}

export function readFilters(text: string): readonly EventFilter[] {
  const { filters } = fieldsIn(text) ?? {};
  return Array.isArray(filters) ? filters.filter(isFilter) : [];
}

function isFilter(value: unknown): value is EventFilter {
  if (!isRecord(value)) return false;
  const { ids, queue, names } = value;
  return (
    [ids, names].every((list) => list === undefined || Array.isArray(list)) &&
    (queue === undefined || typeof queue === 'string')
  );
}
