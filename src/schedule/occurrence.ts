/** Sends the job of one occurrence exactly once, even if other processes try as well, and stores the state of its schedule. */
import type { Milliseconds, Seconds } from '../base/clock';
import type { Connection, Once, PageToPush, Pushed } from '../connections/contract';
import { entriesFor, pushEvent } from '../connections/entries';
import { CapabilityError } from '../connections/errors';
import { recordsOf, type RecordStore } from '../connections/record-store';
import type { EncodedJob } from '../dispatch/job-encoder';
import { definitionOfJob } from '../job/instance';
import { tellPushed } from '../dispatch/send';
import type { Application, OperationsConnection } from '../connections/application';
import { uuidAt, uuidv7 } from '../payload/uuid';
import { fieldsIn } from '../payload/values';
import type { Schedule } from './schedule';

const CLAIM = 'claim';
/** Longer than any push may take. */
const HELD: Seconds = 30;

/** Where the jobs of a schedule go, and where its state is kept. */
export interface Destination {
  readonly target: Connection;
  readonly operations: OperationsConnection;
  /** An occurrence is skipped while the previous one's job exists: each holds a key from its moment on. */
  readonly skipsOverlaps: boolean;
  /**
   * An occurrence may be sent before its moment, because the store holds it back until then, and it holds no key meanwhile.
   */
  readonly goesAhead: boolean;
}

/** @throws CapabilityError, E_NO_RECORDS, E_UNKNOWN_CONNECTION, and what is wrong with its job */
export function destinationOf(schedule: Schedule, application: Application): Destination {
  const { connection, overlap, missed, make } = schedule.parts;
  const job = make();
  const target = application.driver(application.encoder.route(job, { connection }).connection);
  const { name, driver, capabilities, keys } = target;
  if (!capabilities.reserve) throw new CapabilityError(name, driver, 'reserve');
  if (overlap === 'skip' && keys === undefined) throw new CapabilityError(name, driver, 'keys');
  const skipsOverlaps = overlap === 'skip' || (overlap === undefined && keys !== undefined && missed.policy !== 'all');
  const isUnique = (definitionOfJob(job, application.registry).options.unique ?? false) !== false;
  const goesAhead = !skipsOverlaps && !isUnique && capabilities.moments === true;
  return { target, operations: application.neededOperationsOf(target), skipsOverlaps, goesAhead };
}

/** The clock that judges its occurrences. */
export function clockOf(
  { target, operations }: Pick<Destination, 'target' | 'operations'>,
  application: Application,
): Promise<Milliseconds> {
  return target.now?.() ?? operations.now?.() ?? Promise.resolve(application.clock.now());
}

interface Sent {
  readonly result: Pushed | 'before' | 'late' | 'skipped' | 'held';
  readonly queue: string;
}

/**
 * `held`: another process is about to send it, but may fail to. @param last where the last one went @throws what is wrong with
 * the job, and what its store throws
 */
export async function sendOccurrence(
  schedule: Schedule,
  at: Milliseconds,
  now: Milliseconds,
  destination: Destination,
  application: Application,
  last: Pick<ScheduleState, 'sentAt' | 'sentTo'> = {},
): Promise<Sent> {
  const { name, parts, overlapKey } = schedule;
  const { target, skipsOverlaps } = destination;
  const { connection, queue: chosen } = parts;
  const encoded = application.encoder.encode(parts.make(), {
    connection,
    queue: chosen,
    // A store that cannot hold it back by the judging clock gets it at its moment.
    delay: target.capabilities.moments === true ? new Date(at) : 0,
    occurrence: { schedule: name, at, id: uuidAt(name, at), key: skipsOverlaps ? overlapKey : undefined },
  });
  try {
    const sent = await push(encoded, schedule, at, now, destination, last);
    if (typeof sent.result === 'object' || sent.result === 'queued') encoded.observed?.end();
    // Another process has sent it, or nobody may.
    else encoded.observed?.drop();
    return sent;
  } catch (error) {
    encoded.observed?.end(error);
    throw error;
  }
}

async function push(
  encoded: EncodedJob,
  schedule: Schedule,
  at: Milliseconds,
  now: Milliseconds,
  destination: Destination,
  last: Pick<ScheduleState, 'sentAt' | 'sentTo'>,
): Promise<Sent> {
  const { name, parts } = schedule;
  const { target, skipsOverlaps } = destination;
  const { queue } = encoded;
  const [entry] = await entriesFor(target, [encoded]);
  const page = { queue, entries: [entry!] };
  const once = { key: `schedule ${name} ${at}`, until: at + parts.missed.within * 1000 };
  if (skipsOverlaps) await removeLeftover(schedule, queue, target, last);
  await encoded.hooks?.emit('queueing', pushEvent(encoded));
  const result =
    target.keys === undefined
      ? await pushClaimed(destination, page, once, now)
      : await target.keys.pushOnce(page, once);
  if (typeof result === 'string') return { result, queue };
  await tellPushed(encoded, result[0]);
  return { result: result[0]!, queue };
}

/**
 * Removes the job of the last occurrence if it waits, perhaps for its next attempt, on another queue than the schedule sends to now:
 * perhaps nobody works that queue any more. On the same queue it keeps its place, and the new one is skipped: it would go to the
 * tail, and while a queue is longer than the time between two occurrences none would ever run.
 */
async function removeLeftover(
  { name }: Schedule,
  queue: string,
  target: Connection,
  { sentAt, sentTo }: Pick<ScheduleState, 'sentAt' | 'sentTo'>,
): Promise<void> {
  if (sentAt === undefined || sentTo === undefined || sentTo === queue) return;
  const id = uuidAt(name, sentAt);
  const found = await target.queues.find?.(id, sentTo);
  if (typeof found !== 'object' || found.state === 'reserved') return;
  await target.control?.cancel(id, sentTo, `its schedule sends to '${queue}' now`);
}

/**
 * For a store that cannot push under a key: a lock on the connection of the records is held during the push, and a mark stays
 * afterwards. A process that dies in between leaves the job to be pushed again, under the same id.
 */
async function pushClaimed(
  { target, operations }: Destination,
  { queue, entries }: PageToPush,
  { key, until }: Once,
  now: Milliseconds,
): Promise<readonly Pushed[] | 'before' | 'late' | 'held'> {
  if (now >= until) return 'late';
  const { records, locks } = operations;
  const token = uuidv7();
  if (!((await locks?.acquire(key, token, HELD)) ?? true)) return 'held';
  try {
    if ((await records.get(CLAIM, key)) !== undefined) return 'before';
    const pushed = await target.push(queue, entries);
    // The mark outlives the moment until which anybody would push.
    await records.put([{ kind: CLAIM, id: key, value: '' }], (until - now) / 1000 + HELD);
    return pushed ?? ['queued'];
  } finally {
    // The protected work is done, or is tried again when the lock expires.
    await locks?.release(key, token).catch(() => undefined);
  }
}

export interface ScheduleState {
  /** What it sends and when, as declared by whoever keeps it. */
  readonly spec: string;
  /** The moment from which on the spec holds: earlier times are none of its occurrences. */
  readonly since: Milliseconds;
  /** When this was written. */
  readonly seenAt: Milliseconds;
  /** Absent: it is not paused. */
  readonly pausedAt?: Milliseconds | undefined;
  /** The last occurrence that was sent or skipped. Absent: there was none. */
  readonly lastAt?: Milliseconds | undefined;
  /** The last occurrence that was sent, and the queue it went to. Absent: there was none. */
  readonly sentAt?: Milliseconds | undefined;
  readonly sentTo?: string | undefined;
  /** The id of the job because of which the last occurrence was skipped. Absent: it was sent. */
  readonly heldBy?: string | undefined;
  /** Occurrences that were skipped because the job of the previous one still existed. */
  readonly skipped?: number | undefined;
}

export interface KeptState extends ScheduleState {
  readonly name: string;
  /** The stored text. */
  readonly text: string;
}

/** The fields of a state that are stored. */
const TEXTS = ['spec', 'sentTo', 'heldBy'] satisfies (keyof ScheduleState)[];
const NUMBERS = ['since', 'seenAt', 'pausedAt', 'lastAt', 'sentAt', 'skipped'] satisfies (keyof ScheduleState)[];

const KIND = 'schedule';

const DAY: Seconds = 24 * 3600;
/** A schedule that nobody declares any more is forgotten after this time. */
const KEPT: Seconds = 7 * DAY;
/** It stays paused even if no worker runs. */
const KEPT_PAUSED: Seconds = 365 * DAY;
/** Most tries to write a record that others write at the same time. */
export const MOST_TRIES = 20;
/** How often a state is written again: otherwise it would expire if nothing changes. */
export const RENEWED_EVERY: Milliseconds = DAY * 1000;

/** The stored state of each schedule: one record, which only the process that read its latest version may overwrite. */
export async function statesIn(records: RecordStore): Promise<ReadonlyMap<string, KeptState>> {
  const states = new Map<string, KeptState>();
  for await (const { id, value } of recordsOf(records, KIND)) states.set(id, read(id, value));
  return states;
}

/** Whoever has read it can write it no more. */
export async function forgetState(records: RecordStore, name: string): Promise<void> {
  await records.put([{ kind: KIND, id: name, value: '' }], 0);
}

export async function stateIn(records: RecordStore, name: string): Promise<KeptState | undefined> {
  const text = await records.get(KIND, name);
  return text === undefined ? undefined : read(name, text);
}

/**
 * Undefined if somebody else has written since it was read; then nothing was written. @param back how far back the schedule
 * looks: a process that comes after so long must still find the state
 */
export async function write(
  records: RecordStore,
  name: string,
  state: ScheduleState,
  before: KeptState | undefined,
  back: Seconds,
): Promise<KeptState | undefined> {
  const text = JSON.stringify(state, [...TEXTS, ...NUMBERS]);
  const keep = state.pausedAt === undefined ? Math.max(KEPT, back + 2 * DAY) : KEPT_PAUSED;
  const isWritten = await records.replace({ kind: KIND, id: name, value: text }, before?.text, keep);
  return isWritten ? { ...state, name, text } : undefined;
}

/** A record that is not a state, whoever wrote it, reads as one that may be overwritten and was never seen. */
function read(name: string, text: string): KeptState {
  const fields = fieldsIn(text) ?? {};
  const known = (type: string, names: readonly string[]) =>
    names.filter((field) => typeof fields[field] === type).map((field) => [field, fields[field]]);
  const found = Object.fromEntries([...known('string', TEXTS), ...known('number', NUMBERS)]);
  return { spec: '', since: 0, seenAt: 0, ...found, name, text };
}
