/**
 * The page between the two sides of the lease: a record for each job that a worker holds, in memory that its event loop
 * shares with the lease thread.
 *
 * The worker writes a record before the handler starts, and the thread looks for itself: a message for each reserve would
 * cost the worker more than all else it does for a lease, and an event loop that stands still sends none.
 */
import type { Milliseconds, Moment, Seconds } from '../../base/clock';
import type { Reservation } from '../../connections/contract';

export type Page = SharedArrayBuffer;

/** Records of one page, and the bytes of each. */
const RECORDS = 64;
const BYTES = 1024;

/** Where each number of a record stands. Behind them: the counters, then queue, token and payload. */
const NUMBER = 0;
const LEASED = 1;
const AHEAD = 2;
const OVERDUE = 3;
const DELAY = 4;
const STATE = 5;
const QUEUE_LENGTH = 6;
const TOKEN_LENGTH = 7;
const PAYLOAD_LENGTH = 8;
const COUNTERS = 10 * Int32Array.BYTES_PER_ELEMENT;
const TEXTS = COUNTERS + 5 * Float64Array.BYTES_PER_ELEMENT;

const NOBODY = 0;

const RUNNING = 0;
const ENDED = 1;
const COMPLETED = 2;

/** Moments count in these milliseconds from the origin: 31 bits of them last three years. */
const UNIT = 50;
const LARGEST = 2 ** 31 - 1;

/** The records of one page; `at`: the place of the first among all of the worker. `origin`: by the clock of this thread. */
export function recordsOf(page: Page, at: number, origin: Moment): readonly LeaseRecord[] {
  return Array.from({ length: RECORDS }, (_, index) => new LeaseRecord(page, index * BYTES, at + index, origin));
}

export class LeaseRecord {
  /** Its place among all of the worker. */
  readonly at: number;
  readonly #integers: Int32Array;
  readonly #counters: Float64Array;
  readonly #texts: Buffer;
  // Moments count from here, and not from the start of each job: the thread may write down a renewal when the record has
  // become that of another job, which began later.
  readonly #origin: Milliseconds;
  readonly #ahead: Milliseconds;

  constructor(page: Page, start: number, at: number, { monotonic, wall }: Moment) {
    this.at = at;
    this.#integers = new Int32Array(page, start, COUNTERS / Int32Array.BYTES_PER_ELEMENT);
    this.#counters = new Float64Array(page, start + COUNTERS, (TEXTS - COUNTERS) / Float64Array.BYTES_PER_ELEMENT);
    this.#texts = Buffer.from(page, start + TEXTS, BYTES - TEXTS);
    this.#origin = monotonic;
    this.#ahead = wall - monotonic;
  }

  /** The job that has the record, from 1; 0: none. */
  get number(): number {
    return this.#read(NUMBER);
  }

  /** Whether this job has the record, and all that was read of it before this call was its own. */
  isOf(number: number): boolean {
    // A write, though it changes nothing: no read may be moved behind it.
    return Atomics.compareExchange(this.#integers, NUMBER, number, number) === number;
  }

  /** Nobody sees the job before `show`. */
  begin(leasedAt: Moment): void {
    this.#write(OVERDUE, 0);
    this.#write(STATE, RUNNING);
    this.#lease(leasedAt);
  }

  /** False: the reservation has no room here, and has to reach the thread in a message. */
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

  /** A copy; `isOf` tells whether it is of one job as a whole. Undefined: it is not, or the reservation had no room. */
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
  get leasedAt(): Milliseconds {
    return this.#origin + this.#read(LEASED) * UNIT;
  }

  /**
   * For how long it has lasted, by whichever clock says more: the monotonic one stands still while a machine sleeps. The
   * other may have been set: so this is a reason to ask the store, and none to abort a job.
   */
  age({ monotonic, wall }: Moment): Milliseconds {
    const slept = wall - monotonic - this.#ahead - this.#read(AHEAD) * UNIT;
    return monotonic - this.leasedAt + Math.max(slept, 0);
  }

  /** The store has renewed it when it was asked at this moment. */
  renew(askedAt: Moment): void {
    // An answer that comes late may be older than one the other side had, or than the job that has the record now.
    if (askedAt.monotonic >= this.leasedAt) this.#lease(askedAt);
  }

  /** When the run counts as timed out even if nobody is left to say so; Infinity: never, or not known yet. */
  get overdueAt(): Milliseconds {
    const at = this.#read(OVERDUE);
    return at === 0 || this.#read(STATE) !== RUNNING ? Infinity : this.#origin + at * UNIT;
  }

  /** From then until the attempt that follows. */
  get delay(): Seconds {
    return (this.#read(DELAY) * UNIT) / 1000;
  }

  get isCompleted(): boolean {
    return this.#read(STATE) === COMPLETED;
  }

  /** Known when the handler is about to start. */
  foresee(overdueAt: Milliseconds, delay: Seconds): void {
    // The moment comes last: it says that the delay is there.
    this.#write(DELAY, Math.round((delay * 1000) / UNIT));
    this.#write(OVERDUE, Math.ceil((overdueAt - this.#origin) / UNIT));
  }

  /** The run has an outcome, which is not stored yet. */
  end(completed: boolean): void {
    this.#write(STATE, completed ? COMPLETED : ENDED);
  }

  // Rounded down, so that the end we know is never later than the store's.
  #lease({ monotonic, wall }: Moment): void {
    this.#write(LEASED, Math.floor((monotonic - this.#origin) / UNIT));
    this.#write(AHEAD, Math.ceil((wall - monotonic - this.#ahead) / UNIT));
  }

  #read(index: number): number {
    return Atomics.load(this.#integers, index);
  }

  #write(index: number, value: number): void {
    Atomics.store(this.#integers, index, Math.min(value, LARGEST));
  }
}

/** JSON that gives the very same token; '': there is none. Undefined: it has to be cloned. */
function textOf(token: unknown): string | undefined {
  if (token === undefined) return '';
  if (typeof token !== 'object' || token === null || Object.getPrototypeOf(token) !== Object.prototype)
    return undefined;
  const isPlain = Object.values(token).every((value) => typeof value === 'string' || Number.isFinite(value));
  return isPlain ? JSON.stringify(token) : undefined;
}

const tokenOf = (text: string): unknown => (text === '' ? undefined : JSON.parse(text));

/** The records that a worker has, and those that are free. */
export class LeaseTable {
  /** Both clocks when it was made: all moments in it count from there. */
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
