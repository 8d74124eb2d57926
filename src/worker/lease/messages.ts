/** What workers and the thread that keeps their leases tell each other beside the memory that they share. */
import type { MessagePort } from 'node:worker_threads';
import type { Milliseconds, Seconds } from '../../base/clock';
import type { Reservation, ThreadAccess } from '../../connections/contract';
import type { Page } from './place';

/** What the thread is started with. */
export interface ThreadData {
  /** `monotonicOrigin()` of the workers. */
  readonly clockOrigin: Milliseconds;
  /** False: the workers are in a thread of the user's, whose stack is out of reach. */
  readonly ofMainThread: boolean;
  /** A debugger was there from the start: an event loop that stands still is none of our business. */
  readonly isDebugged: boolean;
}

/** One worker, and its port: all that concerns its jobs goes by that. */
export interface Admission {
  readonly worker: WorkerData;
  readonly port: MessagePort;
}

export interface WorkerData {
  readonly threadAccess: ThreadAccess;
  readonly lease: Seconds;
  /** From which moment by the worker's clock the times in its pages count. */
  readonly origin: Milliseconds;
  /** What both ends say about themselves: `STORE` and `LOOKING`. */
  readonly state: Int32Array;
  /** Whether the process may be ended when a job blocks its event loop past timeout and grace. */
  readonly endsProcess: boolean;
}

/** Whether the thread has opened the worker's store: one of the three below. */
export const STORE = 0;
export const NOTHING_OPEN = 0;
export const STORE_OPEN = 1;
/** The worker has ended: nothing may be opened for it any more. */
export const ENDED = 2;

/** Whether the thread looks at the pages by itself: 1, or 0 when it has found nothing for a while. */
export const LOOKING = 1;

/** How many numbers the state has. */
export const STATES = 2;

/** The thread asks whether the event loop moves. */
export const ASK = 'ask';

/** It does. */
export const HERE = 'here';

/** The worker ends. The thread closes its store, unless another one has it too, and then the port. */
export const CLOSE = 'close';

/** The thread is to look at the pages again. */
export const LOOK = 'look';

export type FromWorker =
  | typeof CLOSE
  | typeof LOOK
  /** One more page. */
  | { readonly page: Page }
  /** A reservation that has no room in a place. */
  | { readonly number: number; readonly reservation: SentReservation }
  /** Such a one is needed no more. */
  | { readonly settled: number };

export type ToWorker =
  | { readonly kind: 'lost' | 'cancelled'; readonly number: number }
  | { readonly kind: 'failed'; readonly message: string }
  /** The store takes renewals again. */
  | { readonly kind: 'recovered' }
  /** The thread cannot open the store, and has given the worker up. */
  | { readonly kind: 'gone'; readonly why: string }
  /** The event loop stood still; these were recorded as timed out without it, or found lost. */
  | {
      readonly kind: 'blocked';
      readonly numbers: readonly number[];
      /** What was said of it. One of the workers concerned is told. */
      readonly account: string | undefined;
    };

/** Memory that was handed over comes as what it is, and not as a Buffer. */
export type SentReservation = Omit<Reservation, 'payload'> & { readonly payload: Uint8Array<ArrayBuffer> };

/** A job that a worker runs, and the number by which the thread knows it. */
export interface Numbered {
  readonly number: number;
  readonly reservation: Reservation;
}
