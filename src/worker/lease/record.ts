/**
 * A record for each job that a worker holds, in memory that its event loop shares with the lease thread.
 *
 * The worker writes a record before the handler starts, and the thread looks for itself. A message for each reserve would
 * cost the worker more than everything else it does for a lease, and an event loop that stands still sends none.
 */
import type { Milliseconds, Moment, Seconds } from '../../base/clock';
import type { Reservation } from '../../connections/contract';

export type Page = SharedArrayBuffer;

/** Records per page, and bytes per record. */
const RECORDS = 64;
const BYTES = 1024;

/** The place of each number in a record. Behind them stand the counters, then queue, token and payload. */
const NUMBER = 0;
const LEASED = 1;
const WALL_AHEAD = 2;
const OVERDUE = 3;
const DELAY = 4;
const QUEUE_LENGTH = 5;
const TOKEN_LENGTH = 6;
const PAYLOAD_LENGTH = 7;
const COUNTERS = 8 * Int32Array.BYTES_PER_ELEMENT;
const TEXTS = COUNTERS + 5 * Float64Array.BYTES_PER_ELEMENT;

const NOBODY = 0;

/** Moments are stored in units of this many milliseconds since the origin: 31 bits last three years. */
const UNIT = 50;
const LARGEST = 2 ** 31 - 1;

/**
 * The records of one page. `at`: the place of the first one among all records of the worker. `origin`: by the clock of this
 * thread.
 */
export function recordsOf(page: Page, at: number, origin: Moment): readonly LeaseRecord[] {
  return Array.from({ length: RECORDS }, (_, index) => new LeaseRecord(page, index * BYTES, at + index, origin));
}

export class LeaseRecord {
  /** Its place among all records of the worker. */
  readonly at: number;
  readonly #integers: Int32Array;
  readonly #counters: Float64Array;
  readonly #texts: Buffer;
  // Moments count from here, not from the start of each job: the thread may write down a renewal when the record already
  // belongs to a later job.
  readonly #origin: Milliseconds;
  readonly #wallAhead: Milliseconds;

  constructor(page: Page, start: number, at: number, { monotonic, wall }: Moment) {
    this.at = at;
    this.#integers = new Int32Array(page, start, COUNTERS / Int32Array.BYTES_PER_ELEMENT);
    this.#counters = new Float64Array(page, start + COUNTERS, (TEXTS - COUNTERS) / Float64Array.BYTES_PER_ELEMENT);
    this.#texts = Buffer.from(page, start + TEXTS, BYTES - TEXTS);
    this.#origin = monotonic;
    this.#wallAhead = wall - monotonic;
  }

  /** The number of the job that has the record, from 1; 0 if there is none. */
  get number(): number {
    return this.#read(NUMBER);
  }

  /** Whether this job still has the record, so that everything read before this call belonged to it. */
  isOf(number: number): boolean {
    // A write, although it changes nothing: no read may be moved past it.
    return Atomics.compareExchange(this.#integers, NUMBER, number, number) === number;
  }

  /** The thread does not see the job before `show`. */
  begin(leasedAt: Moment): void {
    this.#write(OVERDUE, 0);
    this.#lease(leasedAt);
  }

  /** False if the reservation does not fit, and has to reach the thread in a message. */
  write({ queue, payload, counters, token }: Reservation): boolean {
    const text = textOf(token);
    // A UTF-16 code unit takes three bytes at most.
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

  /**
   * A copy; `isOf` tells whether all of it belongs to one job. Undefined if it does not, or if the reservation did not fit.
   */
  read(): Reservation | undefined {
    const payloadLength = this.#integers[PAYLOAD_LENGTH]!;
    if (payloadLength < 0) return undefined;
    const queueEnd = this.#integers[QUEUE_LENGTH]!;
    const tokenEnd = queueEnd + this.#integers[TOKEN_LENGTH]!;
    const [attempts = 0, crashes = 0, exceptions = 0, timeouts = 0, releases = 0] = this.#counters;
    try {
      return {
        queue: this.#texts.toString('utf8', 0, queueEnd),
        payload: Buffer.from(this.#texts.subarray(tokenEnd, tokenEnd + payloadLength)),
        counters: { attempts, crashes, exceptions, timeouts, releases },
        token: tokenOf(this.#texts.toString('utf8', queueEnd, tokenEnd)),
      };
    } catch {
      // The worker is writing the token just now.
      return undefined;
    }
  }

  /** The thread sees the job from here on. */
  show(number: number): void {
    this.#write(NUMBER, number);
  }

  leave(): void {
    this.#write(NUMBER, NOBODY);
  }

  /** When the lease began, or was last renewed. */
  leasedAt(): Milliseconds {
    return this.#origin + this.#read(LEASED) * UNIT;
  }

  /**
   * Age of the lease, by whichever clock says more: the monotonic clock stands still while a machine sleeps. The wall clock
   * may have been set, so this is a reason to ask the store but not to abort a job.
   */
  age({ monotonic, wall }: Moment): Milliseconds {
    const missed = wall - monotonic - this.#wallAhead - this.#read(WALL_AHEAD) * UNIT;
    const leasedAt = this.#origin + this.#read(LEASED) * UNIT;
    return monotonic - leasedAt + Math.max(missed, 0);
  }

  /** The store has renewed the lease in answer to a call sent at `askedAt`. */
  renew(askedAt: Moment): void {
    // A late answer may be older than one that the other side got, or than the job that has the record now.
    if (askedAt.monotonic >= this.#origin + this.#read(LEASED) * UNIT) this.#lease(askedAt);
  }

  /** When the run counts as timed out even if the worker cannot say so. Infinity: never, not known yet, or it has ended. */
  get overdueAt(): Milliseconds {
    const at = this.#read(OVERDUE);
    return at === 0 ? Infinity : this.#origin + at * UNIT;
  }

  /** Delay of the attempt that follows a timeout. */
  get delay(): Seconds {
    return (this.#read(DELAY) * UNIT) / 1000;
  }

  /** Known when the handler is about to start. */
  foresee(overdueAt: Milliseconds, delay: Seconds): void {
    // The moment is written last: it tells the reader that the delay is there.
    this.#write(DELAY, Math.round((delay * 1000) / UNIT));
    this.#write(OVERDUE, Math.ceil((overdueAt - this.#origin) / UNIT));
  }

  /** The run has an outcome, which is not stored yet. */
  end(): void {
    this.#write(OVERDUE, 0);
  }

  // Rounded down, so that the end as we know it is never later than the store's.
  #lease({ monotonic, wall }: Moment): void {
    this.#write(LEASED, Math.floor((monotonic - this.#origin) / UNIT));
    this.#write(WALL_AHEAD, Math.ceil((wall - monotonic - this.#wallAhead) / UNIT));
  }

  #read(index: number): number {
    return Atomics.load(this.#integers, index);
  }

  #write(index: number, value: number): void {
    Atomics.store(this.#integers, index, Math.min(value, LARGEST));
  }
}

/** JSON that parses to the very same token; '' if there is no token. Undefined if only a structured clone can carry it. */
function textOf(token: unknown): string | undefined {
  if (token === undefined) return '';
  if (typeof token !== 'object' || token === null || Object.getPrototypeOf(token) !== Object.prototype)
    return undefined;
  const isPlain = Object.values(token).every((value) => typeof value === 'string' || Number.isFinite(value));
  return isPlain ? JSON.stringify(token) : undefined;
}

const tokenOf = (text: string): unknown => (text === '' ? undefined : JSON.parse(text));

/** A worker's records, used and free. */
export class LeaseTable {
  /** Both clocks when the table was made: all moments in it count from there. */
  readonly origin: Moment;
  readonly pages: Page[] = [];
  readonly #free: LeaseRecord[] = [];

  constructor(origin: Moment) {
    this.origin = origin;
  }

  take(leasedAt: Moment): LeaseRecord {
    if (this.#free.length === 0) {
      const page = new SharedArrayBuffer(RECORDS * BYTES);
      this.#free.push(...recordsOf(page, this.pages.length * RECORDS, this.origin));
      this.pages.push(page);
    }
    const record = this.#free.pop()!;
    record.begin(leasedAt);
    return record;
  }

  leave(record: LeaseRecord): void {
    record.leave();
    this.#free.push(record);
  }
}
