/**
 * What a worker and the thread that keeps its leases both know and change of a job, in memory that they share: an event
 * loop that stands still neither sends a message nor hears one.
 */
import type { Milliseconds, Seconds } from '../clock/clock';

/** Where each number stands among those of a job. */
const NUMBER = 0;
const LEASED = 1;
const OVERDUE = 2;
const DELAY = 3;
const STATE = 4;
/** How many numbers there are. */
export const TERMS = 5;

const NOBODY = 0;

const RUNNING = 0;
const ENDED = 1;
const COMPLETED = 2;

/** In milliseconds, what the numbers count: 31 bits of them last three years. */
const UNIT = 50;
const LARGEST = 2 ** 31 - 1;

export class LeaseTerms {
  readonly #memory: Int32Array;
  readonly #at: number;
  readonly #origin: Milliseconds;

  /**
   * All moments are by the clock that `origin` was read from, whichever thread it is of. They count from there, and not
   * from the beginning of a job: the thread may write down a renewal when the place is another job's already, and that
   * began later than the renewal.
   *
   * @param at where the numbers begin in the memory
   */
  constructor(memory: Int32Array, at: number, origin: Milliseconds) {
    this.#memory = memory;
    this.#at = at;
    this.#origin = origin;
  }

  /** Of the job that has this place, from 1; 0: nobody has. */
  get number(): number {
    return this.#read(NUMBER);
  }

  /** Whether the job of this number has the place, and what was read before this call was its own. */
  isOf(number: number): boolean {
    // It writes, though nothing new: what was read before must not be read after it.
    return Atomics.compareExchange(this.#memory, this.#at + NUMBER, number, number) === number;
  }

  /** A place that nobody has. What else there is of the job is written before it is shown. */
  begin(leasedAt: Milliseconds): void {
    this.#write(OVERDUE, 0);
    this.#write(STATE, RUNNING);
    this.leasedAt = leasedAt;
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
    return Atomics.load(this.#memory, this.#at + number);
  }

  #write(number: number, value: number): void {
    Atomics.store(this.#memory, this.#at + number, Math.min(value, LARGEST));
  }
}
