/** The masters of a cluster that do not answer at present: whoever asks one of them goes on without it, to the others. */
import { endOfTurn } from '../../base/clock';
import type { RedisCaller } from './caller';

/** Part of the deadline for which the first that is not answered waits, and the others with it. */
const PATIENCE = 1 / 2;

export class SilentMasters {
  readonly #caller: RedisCaller;
  readonly #silent = new Set<string>();

  constructor(caller: RedisCaller) {
    this.#caller = caller;
  }

  /** Whether the master that has this key is one of them. */
  has(key: string): boolean {
    return this.#silent.size > 0 && this.#silent.has(this.#caller.placeOf(key));
  }

  /** Undefined: it does not come in time; of a master that is known to be silent, at once. `asked` goes on. */
  async inTime<T>(key: string, asked: Promise<T>): Promise<T | undefined> {
    const place = this.#caller.placeOf(key);
    const isOver = (): unknown => this.#silent.delete(place);
    if (this.#silent.has(place)) {
      asked.then(isOver, isOver);
      return undefined;
    }
    const { clock, deadline } = this.#caller.settings;
    return new Promise((resolve, reject) => {
      let isSettled = false;
      const giveUp = (): void => {
        if (isSettled) return;
        this.#silent.add(place);
        asked.then(isOver, isOver);
        resolve(undefined);
      };
      // What came while a job blocked the event loop is read before the silence is believed.
      const timer = clock.after(deadline * 1000 * PATIENCE, () => void endOfTurn().then(giveUp));
      const done = (): void => {
        isSettled = true;
        timer.cancel();
      };
      asked.then(done, done);
      asked.then(resolve, reject);
    });
  }
}
