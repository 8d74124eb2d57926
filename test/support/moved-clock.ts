/**
 * The clock of the machine, which a test can also move on. For connections to real servers: what answers in real time has all
 * the time it needs, and a deadline passes when the test says so.
 */
import { type Clock, type Milliseconds, systemClock, type Timer } from '../../src/base/clock';

interface Armed {
  readonly due: Milliseconds;
  readonly ring: () => void;
}

export class MovedClock implements Clock {
  #offset: Milliseconds = 0;
  readonly #armed = new Set<Armed>();

  readonly now = (): Milliseconds => systemClock.now() + this.#offset;

  readonly monotonic = (): Milliseconds => systemClock.monotonic() + this.#offset;

  readonly after = (milliseconds: Milliseconds, callback: () => void, keepAlive?: boolean): Timer => {
    const cancel = (): void => {
      timer.cancel();
      this.#armed.delete(armed);
    };
    const ring = (): void => {
      cancel();
      callback();
    };
    const timer = systemClock.after(milliseconds, ring, keepAlive);
    const armed: Armed = { due: this.monotonic() + milliseconds, ring };
    this.#armed.add(armed);
    return { cancel };
  };

  /** Calls back each timer that becomes due, in the order of their moments. */
  advance(seconds: number): void {
    this.#offset += seconds * 1000;
    const due = [...this.#armed].filter((armed) => armed.due <= this.monotonic());
    for (const armed of due.toSorted((a, b) => a.due - b.due)) if (this.#armed.has(armed)) armed.ring();
  }

  /**
   * Lets time fly until the call has ended. For one that waits in vain: what must still happen in time has no time for it, so
   * wait for that first.
   */
  async passing<Result>(call: Promise<Result>): Promise<Result> {
    let isOver = false;
    const over = (): void => void (isOver = true);
    call.then(over, over);
    while (!isOver) {
      this.advance(1);
      await new Promise((resolve) => {
        setTimeout(resolve, 1);
      });
    }
    return call;
  }
}
