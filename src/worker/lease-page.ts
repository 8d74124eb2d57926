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

/** Of one place: after its terms the lengths of the texts, then the counters, then queue, token and payload. */
const QUEUE_LENGTH = TERMS;
const TOKEN_LENGTH = TERMS + 1;
const PAYLOAD_LENGTH = TERMS + 2;
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
    const written = textOf(token);
    // A code unit takes three bytes at most.
    const fits = written !== undefined && start + 3 * (queue.length + written.length) + payload.length <= end;
    this.#integers[integerAt(place) + PAYLOAD_LENGTH] = fits ? payload.length : -1;
    if (!fits) return false;
    const queueLength = this.#bytes.write(queue, start);
    const tokenLength = this.#bytes.write(written, start + queueLength);
    this.#integers[integerAt(place) + QUEUE_LENGTH] = queueLength;
    this.#integers[integerAt(place) + TOKEN_LENGTH] = tokenLength;
    payload.copy(this.#bytes, start + queueLength + tokenLength);
    let at = numberAt(place);
    this.#numbers[at++] = counters.attempts;
    this.#numbers[at++] = counters.crashes;
    this.#numbers[at++] = counters.exceptions;
    this.#numbers[at++] = counters.timeouts;
    this.#numbers[at] = counters.releases;
    return true;
  }

  /** A copy, of which `terms` tell whether it is of one job as a whole. Undefined: it had no room here, or it is not. */
  read(place: number): Reservation | undefined {
    const payloadLength = this.#integers[integerAt(place) + PAYLOAD_LENGTH]!;
    if (payloadLength < 0) return undefined;
    const queueEnd = place * BYTES + TEXTS + this.#integers[integerAt(place) + QUEUE_LENGTH]!;
    const tokenEnd = queueEnd + this.#integers[integerAt(place) + TOKEN_LENGTH]!;
    const token = tokenIn(this.#bytes.toString('utf8', queueEnd, tokenEnd));
    if (token === BROKEN) return undefined;
    const at = numberAt(place);
    return {
      queue: this.#bytes.toString('utf8', place * BYTES + TEXTS, queueEnd),
      payload: Buffer.from(this.#bytes.subarray(tokenEnd, tokenEnd + payloadLength)),
      counters: {
        attempts: this.#numbers[at]!,
        crashes: this.#numbers[at + 1]!,
        exceptions: this.#numbers[at + 2]!,
        timeouts: this.#numbers[at + 3]!,
        releases: this.#numbers[at + 4]!,
      },
      token,
    };
  }
}

function integerAt(place: number): number {
  return (place * BYTES) / Int32Array.BYTES_PER_ELEMENT;
}

function numberAt(place: number): number {
  return (place * BYTES + COUNTERS) / Float64Array.BYTES_PER_ELEMENT;
}

/** As JSON, where the very token comes of it again; '': there is none. Undefined: it has to be cloned. */
function textOf(token: unknown): string | undefined {
  if (token === undefined) return '';
  if (typeof token !== 'object' || token === null || Object.getPrototypeOf(token) !== Object.prototype)
    return undefined;
  const isPlain = Object.values(token).every((value) => typeof value === 'string' || Number.isFinite(value));
  return isPlain ? JSON.stringify(token) : undefined;
}

const BROKEN = Symbol('broken');

function tokenIn(text: string): unknown {
  if (text === '') return undefined;
  try {
    return JSON.parse(text);
  } catch {
    // The worker is writing there.
    return BROKEN;
  }
}
