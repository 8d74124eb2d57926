/** Counts the jobs that a worker has settled, and measures from the first one's start to the last one's confirmation. */
export class Tally {
  #count;
  #startedAt;
  #resolve;
  #reject;

  /** How many, of which there may be more than were waited for: a worker that is stopped ends what it has begun. */
  settled = 0;

  /** Milliseconds. */
  elapsed = new Promise((resolve, reject) => {
    this.#resolve = resolve;
    this.#reject = reject;
  });

  constructor(count) {
    this.#count = count;
  }

  start() {
    this.#startedAt ??= performance.now();
  }

  settle() {
    this.settled += 1;
    if (this.settled === this.#count) this.#resolve(performance.now() - this.#startedAt);
  }

  fail(error) {
    this.#reject(error);
  }
}
