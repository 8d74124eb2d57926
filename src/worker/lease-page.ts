/**
 * Places for the jobs of a worker, in memory that it shares with the thread that keeps their leases.
 *
 * The worker writes a job down before its handler starts, and the thread looks by itself: to be woken for each reserve
 * would cost the worker more than all else that it does for a lease.
 */
import type { Milliseconds } from '../clock/clock';
import type { Reservation } from '../queue/connection';
import { LeaseTerms, TERMS } from './lease-terms';

const PLACES = 64;
const BYTES = 1024;

/** Of one place: after its terms the lengths of both texts, then the counters, then queue and payload. */
const QUEUE_LENGTH = TERMS;
const PAYLOAD_LENGTH = TERMS + 1;
const COUNTERS = 32;
const TEXTS = COUNTERS + 5 * Float64Array.BYTES_PER_ELEMENT;

export class LeasePage {
  readonly memory: SharedArrayBuffer;
  /** Of each place. */
  readonly terms: readonly LeaseTerms[];
  readonly #integers: Int32Array;
  readonly #numbers: Float64Array;
  readonly #bytes: Buffer;

  /** @param origin the moment from which times are counted, by the clock of this thread */
  constructor(origin: Milliseconds, memory = new SharedArrayBuffer(PLACES * BYTES)) {
    this.memory = memory;
    this.#integers = new Int32Array(memory);
    this.#numbers = new Float64Array(memory);
    this.#bytes = Buffer.from(memory);
    this.terms = Array.from({ length: PLACES }, (_, place) => {
      return new LeaseTerms(this.#integers, integerAt(place), origin);
    });
  }

  /** False: it has no room there. Then the reservation has to reach the thread on another way. */
  write(place: number, { queue, payload, counters, token }: Reservation): boolean {
    const start = place * BYTES + TEXTS;
    const end = (place + 1) * BYTES;
    // A code unit takes three bytes at most.
    const fits = token === undefined && start + 3 * queue.length + payload.length <= end;
    this.#integers[integerAt(place) + PAYLOAD_LENGTH] = fits ? payload.length : -1;
    if (!fits) return false;
    const length = this.#bytes.write(queue, start);
    this.#integers[integerAt(place) + QUEUE_LENGTH] = length;
    payload.copy(this.#bytes, start + length);
    let at = numberAt(place);
    this.#numbers[at++] = counters.attempts;
    this.#numbers[at++] = counters.crashes;
    this.#numbers[at++] = counters.exceptions;
    this.#numbers[at++] = counters.timeouts;
    this.#numbers[at] = counters.releases;
    return true;
  }

  /** A copy, of which `terms` tell whether it is of one job as a whole. Undefined: it had no room here. */
  read(place: number): Reservation | undefined {
    const payloadLength = this.#integers[integerAt(place) + PAYLOAD_LENGTH]!;
    if (payloadLength < 0) return undefined;
    const queueEnd = place * BYTES + TEXTS + this.#integers[integerAt(place) + QUEUE_LENGTH]!;
    const at = numberAt(place);
    return {
      queue: this.#bytes.toString('utf8', place * BYTES + TEXTS, queueEnd),
      payload: Buffer.from(this.#bytes.subarray(queueEnd, queueEnd + payloadLength)),
      counters: {
        attempts: this.#numbers[at]!,
        crashes: this.#numbers[at + 1]!,
        exceptions: this.#numbers[at + 2]!,
        timeouts: this.#numbers[at + 3]!,
        releases: this.#numbers[at + 4]!,
      },
      token: undefined,
    };
  }
}

function integerAt(place: number): number {
  return (place * BYTES) / Int32Array.BYTES_PER_ELEMENT;
}

function numberAt(place: number): number {
  return (place * BYTES + COUNTERS) / Float64Array.BYTES_PER_ELEMENT;
}
