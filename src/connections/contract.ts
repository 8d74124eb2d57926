/**
 * What a back end must do: the contract that every driver keeps and the conformance suite checks.
 *
 * A connection never sees a job class. It moves payload bytes between the states `ready`, `delayed`, `reserved` and
 * `failed`, by the clock of its store, and hands out reservations that only their holder can settle.
 */
import type { Milliseconds, Seconds } from '../base/clock';
import type { FailedStore } from './failed-store';
import type { Finding, RecountOptions } from './finding';
import type { BatchStore, NewBatch } from './batch-store';
import type { LockStore } from './lock-store';
import type { RecordStore } from './record-store';
import type { Cause } from '../payload/chain';
import type { Counters } from '../payload/counters';
import type { Ties } from '../payload/ties';
import type { Control } from './control';
import type { Migrations } from './migrations';
import type { Counts, PeekedJob, PlacedJob, WaitingState } from './waiting-jobs';

/** One payload on its way into a queue. */
export interface Entry {
  /** The whole JSON text; well-formed Unicode. */
  readonly payload: string;
  /** Seconds until it becomes ready, by the store's clock. Absent or ≤ 0: ready at once. */
  readonly delay?: Seconds | undefined;
  /** The moment at which it becomes ready, by the store's clock, in place of `delay`. Only where the driver has `moments`. */
  readonly dueAt?: Milliseconds | undefined;
  /**
   * Refuse the entry with `DuplicatePayloadError` when its very text waits as delayed already: a sorted set would
   * silently merge the two. Set by `laterRaw`, whose texts are not ours to make unique.
   */
  readonly distinct?: boolean | undefined;
  /**
   * What it counts in for as long as it is there. The same stands in its text. A unique key only where the driver has `ties`, and
   * never of a follow-up; a batch only where it has `batches`.
   */
  readonly ties?: Ties | undefined;
}

/**
 * What became of an entry: it is in its queue, in the place of the job of this id too, or it is not, for the job of this id holds its
 * key.
 */
export type Pushed = 'queued' | { readonly replaced: string } | { readonly duplicate: string };

/** A job handed to one worker under a lease. */
export interface Reservation {
  readonly queue: string;
  /** The text of this reservation, to the byte, its counters included. May not be UTF-8. */
  readonly payload: Buffer;
  /** The counters, this attempt included; known without parsing the payload. */
  readonly counters: Counters;
  /** It was cancelled while it waited or ran: whoever holds it settles it as `cancelled`, without running it. True, or the reason that was given. */
  readonly cancelled?: boolean | string | undefined;
  /** What the driver needs to find this very reservation again. Nobody else reads it. */
  readonly token: unknown;
}

/** What the failed store keeps of a job beside its payload. */
export interface Failure {
  /** The payload's `id`; one of our own where it has none. */
  readonly id: string;
  /** The job's name, for lists. */
  readonly name: string;
  /** The error with its stack, as text. */
  readonly exception: string;
}

/** A job that goes into its queue in the very step that writes an outcome: it is there exactly when that is. */
export interface FollowUp {
  readonly queue: string;
  readonly entry: Entry;
}

/** The end of one reservation, to be written to the store. */
export type Settlement =
  | {
      readonly outcome: 'completed';
      readonly reservation: Reservation;
      /** Only what `follows` of the capabilities allows. Nothing of it goes in where the answer is `lost`. */
      readonly next?: readonly FollowUp[] | undefined;
    }
  /** Removed like a completed one, and what marked it as cancelled with it. */
  | { readonly outcome: 'cancelled'; readonly reservation: Reservation }
  | {
      readonly outcome: 'released';
      readonly reservation: Reservation;
      /** Seconds until it is ready again; 0: at once, at the tail unless `front` is true. */
      readonly delay: Seconds;
      /**
       * The moment at which it is, by the store's clock. Who has `moments` goes by it; for others `delay` is what was left
       * of it by the clock that the last reply brought.
       */
      readonly dueAt?: Milliseconds | undefined;
      /**
       * It has not been started: it goes back where it came from, before all that waits, and those of one call in their
       * order. With a `delay` of 0 alone. A store without `requeue` puts it as near to there as it can.
       */
      readonly front?: boolean | undefined;
      /** The counters it goes back with; `freeRelease`, `failedAttempt`, … in `payload/counters.ts` make them. */
      readonly counters: Counters;
    }
  | {
      readonly outcome: 'failed';
      readonly reservation: Reservation;
      readonly counters: Counters;
      readonly failure: Failure;
      /** What the `catch` of its batch is told. */
      readonly cause?: Cause | undefined;
      /** As of a completed one. */
      readonly next?: readonly FollowUp[] | undefined;
    };

/** `lost`: someone else holds the job now, or it is gone; nothing was written. */
export type SettleResult = 'settled' | 'lost';

/** `cancelled`: still ours, its lease starts anew, and it is to end. `lost`: it is no longer ours. */
export type RenewResult = 'renewed' | 'cancelled' | 'lost';

export interface ReserveRequest {
  /** In the order in which they are emptied. */
  readonly queues: readonly string[];
  /** At most so many reservations; may return fewer although more are ready (a call moves 1 MiB or 100 jobs at most). */
  readonly limit: number;
  /** Seconds until a silent holder loses the job. */
  readonly lease: Seconds;
}

/** A payload that is no JSON object: the store set it aside in `failed` while it looked for work. */
export interface SetAside {
  readonly queue: string;
  readonly id: string;
  readonly reason: string;
}

export interface ReserveReply {
  readonly reservations: readonly Reservation[];
  readonly setAside: readonly SetAside[];
  /**
   * Seconds until a delayed job or the end of a lease on one of the queues makes another look worth while; 0: jobs are
   * left that could be had now; Infinity: nothing waits.
   */
  readonly nextIn: Seconds;
  /** The time by the clock of the store, as it answered; absent: it has none that it tells. */
  readonly now?: Milliseconds | undefined;
  /** Those of the queues that are paused: nothing is handed out from them, and `nextIn` leaves them out. */
  readonly paused?: readonly string[] | undefined;
  /** Changes whenever workers are told to start anew; absent: never told. Means nothing else. */
  readonly restart?: string | undefined;
  /** The store no longer has what it confirmed to this very client: it was flushed, or restarted without its data. */
  readonly forgotten?: boolean | undefined;
}

export type { Counts, PeekedJob, PlacedJob, WaitingState } from './waiting-jobs';

/** By which a push is done once. */
export interface Once {
  /** Up to 255 characters. Where a connection `isDivided`, each queue has keys of its own. */
  readonly key: string;
  /** Up to this moment the key is kept; behind it nothing is pushed. */
  readonly until: Milliseconds;
}

/** What a driver can do. Asking for what it lacks is a `CapabilityError`. */
export interface Capabilities {
  /** Jobs can wait for a moment. */
  readonly delay: boolean;
  /** Takes `dueAt`, and judges it by the clock of its store. Absent: no; it is given delays that were reckoned by `now()`. */
  readonly moments?: boolean | undefined;
  /** Jobs can be reserved by a worker. `sync` and `null` cannot. */
  readonly reserve: boolean;
  /** Leases can be renewed while a job runs. */
  readonly renew: boolean;
  /** Jobs are counted by state. */
  readonly counts: boolean;
  /** Counts say what is there. Otherwise they are estimates, which may lag behind by minutes. */
  readonly exactCounts: boolean;
  /** Jobs come out in the order in which they were pushed. */
  readonly order: boolean;
  /** What is given back, and what becomes due, goes to the tail of its queue; what a silent holder had, to the head. */
  readonly requeue: boolean;
  readonly clear: boolean;
  readonly peek: boolean;
  /** `wait` is woken by a push, also of another process; otherwise it only sleeps. */
  readonly wake: boolean;
  /** Has a failed store of its own, written in the transaction that removes the reservation. */
  readonly failed: boolean;
  readonly locks: boolean;
  /**
   * Takes the `next` of a settlement in the step that writes it: for any of its queues, or, where `isDivided`, for that of the
   * job alone. Absent: no; what follows an outcome is pushed before it is written.
   */
  readonly follows?: boolean | undefined;
  /**
   * Takes the `ties` of an entry: a unique key has one holder at a time, which is in the store. It is joined by the push, and left
   * by the very step in which the job ends, whatever ends it, or with `until: 'start'` is reserved; there a release that costs no
   * try (its `releases` has grown) and the end of a lease join it again, if it is free. A key is left by its holder alone, and
   * after `for` may be taken by another.
   *
   * Of the key of a debounced entry one waits at a time. The push of another removes it in its very step, if it waits in that queue,
   * its moment is still to come and it was never reserved, and becomes ready when its own delay is over, but no later than `longest`
   * after the first one that was so removed. One that waits there no more is in nobody's way, whatever has become of it.
   *
   * Absent: no; such entries are refused before they are sent.
   */
  readonly ties?: boolean | undefined;
  /**
   * Keeps batches, and takes entries that belong to one: they count in the step that pushes them, and in that which ends them,
   * whatever ends them; those that follow a job of a batch join before it leaves. Where `isDivided`, all are in one queue. Jobs of a
   * batch that was cancelled are handed out as cancelled. The retry of one that failed takes the cancellation back. Absent: no.
   */
  readonly batches?: boolean | undefined;
  /** Jobs can be cancelled, queues paused, and workers told to start anew. */
  readonly control: boolean;
  /** Has `find`, `pushOnce` and `records`, and its `peek` goes on behind a place. Absent: no. */
  readonly operations?: boolean | undefined;
  /** `records` has a `wake`, by which who waits for a result is told of it. Absent: no; it is looked for now and then. */
  readonly recordWake?: boolean | undefined;
}

/** Waits for work on a worker's queues. Made by each worker for itself: a blocking read occupies what it waits on. */
export interface Waiter {
  /**
   * Resolves when work may be there, when `seconds` have passed, or when `signal` aborts; never rejects for these.
   * May wake for nothing. A wake-up that came between the last reserve and this call must not be missed.
   */
  wait(seconds: Seconds, signal: AbortSignal): Promise<void>;
  /**
   * Waits as `wait` does, and has the store reserve the moment that the wait is over, before anything travels. An abort ends
   * the wait, and the answer may bring jobs all the same. Undefined: it has only waited. Absent: the store cannot do so.
   *
   * @throws what `reserve` throws
   */
  waitAndReserve?(seconds: Seconds, request: ReserveRequest, signal: AbortSignal): Promise<ReserveReply | undefined>;
  close(): Promise<void>;
}

/**
 * Failed jobs that a store sets aside and cannot show, as beanstalkd buries them. Where no connection keeps failed jobs,
 * `settle` puts them there.
 */
export interface Buried {
  count(queue: string): Promise<number>;
  /** Sends all that are there now back to their queues, each with all its tries; returns how many. */
  kick(): Promise<number>;
  /** Removes all, or those of a queue; returns how many. */
  flush(queue?: string): Promise<number>;
}

/** One line of `onqueue check`. */
export interface Diagnosis {
  readonly level: 'ok' | 'warning' | 'error';
  readonly subject: string;
  readonly message: string;
  /** The store may lose jobs by it: a worker says so as well, when it starts. */
  readonly endangersJobs?: true | undefined;
}

/**
 * What another thread needs to open the same store: cloned on its way there, as are the tokens of reservations, so no
 * functions and no instances.
 *
 * The module stands in the build and exports `open(data, deadline): StoreThread`, which connects with its first call, and
 * whose calls give up after `deadline` seconds at most.
 */
export interface ThreadAccess {
  /** The absolute path of the module, a CommonJS file. */
  readonly module: string;
  readonly data: unknown;
}

/** What the thread does with the store. */
export type StoreThread = Pick<Connection, 'renew' | 'settle' | 'close'>;

export interface Connection {
  /** Its name in the configuration. */
  readonly name: string;
  readonly driver: string;
  /** The absolute path or address of the store, for people: never a password. */
  readonly address: string;
  readonly capabilities: Capabilities;
  /**
   * The store has left a call without an answer for longer than its deadline, and the driver goes on asking. A worker
   * that waits for such a call is not stuck. Absent: the driver does not say.
   */
  readonly isAway?: boolean | undefined;
  /**
   * Its queues are spread over servers, of which one may be silent while the others answer. A worker then settles and renews
   * each queue in a call of its own, and waits for none of these before it reserves. Absent: no.
   */
  readonly isDivided?: boolean | undefined;
  /**
   * How many calls of one worker it carries at once: the store works on one while the jobs of another run. Absent: one. More
   * calls than that may come all the same, and wait for each other.
   */
  readonly callsAtOnce?: number | undefined;
  /** How many pushes to a queue may be under way, and still go in in the order of their calls. Absent: one. */
  readonly pushesAtOnce?: number | undefined;

  /**
   * Resolves when the store has confirmed all entries. All of one call go in, in order, or a later call says which. Gives what
   * became of each, in order; nothing: all are in. An entry whose key is held, also by one before it, stays out. One that is debounced
   * takes the place of one before it, too. Entries that belong to a batch all belong to the same, and fit one call.
   *
   * @param begins that batch, which is there from this step on; the entries may be none
   * @throws E_BATCH_ENDED their batch takes no more; nothing was written
   */
  push(queue: string, entries: readonly Entry[], begins?: NewBatch): Promise<readonly Pushed[] | void>;
  reserve(request: ReserveRequest): Promise<ReserveReply>;
  /**
   * One result for each settlement, in order.
   *
   * @throws QueueUnavailableError the store is away, and is to be asked again. What else it throws is taken for a refusal of
   *   what was sent: then each settlement is sent by itself, and one that is refused for good held up by no other
   */
  settle(settlements: readonly Settlement[]): Promise<readonly SettleResult[]>;
  /** Both in one round trip, where the store can: first settles, then reserves. */
  settleAndReserve?(
    settlements: readonly Settlement[],
    request: ReserveRequest,
  ): Promise<{ readonly results: readonly SettleResult[]; readonly reply: ReserveReply }>;
  /** The lease of each starts anew at `lease` seconds from now. One result for each, in order. */
  renew(reservations: readonly Reservation[], lease: Seconds): Promise<readonly RenewResult[]>;
  counts(queue: string): Promise<Counts>;
  /** Removes what is ready, delayed and reserved; returns how many. Failed jobs stay. */
  clear(queue: string): Promise<number>;
  /**
   * The first `limit` jobs of a state, in the order in which they come up. Changes nothing. With `operations`, a page may hold fewer
   * (100 jobs or 1 MiB; always one while there are any); what comes and goes between two pages may be missed, or shown twice.
   *
   * @param after the `place` of a job of the page before
   */
  peek(queue: string, state: WaitingState, limit: number, after?: string): Promise<readonly PeekedJob[]>;
  /**
   * Where the job with this id waits or runs. `unseen`: it was not found in the bounded look that a store takes. Undefined: it is not
   * there.
   *
   * @param queue where it is known to be; absent: all queues are looked at
   */
  readonly find?: ((id: string, queue?: string) => Promise<PlacedJob | 'unseen' | undefined>) | undefined;
  /**
   * Pushes a job unless a job was pushed by this key before, or would have been, but for one that held its unique key. `late`: the
   * moment until which it could be is over by the clock of the store; nothing was pushed.
   */
  readonly pushOnce?: ((followUp: FollowUp, once: Once) => Promise<Pushed | 'before' | 'late'>) | undefined;
  /** The queues that were ever pushed to and not forgotten. */
  queues(): Promise<readonly string[]>;
  waiter(queues: readonly string[]): Waiter;
  /**
   * The time by the clock of the store, which judges all moments. May be reckoned from what it said within the last
   * minute. Absent: it has no clock of its own, or tells it to nobody, and ours is taken.
   */
  readonly now?: (() => Promise<Milliseconds>) | undefined;
  readonly failed?: FailedStore | undefined;
  /** Absent: what has failed needs a failed store, here or on another connection. */
  readonly buried?: Buried | undefined;
  readonly locks?: LockStore | undefined;
  readonly batches?: BatchStore | undefined;
  readonly control?: Control | undefined;
  readonly records?: RecordStore | undefined;
  /**
   * Looks whether unique keys and batches are as the jobs say, and repairs what is not, as if the jobs that are gone had been removed
   * by `clear`: a batch of which none is left ends. Workers may run beside it. Absent: nothing here can come apart by hand.
   */
  readonly recount?: ((options: RecountOptions) => Promise<readonly Finding[]>) | undefined;
  /**
   * How another thread reaches the same store, to keep leases while the event loop stands still. `null`: not at all, for
   * the store lives in this very thread. Absent: the driver does not say.
   */
  readonly threadAccess?: ThreadAccess | null | undefined;
  /** The tables of the store, where somebody has to make them. */
  readonly migrations?: Migrations | undefined;
  /**
   * Pushes into a transaction that the user has begun in the same store: the jobs are there once it is committed.
   * Undefined: it is no transaction that the driver knows. Absent: the store cannot do so.
   */
  within?(transaction: unknown): Pick<Connection, 'push'> | undefined;
  /** The connection whose store this one works on: it keeps nothing itself, and lists over all connections leave it out. */
  readonly standsFor?: Connection | undefined;
  /** Of a failover: the name of the connection that jobs go to while those before it take none; undefined: the first. */
  readonly standIn?: string | undefined;
  /** What `onqueue check` prints of this store. */
  diagnose(): Promise<readonly Diagnosis[]>;
  /** Ends what the connection holds open, within a deadline. May be called at any time, any number of times. */
  close(): Promise<void>;
}
