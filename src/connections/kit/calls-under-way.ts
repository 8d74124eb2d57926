/** Counts unanswered calls: a connection that closes waits for them. */
import { type Clock, endOfTurn, type Milliseconds } from '../../base/clock';
import { within } from './silence';

export class CallsUnderWay {
  #count = 0;
  #idle: (() => void) | undefined;

  begin(): void {
    this.#count += 1;
  }

  end(): void {
    this.#count -= 1;
    if (this.#count === 0) this.#idle?.();
  }

  track<T>(call: Promise<T>): Promise<T> {
    this.begin();
    const end = (): void => this.end();
    call.then(end, end);
    return call;
  }

  /** Resolves when nothing is under way any more, at the latest after `milliseconds`. */
  async idle(clock: Clock, milliseconds: Milliseconds): Promise<void> {
    const end = clock.monotonic() + milliseconds;
    while (this.#count > 0 && clock.monotonic() < end) {
      const idle = new Promise<void>((resolve) => (this.#idle = resolve));
      await within(clock, end - clock.monotonic(), idle).catch(() => undefined);
      // Calls that waited for the last answer are sent now.
      await endOfTurn();
    }
  }
}
