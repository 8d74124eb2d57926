/** What a worker and the thread that keeps its leases tell each other. */
import type { Milliseconds, Seconds } from '../clock/clock';
import type { Reservation, ThreadAccess } from '../queue/connection';

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
  /** `monotonicOrigin()` of the worker: moments in messages are by its clock. */
  readonly origin: Milliseconds;
  /** Whether the thread has a store that must be closed: one of the three below. */
  readonly state: Int32Array;
  readonly whenBlocked: WhenBlocked;
  /** False: the worker is in a thread of the user's, whose stack is out of reach. */
  readonly ofMainThread: boolean;
}

export const NOTHING_OPEN = 0;
export const STORE_OPEN = 1;
/** The worker has ended: nothing may be opened any more. */
export const ENDED = 2;

/** The thread is to close its store, and end. */
export const CLOSE = 'close';

/** The worker's answer to `ask`. */
export const HERE = 'here';

export interface LeaseNews {
  /** Jobs that were reserved by one call. */
  readonly kept?: Batch | undefined;
  /** The numbers of jobs that are settled. */
  readonly dropped: readonly number[];
}

export type ToThread = LeaseNews | typeof CLOSE | typeof HERE;

export type FromThread =
  | { readonly kind: 'lost' | 'cancelled'; readonly number: number }
  | { readonly kind: 'failed'; readonly message: string }
  /** The store takes renewals again. */
  | { readonly kind: 'recovered' }
  /** Is anybody there? */
  | { readonly kind: 'ask' }
  /** The event loop stood still; these were recorded as timed out without it, or found lost. `account` is what was said of it. */
  | { readonly kind: 'blocked'; readonly numbers: readonly number[]; readonly account: string };

/** A job that a worker runs, and the number by which the thread knows it. */
export interface Numbered {
  readonly number: number;
  readonly reservation: Reservation;
}

/**
 * Reservations on their way to the thread. Texts and facts are each one piece of memory that is handed over, not copied
 * again: as an object for each job they would cost more than all else that the worker does for a lease.
 */
export interface Batch {
  readonly reservedAt: Milliseconds;
  readonly texts: Uint8Array<ArrayBuffer>;
  /** For each: its number, the place of its queue in `queues`, the length of its text, its counters. */
  readonly facts: Float64Array<ArrayBuffer>;
  readonly queues: readonly string[];
  /** Absent where the driver gives none. */
  readonly tokens?: readonly unknown[] | undefined;
  /** The memory of their `LeaseTerms`. */
  readonly terms: Int32Array;
}

/** Numbers of each job in `facts`. */
export const FACTS = 8;

export function pack(jobs: readonly Numbered[], terms: Int32Array, reservedAt: Milliseconds): Batch {
  let length = 0;
  for (const { reservation } of jobs) length += reservation.payload.length;
  // Memory of its own: a small Buffer shares its memory with others, and all of it would be handed over.
  const texts = new Uint8Array(length);
  const facts = new Float64Array(jobs.length * FACTS);
  const queues: string[] = [];
  let start = 0;
  let at = 0;
  for (const { number, reservation } of jobs) {
    const { payload, counters } = reservation;
    let queue = queues.indexOf(reservation.queue);
    if (queue < 0) queue = queues.push(reservation.queue) - 1;
    texts.set(payload, start);
    start += payload.length;
    facts[at++] = number;
    facts[at++] = queue;
    facts[at++] = payload.length;
    facts[at++] = counters.attempts;
    facts[at++] = counters.crashes;
    facts[at++] = counters.exceptions;
    facts[at++] = counters.timeouts;
    facts[at++] = counters.releases;
  }
  const tokens = jobs.map(({ reservation }) => reservation.token);
  const known = tokens.some((token) => token !== undefined);
  return { reservedAt, texts, facts, queues, terms, ...(known && { tokens }) };
}
