/**
 * The contract of a store: what every driver must do, and what the conformance suite checks. A connection never sees a job
 * class. It moves payload bytes between the states `ready`, `delayed`, `reserved` and `failed`, by its store's clock, and
 * hands out reservations that only their holder can settle.
 */
import type { Milliseconds, Seconds } from '../base/clock';
import type { FailedStore } from './failed-store';
import type { LockStore } from './lock-store';
import type { BatchStore, NewBatch } from './batch-store';
import type { RecordStore } from './record-store';
import type { FailedLink } from '../job/job-context';
import type { Counters } from '../payload/counters';
import type { Ties } from '../payload/ties';

export interface Connection {
  /** Its name in the configuration. */
  readonly name: string;
  readonly driver: string;
  /** The absolute path or address of the store, for display: never with a password. */
  readonly address: string;
  readonly capabilities: Capabilities;
  /**
   * The store has not answered a call within its deadline, and the driver keeps asking. A worker that waits for such a call
   * is not stuck. Absent: the driver does not say.
   */
  readonly isAway?: boolean | undefined;
  /** How many calls may be under way at once. Absent: one of each kind. */
  readonly atOnce?: AtOnce | undefined;

  /**
   * Resolves when the store has confirmed all entries. All entries of one call go in, in order, or a later call says which
   * did. Returns what happened to each, in order; undefined: all were queued. An entry whose key is held, even by an earlier
   * entry, stays out. A debounced entry also replaces an earlier entry. Entries of a batch all belong to the same batch, and
   * fit in one call.
   *
   * @param begins a batch that begins in this step; there may be no entries
   * @throws E_BATCH_ENDED their batch takes no more jobs; nothing was written
   */
  push(queue: string, entries: readonly Entry[], begins?: NewBatch): Promise<readonly Pushed[] | void>;
  /**
   * Settles, then reserves what is wanted, in one round trip if the store can. If its queues are spread over servers, a silent
   * one holds up the others for half of the deadline at most.
   *
   * @throws QueueUnavailableError the store is away, and has to be asked again; then no settlement may be taken as written,
   *   and nothing was reserved. Any other error counts as a refusal of what was sent: then each settlement is sent by itself,
   *   so that one that is refused for good does not hold up the others
   */
  exchange(settlements: readonly Settlement[], wanted?: Wanted): Promise<Settled>;
  /** Renews each lease to `lease` seconds from now. One result for each, in order. Absent: a job stays with its holder. */
  renew?(reservations: readonly Reservation[], lease: Seconds): Promise<readonly RenewResult[]>;
  /** Closes everything that the connection holds open, within a deadline. May be called at any time, any number of times. */
  close(): Promise<void>;

  /**
   * The time by the store's clock, which judges all moments. May be computed from an answer of the last minute. Absent: it
   * has no clock, or does not tell, and ours is used.
   */
  readonly now?: (() => Promise<Milliseconds>) | undefined;
  /**
   * Pushes within a transaction that the user has begun in the same store: the jobs exist once it is committed. Undefined if
   * the driver does not know this kind of transaction. Absent: the store cannot do so.
   */
  within?(transaction: unknown): Pick<Connection, 'push'> | undefined;

  readonly queues: Queues;
  /** Its own failed jobs, each written in the step that removes the reservation. */
  readonly failed?: FailedStore | undefined;
  /** Absent: failed jobs need a failed store, here or on another connection. */
  readonly buried?: Buried | undefined;
  readonly locks?: LockStore | undefined;
  /** Absent: it takes no entries with unique or debounce keys, which are refused before they are sent. */
  readonly keys?: KeyStore | undefined;
  /** Absent: it takes no entries of batches. */
  readonly batches?: BatchStore | undefined;
  /** Absent: it takes no entries with lanes, which are refused before they are sent. */
  readonly lanes?: LaneStore | undefined;
  /** Absent: jobs cannot be cancelled, queues not paused, and workers not told to restart. */
  readonly control?: Control | undefined;
  /** Needs `keys` and `queues.find`. Absent: schedules, results and histories of its jobs are kept on another connection. */
  readonly records?: RecordStore | undefined;

  /**
   * How another thread reaches the same store, to keep leases while the event loop stands still. `null`: not at all, because
   * the store is in this very thread. Absent: the driver does not say.
   */
  readonly threadAccess?: ThreadAccess | null | undefined;
  /** The tables of the store, if somebody has to create them. */
  readonly migrations?: Migrations | undefined;
  /** It keeps nothing itself but stands for another connection, and lists over all connections omit it. */
  readonly failover?: Failover | undefined;
  /** What `onqueue check` prints about this store. */
  diagnose(): Promise<readonly Diagnosis[]>;
}

export interface AtOnce {
  /**
   * Calls of one worker: the store works on one while the jobs of another run. More may still come, and wait for each other.
   */
  readonly calls?: number | undefined;
  /** Pushes to a queue that are still written in the order of their calls. */
  readonly pushes?: number | undefined;
}

export interface Failover {
  /** The connection whose store it uses. */
  readonly first: Connection;
  /** The name of the connection that takes its jobs while those before it take none. Undefined: the first one takes them. */
  readonly standIn: string | undefined;
}

/** The queues of a store, and the jobs that wait or run in them. */
export interface Queues {
  /** Those that were ever pushed to and not forgotten. */
  names(): Promise<readonly string[]>;
  counts(queue: string): Promise<Counts>;
  /** Removes ready, delayed and reserved jobs; returns how many. Failed jobs stay. */
  clear?(queue: string): Promise<number>;
  /**
   * The first `limit` jobs of a state, in the order in which they come up. Changes nothing. A page may have fewer (100 jobs
   * or 1 MiB, but always one while there are any); jobs that come and go between two pages may be missed or shown twice.
   *
   * @param after the `place` of a job of the previous page
   */
  peek?(queue: string, state: WaitingState, limit: number, after?: string): Promise<readonly PeekedJob[]>;
  /**
   * Where the job with this id waits or runs, in this queue or in any. `unseen`: it was not found within the limited search of a
   * store. Undefined: it does not exist.
   */
  find?(id: string, queue?: string): Promise<PlacedJob | 'unseen' | undefined>;
  /** Forgets a queue, its name and its pause; false if it has jobs, also failed ones, or is not known. Absent: it keeps no names. */
  forget?(queue: string): Promise<boolean>;
}

/**
 * What a driver promises of the members that it has. Whatever else it can do is a member of its own, or is not there. Asking
 * for something that it lacks is a `CapabilityError`.
 */
export interface Capabilities {
  /** Jobs can be delayed. */
  readonly delay: boolean;
  /** Takes `dueAt`, and judges it by its store's clock. Absent: no; it gets delays computed with `now()`. */
  readonly moments?: boolean | undefined;
  /** Jobs can be reserved by a worker. `sync` and `null` cannot. */
  readonly reserve: boolean;
  /** Counts are exact. Otherwise they are estimates, which may lag behind by minutes. */
  readonly exactCounts: boolean;
  /** Jobs come out in the order in which they were pushed. */
  readonly order: boolean;
  /** Released and due jobs go to the tail of their queue; jobs of a silent holder to the head. */
  readonly requeue: boolean;
  /**
   * Takes the `next` of a settlement in the step that writes it: for any of its queues, or only for the job's own `queue`,
   * because its queues are spread over servers. Absent: no; the jobs that follow are pushed before the outcome is written.
   */
  readonly follows?: boolean | 'queue' | undefined;
}

/** One payload on its way into a queue. */
export interface Entry {
  /** The whole JSON text; well-formed Unicode. */
  readonly payload: string;
  /** Seconds until it becomes ready, by the store's clock. Absent or ≤ 0: ready at once. */
  readonly delay?: Seconds | undefined;
  /** The moment when it becomes ready, by the store's clock, in place of `delay`. Only if the driver has `moments`. */
  readonly dueAt?: Milliseconds | undefined;
  /** Refuse it with `DuplicatePayloadError` if a delayed job has the very same text: set by `laterRaw`, which cannot alter texts. */
  readonly distinct?: boolean | undefined;
  /**
   * Its ties as long as it exists; its text has them as well. A unique key only if the driver has `keys`, and never for a
   * follow-up; a batch only if the driver has `batches`, a lane only if it has `lanes`.
   */
  readonly ties?: Ties | undefined;
}

/**
 * What happened to an entry: it is in its queue; it is, and replaced the job with this id; or it is not, because the job
 * with this id holds its key.
 */
export type Pushed = 'queued' | { readonly replaced: string } | { readonly duplicate: string };

/** A job handed to one worker with a lease. */
export interface Reservation {
  readonly queue: string;
  /** The exact bytes of this reservation, including its counters. May not be UTF-8. */
  readonly payload: Buffer;
  /** The counters, including this attempt; known without parsing the payload. */
  readonly counters: Counters;
  /**
   * It was cancelled while it waited or ran: its holder settles it as `cancelled`, without running it. True, or the reason
   * that was given.
   */
  readonly cancelled?: boolean | string | undefined;
  /** What the driver needs to find this reservation again. Nobody else reads it. */
  readonly token: unknown;
}

/** What the failed store keeps of a job, besides its payload. */
export interface Failure {
  /** The payload's `id`, or one that we made if it has none. */
  readonly id: string;
  /** The job's name, for lists. */
  readonly name: string;
  /** The error with its stack, as text. */
  readonly exception: string;
}

/** A job that is written to its queue in the same step as an outcome: it exists exactly if the outcome is written. */
export interface FollowUp {
  readonly queue: string;
  readonly entry: Entry;
}

/** The end of one reservation, to be written to the store. */
export type Settlement =
  | {
      readonly outcome: 'completed';
      readonly reservation: Reservation;
      /** Only what the capability `follows` allows. Nothing of it is written if the answer is `lost`. */
      readonly next?: readonly FollowUp[] | undefined;
    }
  /** Removed like a completed job, together with the mark of its cancellation. */
  | { readonly outcome: 'cancelled'; readonly reservation: Reservation }
  | {
      readonly outcome: 'released';
      readonly reservation: Reservation;
      /** Seconds until it is ready again; 0: at once, at the tail unless `front` is true. */
      readonly delay: Seconds;
      /**
       * The moment when it is ready again, by the store's clock. Stores with `moments` use it; for others `delay` is the
       * time left by the clock of the last reply.
       */
      readonly dueAt?: Milliseconds | undefined;
      /**
       * It was not started: it goes back to its place, before all waiting jobs, and those of one call in their order. Only
       * with a `delay` of 0. A store without `requeue` puts it as near to its place as it can.
       */
      readonly front?: boolean | undefined;
      /** Nobody here knows the job: it gives up its unique key. See `KeyStore`. */
      readonly frees?: boolean | undefined;
      /** The counters it goes back with, made by `afterFreeRelease`, `afterFailedAttempt`, … in `payload/counters.ts`. */
      readonly counters: Counters;
    }
  | {
      readonly outcome: 'failed';
      readonly reservation: Reservation;
      readonly counters: Counters;
      readonly failure: Failure;
      /** The cause passed to the `catch` of its batch. */
      readonly cause?: FailedLink | undefined;
      /** As for a completed job. */
      readonly next?: readonly FollowUp[] | undefined;
    };

/**
 * `lost`: somebody else holds the job now, or it is gone; nothing was written. `unanswered`: one of several servers has not
 * answered yet, and the settlement has to be sent again. If the server carries out the first call after all, the second one
 * is told what came of it.
 */
export type SettleResult = 'settled' | 'lost' | 'unanswered';

/** `cancelled`: still ours, with a renewed lease, but it should end. `lost`: no longer ours. */
export type RenewResult = 'renewed' | 'cancelled' | 'lost';

/** What a call asks for, once its settlements are written. */
export interface Wanted {
  /** In the order in which they are emptied. */
  readonly queues: readonly string[];
  /**
   * The most reservations; fewer may come although more are ready (a call moves 1 MiB or 100 jobs at most). 0 with `within`:
   * only say when there may be something.
   */
  readonly limit: number;
  /** Seconds until a silent holder loses the job. */
  readonly lease: Seconds;
  /**
   * Seconds for which the store may wait until there is something. It may answer sooner, also with nothing. Absent: it answers
   * at once. Only in a call without settlements, whose results would be late.
   */
  readonly within?: Seconds | undefined;
  /** Ends the wait soon. The answer may still bring jobs. */
  readonly signal?: AbortSignal | undefined;
  /** For a store that can only look now and then: seconds between two looks. Others ignore it. */
  readonly lookEvery?: Seconds | undefined;
}

/** A payload that is not a JSON object: the store moved it to `failed` while it looked for work. */
export interface SetAside {
  readonly queue: string;
  readonly id: string;
  readonly reason: string;
}

export interface ReserveReply {
  readonly reservations: readonly Reservation[];
  readonly setAside: readonly SetAside[];
  /**
   * Seconds until a delayed job or the end of a lease on one of the queues makes another look worthwhile; 0: more jobs are
   * ready now, and no limit of their queue keeps them; Infinity: nothing waits.
   */
  readonly nextIn: Seconds;
  /** The time by the store's clock when it answered. Absent if it has none, or does not tell. */
  readonly now?: Milliseconds | undefined;
  /** The paused ones of the queues: nothing is handed out from them, and `nextIn` ignores them. */
  readonly paused?: readonly string[] | undefined;
  /** Changes whenever workers are told to restart. Absent: they never were. The value has no other meaning. */
  readonly restart?: string | undefined;
  /** The store has lost data that it confirmed to this very client: it was flushed, or restarted without its data. */
  readonly forgotten?: boolean | undefined;
}

/** The answer to one call. */
export interface Settled {
  /** One for each settlement, in order. */
  readonly results: readonly SettleResult[];
  /** Nothing in particular if nothing was wanted. */
  readonly reply: ReserveReply;
}

/**
 * Failed jobs that a store sets aside and cannot list, as beanstalkd buries them. If no connection keeps failed jobs,
 * `settle` puts them there.
 */
export interface Buried {
  count(queue: string): Promise<number>;
  /** Sends all current ones back to their queues, each with all its tries; returns how many. */
  kick(): Promise<number>;
  /** Removes all, or those of a queue; returns how many. */
  flush(queue?: string): Promise<number>;
}

/** One line of `onqueue check`. */
export interface Diagnosis {
  readonly level: 'ok' | 'warning' | 'error';
  readonly subject: string;
  readonly message: string;
  /** The store may lose jobs because of this: a worker says so as well when it starts. */
  readonly endangersJobs?: true | undefined;
}

/**
 * What another thread needs to open the same store. It is cloned on its way there, as are the tokens of reservations, so it
 * may contain no functions and no instances.
 *
 * The module is part of the build and exports `open(data, deadline): StoreThread`, which connects with its first call, and
 * whose calls give up after `deadline` seconds at most.
 */
export interface ThreadAccess {
  /** The absolute path of the module, a CommonJS file. */
  readonly module: string;
  readonly data: unknown;
}

/** What the thread does with the store. */
export type StoreThread = Required<Pick<Connection, 'exchange' | 'renew' | 'close'>>;

/** How many jobs of a queue wait or run. */
export interface Counts {
  readonly ready: number;
  readonly delayed: number;
  readonly reserved: number;
}

export type WaitingState = keyof Counts;

export const WAITING_STATES = ['ready', 'delayed', 'reserved'] as const satisfies readonly WaitingState[];

/** A job that is shown. */
export interface PeekedJob {
  readonly payload: Buffer;
  /** Milliseconds since 1970: when a delayed job becomes ready, or a reserved job's lease ends. */
  readonly at?: number | undefined;
  /** The place after which `peek` continues. Nobody else reads it. */
  readonly place?: string | undefined;
}

/** A job found by its id. */
export interface PlacedJob extends Pick<PeekedJob, 'payload' | 'at'> {
  readonly queue: string;
  readonly state: WaitingState;
}

/** Jobs of one queue that are pushed in one step. There may be none. */
export interface PageToPush {
  readonly queue: string;
  readonly entries: readonly Entry[];
  /** The batch that begins in this step. */
  readonly begins?: NewBatch | undefined;
}

/**
 * What became of a page that is pushed once. `before`: its key was used before. `late`: its moment has passed, or it was
 * only looked for and not found. `skipped`: its batch was cancelled while it was open; its jobs count as skipped, and the key is
 * used. Nothing was pushed in these cases.
 */
export type PushedOnce = readonly Pushed[] | 'before' | 'late' | 'skipped';

/** Makes a push happen once. */
export interface Once {
  /** Up to 255 characters. If a store `follows` only within a queue, each queue has its own keys. */
  readonly key: string;
  /** The key is kept until this moment; after it, nothing is pushed. 0: it is only looked for. */
  readonly until: Milliseconds;
}

/**
 * Keys in a store, for which jobs are pushed once, or wait, or run only once at a time.
 *
 * A unique key (in the `ties` of an entry) has one holder at a time, which is in the store. The push takes the key, and the
 * very step that ends the job in any way frees it, or, with `until: 'start'`, the step that reserves the job. In that case a
 * release that costs no try (its `releases` has grown) and the end of a lease take it again, if it is free. A release with
 * `frees` frees it; if it is held until the end, without `for`, the next reserve takes it again, if it is free. Only its holder
 * frees a key, and after `for` another job may take it.
 *
 * For each debounce key one job waits at a time. The push of another removes it in the same step, if it waits in that queue,
 * is not due yet and was never reserved. The new job becomes ready after its own delay, but no later than `longest` after the
 * first of the jobs that replaced each other. A job that no longer waits there is in nobody's way, whatever happened to it.
 */
export interface KeyStore {
  /**
   * Pushes jobs, which fit in one call, unless this key was used before. The key counts as used even if all of them were
   * refused because of their unique keys, or if there are none. Its moment is judged by the store's clock.
   *
   * @throws E_BATCH_ENDED their batch has finished or is unknown; nothing was written
   */
  pushOnce(page: PageToPush, once: Once): Promise<PushedOnce>;
  /**
   * Checks that unique keys, batches and lanes agree with the jobs, and repairs them, as if missing jobs had been removed by
   * `clear`: a batch without jobs ends. Workers may run meanwhile. Absent: nothing here can get out of step by hand.
   */
  recount?(options: RecountOptions): Promise<readonly Finding[]>;
}

/**
 * The lanes of queues. Of the jobs of a lane (in the `ties` of an entry), so many may be in at a time: ready or reserved in their queue. The others are
 * held: they count as ready, behind all others, and come to the tail of the ready jobs, in order, in the step that makes
 * room: the end of a job of the lane, its removal, or its release with a delay. A job that becomes due is a new one; but one of
 * an ordered lane that was handed out before stays in while it is delayed. How many may be in is said by the last job that came.
 */
export interface LaneStore {
  /** @param after where the page before says that the next begins */
  list(queue: string, after?: string): Promise<LanePage>;
  /** Undefined if it has no jobs and was not changed. */
  find(queue: string, lane: string): Promise<LaneState | undefined>;
  /** Lets in what there is room for now. */
  change(queue: string, lane: string, change: LaneChange): Promise<void>;
}

/** `limit`: how many may be in; undefined: as many as the jobs say. `paused`: no more come in, and those that are in go on. */
export type LaneChange = { readonly limit: number | undefined } | { readonly paused: boolean };

export interface LaneState {
  readonly lane: string;
  /** How many of its jobs are ready or running. */
  readonly inside: number;
  readonly held: number;
  /** How many may be in. */
  readonly running: number;
  readonly paused: boolean;
}

/** About 100 lanes that have jobs or were changed; lanes that come and go between two pages may be missed or shown twice. */
export interface LanePage {
  readonly lanes: readonly LaneState[];
  /** Where the next page begins. Absent: there are no more. */
  readonly next?: string | undefined;
}

/** Something in a store that disagrees with its jobs: somebody has removed jobs, or their keys, by hand. */
export type Finding =
  /** The job that holds this unique key is gone: no other could ever get in. Repair: the key is freed. */
  | { readonly kind: 'stuck'; readonly key: string; readonly holder: string }
  /** This job should hold this unique key, but nobody does: others could get in. Repair: it holds the key. */
  | { readonly kind: 'unheld'; readonly key: string; readonly holder: string }
  /** The batch counts `pending` jobs, but `found` exist. Repair: it counts these, and the missing ones as skipped. */
  | { readonly kind: 'miscounted'; readonly batch: string; readonly pending: number; readonly found: number }
  /** The lane counts `inside` jobs as ready or reserved, but `found` are. Repair: it counts these, and lets others in. */
  | {
      readonly kind: 'crowded';
      readonly queue: string;
      readonly lane: string;
      readonly inside: number;
      readonly found: number;
    };

export interface RecountOptions {
  /** False: only look. */
  readonly repair: boolean;
}

/**
 * `removed`: it waited, and is gone. `signalled`: it is running, and is told to stop. `marked`: it was not found within the
 * limited search of a store; it ends as cancelled when a worker meets it. `unknown`: it is not there: done, failed, removed
 * before, or never dispatched.
 */
export type CancelResult = 'removed' | 'signalled' | 'marked' | 'unknown';

/**
 * `rescheduled`: it waits until the given moment. `ready`: it is ready, now or since before. `running`: a worker has it.
 * `unknown`: it is not there, has failed, or was not found within the limited search of a store.
 */
export type RescheduleResult = 'rescheduled' | 'ready' | 'running' | 'unknown';

/** A queue from which nothing is taken. */
export interface Pause {
  readonly queue: string;
  /** When the pause ends by itself, by the store's clock, in milliseconds since 1970. Absent: only when it is resumed. */
  readonly until?: Milliseconds | undefined;
}

/** @param until Infinity: when it is resumed */
export function pauseOf(queue: string, until: Milliseconds): Pause {
  return until === Infinity ? { queue } : { queue, until: Math.round(until) };
}

/** A queue of which only so many jobs run at a time, over all workers. */
export interface RunningLimit {
  readonly queue: string;
  readonly running: number;
}

/** Orders that reach every worker through the store: cancel a job, pause a queue, restart. */
export interface Control {
  /**
   * Cancels the job with this `id`. Never searches a long list in the store.
   *
   * @param queue the queue that it must be in; absent: all queues that the store knows are searched
   * @param reason stored with the mark of a job that is not removed at once: at most 255 characters, no control characters
   * @param left hears of the job that is removed, whose history then names it; a driver may leave that out
   */
  cancel(
    id: string,
    queue?: string,
    reason?: string,
    left?: (queue: string, payload: Buffer) => void,
  ): Promise<CancelResult>;
  /**
   * Whether each of these jobs was cancelled, in order: true, or the reason that was given. Some may have ended meanwhile.
   * Must be cheap: workers ask twice a second about running jobs. Absent: they learn it when they renew, without a reason.
   */
  cancelled?(reservations: readonly Reservation[]): Promise<readonly (boolean | string)[]>;
  /**
   * Lets a delayed job become ready at another moment, in one step: after `delay`, or at `dueAt` if the driver has `moments`. If
   * that has passed, it goes to the tail of the ready jobs. Jobs in other states stay as they are. `debounced`: it waits under
   * a debounce key, and was never handed out, so only its key moves it; it stays too. Absent: delayed jobs cannot be moved.
   */
  reschedule?(id: string, to: Pick<Entry, 'delay' | 'dueAt'>, queue?: string): Promise<RescheduleResult | 'debounced'>;
  /**
   * Once this resolves, nothing of the queue is handed out. False if it was paused already; then the end of that pause has
   * changed.
   *
   * @param seconds after which the pause ends by itself, by the store's clock; absent: it lasts until it is resumed
   */
  pause(queue: string, seconds?: Seconds): Promise<boolean>;
  /** False if it was not paused. Wakes those who wait for work. */
  resume(queue: string): Promise<boolean>;
  /** The paused queues, sorted by name. */
  paused(): Promise<readonly Pause[]>;
  /**
   * From now on, no job of the queue is handed out while `running` or more of its jobs are reserved, by whomever. It is kept until it
   * is changed, also if the queue is forgotten. Lowering it takes no job from its holder. `running` is at least 1; absent: any number.
   */
  limit?(queue: string, running?: number): Promise<void>;
  /** The queues with a limit, sorted by name. It is there if `limit` is. */
  limits?(): Promise<readonly RunningLimit[]>;
  /** Tells all workers of this store to finish their jobs and end, so that their processes restart. */
  restart(): Promise<void>;
}

/** The tables of a store, for `onqueue migrate`. */
export interface Migrations {
  /** The version of the tables that this Onqueue works with. */
  readonly version: number;
  /**
   * Creates the tables or brings them up to date; does nothing if they are. May run twice, even at the same time.
   *
   * @returns the versions, and what was repaired in tables whose version was right, as a clause
   */
  run(): Promise<{ readonly from: number; readonly to: number; readonly mended?: string | undefined }>;
  /**
   * For a starting worker. Says nothing if the store is away or has no tables yet: that may change.
   *
   * @throws what waiting does not fix: a later version made the tables, or they are somebody else's
   */
  check?(): Promise<void>;
  /** The statements, for those who run them themselves. */
  sql(): string;
}

/** What the `sync` driver can do besides a connection's duties: return the value of `handle`. */
export interface SyncRunner {
  /** Runs the payload at once, in one attempt. Resolves with `handle`'s value, or rejects with the job's error. */
  run(queue: string, payload: string): Promise<unknown>;
}

export function isSyncRunner(connection: Connection): connection is Connection & SyncRunner {
  return 'run' in connection && typeof connection.run === 'function';
}
