/** Counts the jobs that a worker has settled, and measures from the first one's start to the last one's confirmation. */
export class Tally {
  #left;
  #startedAt;
  #resolve;
  #reject;

  /** Milliseconds. */
  elapsed = new Promise((resolve, reject) => {
    this.#resolve = resolve;
    this.#reject = reject;
  });

  constructor(count) {
    this.#left = count;
  }

  start() {
    this.#startedAt ??= performance.now();
  }

  settle() {
    this.#left -= 1;
    if (this.#left === 0) this.#resolve(performance.now() - this.#startedAt);
  }

  fail(error) {
    this.#reject(error);
  }
}
