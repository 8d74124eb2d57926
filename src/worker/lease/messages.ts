/** Messages between a worker and the lease thread, in addition to the records that they share. */
import type { Milliseconds, Moment, Seconds } from '../../base/clock';
import type { LogFormat } from '../../base/console-logger';
import type { Reservation, ThreadAccess } from '../../connections/contract';
import type { Page } from './record';

/** The data that the thread starts with. */
export interface ThreadData {
  /** `monotonicOrigin()` of the workers. */
  readonly clockOrigin: Milliseconds;
  /** False if the workers run in a thread of the user's, whose stack the inspector cannot reach. */
  readonly ofMainThread: boolean;
  /** The path of the module in the workers' thread that knows whose code runs there. */
  readonly scope: string;
  /** A debugger was attached from the start: then an event loop that stands still is none of our business. */
  readonly isDebugged: boolean;
}

export interface WorkerData {
  readonly threadAccess: ThreadAccess;
  readonly lease: Seconds;
  /** The moment, by the worker's clocks, from which the moments in its records count. */
  readonly origin: Moment;
  /** The state of both sides: `STORE` and `LOOKING`. */
  readonly state: Int32Array;
  /** Whether the process may be ended when a job blocks its event loop past timeout and grace. */
  readonly endsProcess: boolean;
  /** How a blocked event loop is reported on standard error. */
  readonly log: LogFormat;
}

/** Index in `state`: whether the thread has opened the worker's store. Its values are the three below. */
export const STORE = 0;
export const NOTHING_OPEN = 0;
export const STORE_OPEN = 1;
/** The worker has ended: nothing may be opened for it any more. */
export const ENDED = 2;

/** Index in `state`: 1 while the thread looks at the records by itself, 0 once it has found none for a while. */
export const LOOKING = 1;

/** How many numbers `state` has. */
export const STATES = 2;

/** `here`: the event loop moves; the answer to `ask`. `worker`: the worker's number in the thread. */
export type ToThread = { readonly kind: 'here' } | ({ readonly worker: number } & FromWorker);

export type FromWorker =
  | { readonly kind: 'join'; readonly data: WorkerData }
  /** One more page of records. */
  | { readonly kind: 'page'; readonly page: Page }
  /** A reservation too large for its record, the one at place `at`. */
  | { readonly kind: 'large'; readonly at: number; readonly number: number; readonly reservation: SentReservation }
  /** The thread is to look at the records again. */
  | { readonly kind: 'look' }
  /** The worker ends. The thread closes its store, unless another worker uses it too, and answers `closed`. */
  | { readonly kind: 'close' };

/** `ask`: does the event loop move? */
export type FromThread = { readonly kind: 'ask' } | ({ readonly worker: number } & ToWorker);

export type ToWorker =
  | { readonly kind: 'lost' | 'cancelled'; readonly number: number }
  | { readonly kind: 'failed'; readonly message: string }
  /** The store takes renewals again. */
  | { readonly kind: 'recovered' }
  | { readonly kind: 'closed' }
  /** The thread cannot open the store, and has given the worker up. */
  | { readonly kind: 'gone'; readonly why: string }
  /**
   * The event loop stood still. These jobs were recorded as timed out without it, or found lost; `account`: what was
   * reported about it.
   */
  | { readonly kind: 'blocked'; readonly numbers: readonly number[]; readonly account: string | undefined };

/** Transferred memory arrives as a plain array, not as a Buffer. */
export type SentReservation = Omit<Reservation, 'payload'> & { readonly payload: Uint8Array<ArrayBuffer> };
