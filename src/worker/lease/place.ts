/**
 * A place for one job of a worker, in memory that it shares with the thread that keeps the leases.
 *
 * The worker writes a job down before its handler starts, and the thread looks by itself: to be woken for each reserve
 * would cost the worker more than all else that it does for a lease. What changes while the job runs stands there too: an
 * event loop that stands still neither sends a message nor hears one.
 */
import type { Milliseconds, Seconds } from '../../base/clock';
import type { Reservation } from '../../connections/contract';

/** Of one page: so many places share the memory that is given to the thread in one piece. */
const PLACES = 64;
const BYTES = 1024;

/** Where each number of a place stands; behind them the counters, then queue, token and payload. */
const NUMBER = 0;
const LEASED = 1;
const OVERDUE = 2;
const DELAY = 3;
const STATE = 4;
const QUEUE_LENGTH = 5;
const TOKEN_LENGTH = 6;
const PAYLOAD_LENGTH = 7;
const COUNTERS = 8 * Int32Array.BYTES_PER_ELEMENT;
const TEXTS = COUNTERS + 5 * Float64Array.BYTES_PER_ELEMENT;

const NOBODY = 0;

const RUNNING = 0;
const ENDED = 1;
const COMPLETED = 2;

/** In milliseconds, what moments count: 31 bits of them last three years. */
const UNIT = 50;
const LARGEST = 2 ** 31 - 1;

export type Page = SharedArrayBuffer;

export const newPage = (): Page => new SharedArrayBuffer(PLACES * BYTES);

/**
 * The places of a page.
 *
 * All moments are by the clock that `origin` was read from, whichever thread it is of. They count from there, and not from
 * the beginning of a job: the thread may write down a renewal when the place is another job's already, and that began
 * later than the renewal.
 */
export function placesOf(page: Page, origin: Milliseconds): readonly Place[] {
  return Array.from({ length: PLACES }, (_, at) => new Place(page, at * BYTES, origin));
}

export class Place {
  readonly #integers: Int32Array;
  readonly #counters: Float64Array;
  readonly #texts: Buffer;
  readonly #origin: Milliseconds;

  constructor(page: Page, start: number, origin: Milliseconds) {
    this.#integers = new Int32Array(page, start, COUNTERS / Int32Array.BYTES_PER_ELEMENT);
    this.#counters = new Float64Array(page, start + COUNTERS, (TEXTS - COUNTERS) / Float64Array.BYTES_PER_ELEMENT);
    this.#texts = Buffer.from(page, start + TEXTS, BYTES - TEXTS);
    this.#origin = origin;
  }

  /** Of the job that has this place, from 1; 0: nobody has. */
  get number(): number {
    return this.#read(NUMBER);
  }

  /** Whether the job of this number has the place, and what was read before this call was its own. */
  isOf(number: number): boolean {
    // It writes, though nothing new: what was read before must not be read after it.
    return Atomics.compareExchange(this.#integers, NUMBER, number, number) === number;
  }

  /** Nobody has it. What else there is of the job is written before it is shown. */
  begin(leasedAt: Milliseconds): void {
    this.#write(OVERDUE, 0);
    this.#write(STATE, RUNNING);
    this.leasedAt = leasedAt;
  }

  /** False: it has no room here. Then the reservation has to reach the thread on another way. */
  write({ queue, payload, counters, token }: Reservation): boolean {
    const text = textOf(token);
    // A code unit takes three bytes at most.
    const fits = text !== undefined && 3 * (queue.length + text.length) + payload.length <= this.#texts.length;
    this.#integers[PAYLOAD_LENGTH] = fits ? payload.length : -1;
    if (!fits) return false;
    const queueLength = this.#texts.write(queue, 0);
    const tokenLength = this.#texts.write(text, queueLength);
    this.#integers[QUEUE_LENGTH] = queueLength;
    this.#integers[TOKEN_LENGTH] = tokenLength;
    payload.copy(this.#texts, queueLength + tokenLength);
    this.#counters[0] = counters.attempts;
    this.#counters[1] = counters.crashes;
    this.#counters[2] = counters.exceptions;
    this.#counters[3] = counters.timeouts;
    this.#counters[4] = counters.releases;
    return true;
  }

  /** A copy, of which `isOf` tells whether it is of one job as a whole. Undefined: it had no room here, or it is not. */
  read(): Reservation | undefined {
    const payloadLength = this.#integers[PAYLOAD_LENGTH]!;
    if (payloadLength < 0) return undefined;
    const queueEnd = this.#integers[QUEUE_LENGTH]!;
    const tokenEnd = queueEnd + this.#integers[TOKEN_LENGTH]!;
    const token = tokenIn(this.#texts.toString('utf8', queueEnd, tokenEnd));
    if (token === BROKEN) return undefined;
    return {
      queue: this.#texts.toString('utf8', 0, queueEnd),
      payload: Buffer.from(this.#texts.subarray(tokenEnd, tokenEnd + payloadLength)),
      counters: {
        attempts: this.#counters[0]!,
        crashes: this.#counters[1]!,
        exceptions: this.#counters[2]!,
        timeouts: this.#counters[3]!,
        releases: this.#counters[4]!,
      },
      token,
    };
  }

  /** From here on the thread sees the job. */
  show(number: number): void {
    this.#write(NUMBER, number);
  }

  /** The place is nobody's again. */
  leave(): void {
    this.#write(NUMBER, NOBODY);
  }

  /** When the lease last began. */
  get leasedAt(): Milliseconds {
    return this.#origin + this.#read(LEASED) * UNIT;
  }

  // Rounded down, so that the end we know is never later than the store's.
  set leasedAt(moment: Milliseconds) {
    this.#write(LEASED, Math.floor((moment - this.#origin) / UNIT));
  }

  /** When the run counts as timed out, with nobody left to say so; Infinity: never, or not known yet. */
  get overdueAt(): Milliseconds {
    const until = this.#read(OVERDUE);
    return until === 0 || this.#read(STATE) !== RUNNING ? Infinity : this.#origin + until * UNIT;
  }

  /** Until the attempt that would follow. */
  get delay(): Seconds {
    return (this.#read(DELAY) * UNIT) / 1000;
  }

  get completed(): boolean {
    return this.#read(STATE) === COMPLETED;
  }

  /** Known only when the handler is about to start. The moment is written last: it says that the delay is there. */
  foresee(overdueAt: Milliseconds, delay: Seconds): void {
    this.#write(DELAY, Math.round((delay * 1000) / UNIT));
    this.#write(OVERDUE, Math.ceil((overdueAt - this.#origin) / UNIT));
  }

  /** The run has an outcome, which is not stored yet. */
  end(completed: boolean): void {
    this.#write(STATE, completed ? COMPLETED : ENDED);
  }

  #read(number: number): number {
    return Atomics.load(this.#integers, number);
  }

  #write(number: number, value: number): void {
    Atomics.store(this.#integers, number, Math.min(value, LARGEST));
  }
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
