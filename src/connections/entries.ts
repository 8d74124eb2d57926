/**
 * Entries on their way: in the form that their driver takes, to another connection than that of the job before them, and in
 * the events of their push.
 */
import { systemClock, timeOf, type Milliseconds, type Seconds } from '../base/clock';
import { withRetryUntil } from '../payload/payload-text';
import type { Connection, Entry, PageToPush } from './contract';
import type { Application } from './application';
import type { QueueingEvent } from '../job/hooks';
import { BUILT_IN } from '../job/registry';
import { laneOf } from '../payload/ties';
import { glimpseOf, UNREADABLE_NAME } from '../payload/counters';

export interface Timed {
  readonly entry: Entry;
  /** A span from the push, after which no attempt starts; its end is written into the payload when it is sent. */
  readonly retryWithin?: Seconds | undefined;
}

/** A target for jobs, as far as its clock is concerned. */
export type TimedTarget = Partial<Pick<Connection, 'now' | 'capabilities'>>;

/**
 * Entries in the form that a driver takes: its clock judges moments if it can, and ours never does if the store tells its
 * own time. The same entries if none depends on a clock, as nearly always.
 */
export async function entriesFor(target: TimedTarget, jobs: readonly Timed[]): Promise<readonly Entry[]> {
  const judges = target.capabilities?.moments === true;
  const asks = ({ entry, retryWithin }: Timed): boolean =>
    retryWithin !== undefined || (entry.dueAt !== undefined && !judges);
  if (!jobs.some(asks)) return jobs.map(({ entry }) => entry);
  const now = await timeOf(target, systemClock);
  return jobs.map((job) => (asks(job) ? entryAt(job, now, judges) : job.entry));
}

/** `now`: by the clock that judges it. */
export function entryAt({ entry, retryWithin }: Timed, now: Milliseconds, judges: boolean): Entry {
  const { dueAt, ...rest } = entry;
  const payload = retryWithin === undefined ? entry.payload : withRetryUntil(entry.payload, now + retryWithin * 1000);
  if (dueAt === undefined || judges) return { ...entry, payload };
  return { ...rest, payload, delay: Math.max(0, (dueAt - now) / 1000) };
}

/** A job that goes to another connection than that of the job before it. */
export interface Onward extends Timed {
  readonly connection: string;
  readonly queue: string;
}

/**
 * For how long a key is kept. If a worker dies between its push and its outcome, another one comes to the job as soon as the
 * lease ends. A longer time would help only if all workers are away, and each key takes up memory.
 */
const KEPT: Seconds = 3600;

/**
 * Returns the entry that was sent. @throws E_UNKNOWN_CONNECTION, and what its driver throws
 *
 * @param key sends it once under this key, if the target can; absent: sends it in any case
 */
export async function sendOnward(application: Application, onward: Onward, key?: string): Promise<Entry> {
  const target = application.driver(onward.connection);
  const lane = laneOf(onward.entry.payload);
  const laned =
    lane === undefined ? onward : { ...onward, entry: { ...onward.entry, ties: { ...onward.entry.ties, lane } } };
  const [entry] = await entriesFor(target, [laned]);
  const page = { queue: onward.queue, entries: [entry!] };
  const isThere = key !== undefined && (await pushedOnce(target, page, key, application));
  if (!isThere) await target.push(onward.queue, [entry!]);
  return entry!;
}

/** False if nothing was pushed, now or before. */
async function pushedOnce(target: Connection, page: PageToPush, key: string, { clock }: Application): Promise<boolean> {
  // A failover keeps keys only in its first connection, and that may be away.
  if (target.keys === undefined || target.failover !== undefined) return false;
  const now = await timeOf(target, clock);
  return (await target.keys.pushOnce(page, { key, until: now + KEPT * 1000 })) !== 'late';
}

export interface FollowUpPlace {
  readonly connection: string;
  readonly queue: string;
}

interface Push extends FollowUpPlace {
  /** Empty: a raw payload, which may have none. */
  readonly id: string;
  readonly name: string;
  readonly entry: Entry;
}

/** The events of a push, for its hooks. */
export function pushEvent({ id, name, connection, queue, entry }: Push): QueueingEvent {
  const { payload, dueAt, delay = 0 } = entry;
  const when = dueAt === undefined ? delay : new Date(dueAt);
  return { connectionName: connection, queue, id: id || undefined, name, payload, delay: when };
}

/**
 * The event of a job that follows another. Undefined for a carrier, which only sends a job on: that job is reported where it
 * arrives.
 */
export function followUpEvent({ connection, queue }: FollowUpPlace, entry: Entry): QueueingEvent | undefined {
  const { id = '', name = UNREADABLE_NAME } = glimpseOf(Buffer.from(entry.payload));
  return name.startsWith(BUILT_IN) ? undefined : pushEvent({ id, name, connection, queue, entry });
}
