/** The most that one request may cost the stores and this process. */
import type { Clock, Milliseconds } from '../../base/clock';

/** Whichever is reached first. */
const MOST_JOBS = 1000;
const MOST_CHARACTERS = 4 * 1024 * 1024;
const LONGEST: Milliseconds = 1000;

/** The most that a store lists at once, and how many are requested while the size of these jobs is unknown. */
const MOST_AT_ONCE = 100;
const FIRST = 20;

export class Budget {
  readonly #clock: Clock;
  readonly #began: Milliseconds;
  #jobs = 0;
  #characters = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#began = clock.monotonic();
  }

  /** Jobs so far. */
  get jobs(): number {
    return this.#jobs;
  }

  spend(characters: number): void {
    this.#jobs += 1;
    this.#characters += characters;
  }

  /** How many jobs to request next, by the size of those before. 0 if the budget is spent. */
  get next(): number {
    const left = MOST_CHARACTERS - this.#characters;
    if (this.#jobs >= MOST_JOBS || left <= 0 || this.#clock.monotonic() - this.#began > LONGEST) return 0;
    const fitting = this.#characters === 0 ? FIRST : Math.ceil((left * this.#jobs) / this.#characters);
    return Math.min(fitting, MOST_AT_ONCE, MOST_JOBS - this.#jobs);
  }
}
