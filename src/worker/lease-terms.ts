/**
 * What a worker and the thread that keeps its leases both know and change of a job, in memory that they share: an event
 * loop that stands still neither sends a message nor hears one.
 */
import type { Milliseconds, Seconds } from '../clock/clock';

/** Where each number stands among those of a job. */
const LEASED = 0;
const OVERDUE = 1;
const DELAY = 2;
const STATE = 3;
const NUMBERS = 4;

const RUNNING = 0;
const ENDED = 1;
const COMPLETED = 2;

/** In milliseconds, what the numbers count: 32 bits of them last eight months. */
const UNIT = 10;
const LARGEST = 2 ** 31 - 1;

/** Memory for so many jobs. */
export function newTerms(jobs: number): Int32Array {
  return new Int32Array(new SharedArrayBuffer(jobs * NUMBERS * Int32Array.BYTES_PER_ELEMENT));
}

export class LeaseTerms {
  readonly #memory: Int32Array;
  readonly #at: number;
  readonly #reservedAt: Milliseconds;

  /** All moments are by the clock that `reservedAt` was read from, whichever thread it is of. */
  constructor(memory: Int32Array, index: number, reservedAt: Milliseconds) {
    this.#memory = memory;
    this.#at = index * NUMBERS;
    this.#reservedAt = reservedAt;
  }

  /** When the lease last began. */
  get leasedAt(): Milliseconds {
    return this.#reservedAt + this.#read(LEASED) * UNIT;
  }

  // Rounded down, so that the end we know is never later than the store's.
  set leasedAt(moment: Milliseconds) {
    this.#write(LEASED, Math.floor((moment - this.#reservedAt) / UNIT));
  }

  /** When the run counts as timed out, with nobody left to say so; Infinity: never, or not known yet. */
  get overdueAt(): Milliseconds {
    const until = this.#read(OVERDUE);
    return until === 0 || this.#read(STATE) !== RUNNING ? Infinity : this.#reservedAt + until * UNIT;
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
    this.#write(OVERDUE, Math.ceil((overdueAt - this.#reservedAt) / UNIT));
  }

  /** The run has an outcome, which is not stored yet. */
  end(completed: boolean): void {
    this.#write(STATE, completed ? COMPLETED : ENDED);
  }

  #read(number: number): number {
    return Atomics.load(this.#memory, this.#at + number);
  }

  #write(number: number, value: number): void {
    Atomics.store(this.#memory, this.#at + number, Math.min(value, LARGEST));
  }
}
