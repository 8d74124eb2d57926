/** Wakes the loop at the end of a turn of the event loop in which something happened. */
import { atEndOfTurn } from '../base/clock';

export class Bell {
  #isRung = false;
  #hear: (() => void) | undefined;

  /** Something happened that the loop has to look at. A ring between two calls of `rung` is not missed. */
  readonly ring = (): void => {
    this.#isRung = true;
    this.#hear?.();
  };

  /**
   * Resolves at the end of a turn of the event loop in which it was rung. Everything else that ends in that turn travels in
   * the same call to the store, and errors that a handler left behind are known by then.
   */
  rung(): Promise<void> {
    return new Promise((resolve) => {
      const end = (): void => {
        this.#isRung = false;
        resolve();
      };
      this.#hear = () => {
        this.#hear = undefined;
        atEndOfTurn(end);
      };
      if (this.#isRung) this.#hear();
    });
  }
}
