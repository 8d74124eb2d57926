/** The most that one request may cost the stores and this process. */

/** Whichever is reached first. */
const MOST_JOBS = 1000;
const MOST_CHARACTERS = 4 * 1024 * 1024;
/** How many jobs are requested while their size is unknown: if they are large, even these are a lot. */
const FIRST = 20;

export class Budget {
  readonly #mostAtOnce: number;
  #jobs = 0;
  #characters = 0;

  /** @param mostAtOnce the most jobs that one call lists */
  constructor(mostAtOnce: number) {
    this.#mostAtOnce = mostAtOnce;
  }

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
    if (this.#jobs >= MOST_JOBS || left <= 0) return 0;
    const fitting = this.#characters === 0 ? FIRST : Math.ceil((left * this.#jobs) / this.#characters);
    return Math.min(fitting, this.#mostAtOnce, MOST_JOBS - this.#jobs);
  }
}
