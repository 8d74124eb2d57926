/** What a worker and the thread that keeps its leases tell each other beside the memory that they share. */
import type { Milliseconds, Seconds } from '../../clock/clock';
import type { Reservation, ThreadAccess } from '../../queue/connection';
import type { Page } from './place';

/** What the thread is to do about a job that blocks the event loop past its timeout and grace. */
export type WhenBlocked =
  /** Record the timeout, give all other jobs back, and end the process. */
  | 'end-process'
  /** Record the timeout. */
  | 'report'
  /** Nothing: a debugger was there from the start. Of one that comes later the thread asks. */
  | 'wait';

/** What the thread is started with. */
export interface LeaseThreadData {
  readonly threadAccess: ThreadAccess;
  readonly lease: Seconds;
  /** `monotonicOrigin()` of the worker. */
  readonly clockOrigin: Milliseconds;
  /** From which moment by the worker's clock the times in the shared pages count. */
  readonly origin: Milliseconds;
  /** What both ends say about themselves: `STORE` and `LOOKING`. */
  readonly state: Int32Array;
  readonly whenBlocked: WhenBlocked;
  /** False: the worker is in a thread of the user's, whose stack is out of reach. */
  readonly ofMainThread: boolean;
}

/** Whether the thread has a store that must be closed: one of the three below. */
export const STORE = 0;
export const NOTHING_OPEN = 0;
export const STORE_OPEN = 1;
/** The worker has ended: nothing may be opened any more. */
export const ENDED = 2;

/** Whether the thread looks at the pages by itself: 1, or 0 when it has found nothing for a while. */
export const LOOKING = 1;

/** How many numbers the state has. */
export const STATES = 2;

/** The thread is to close its store, and end. */
export const CLOSE = 'close';

/** The worker's answer to `ask`. */
export const HERE = 'here';

/** The thread is to look at the pages again. */
export const LOOK = 'look';

export type ToThread =
  | typeof CLOSE
  | typeof HERE
  | typeof LOOK
  /** One more page. */
  | { readonly page: Page }
  /** A reservation that has no room in a page. */
  | { readonly number: number; readonly reservation: SentReservation }
  /** Such a one is needed no more. */
  | { readonly settled: number };

export type FromThread =
  | { readonly kind: 'lost' | 'cancelled'; readonly number: number }
  | { readonly kind: 'failed'; readonly message: string }
  /** The store takes renewals again. */
  | { readonly kind: 'recovered' }
  /** Is anybody there? */
  | { readonly kind: 'ask' }
  /** The event loop stood still; these were recorded as timed out without it, or found lost. `account` is what was said of it. */
  | { readonly kind: 'blocked'; readonly numbers: readonly number[]; readonly account: string };

/** Memory that was handed over comes as what it is, and not as a Buffer. */
export type SentReservation = Omit<Reservation, 'payload'> & { readonly payload: Uint8Array<ArrayBuffer> };

/** A job that a worker runs, and the number by which the thread knows it. */
export interface Numbered {
  readonly number: number;
  readonly reservation: Reservation;
}
