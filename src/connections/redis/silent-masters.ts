/** The masters of a cluster that do not answer at present: whoever asks one of them goes on without it, to the others. */
import { Silence, within } from '../kit/silence';
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
    try {
      return await within(clock, deadline * 1000 * PATIENCE, asked, false);
    } catch (error) {
      if (!(error instanceof Silence)) throw error;
      this.#silent.add(place);
      asked.then(isOver, isOver);
      return undefined;
    }
  }
}
