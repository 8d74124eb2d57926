/** The cluster masters that do not answer at present: calls to several masters go on without them. */
import { Silence, within } from '../kit/caller';
import type { RedisCaller } from './caller';

/** Part of the deadline that the first unanswered call, and everybody behind it, waits. */
const PATIENCE = 1 / 2;

export class SilentMasters {
  readonly #caller: RedisCaller;
  readonly #silent = new Set<string>();

  constructor(caller: RedisCaller) {
    this.#caller = caller;
  }

  has(key: string): boolean {
    return this.#silent.size > 0 && this.#silent.has(this.#caller.placeOf(key));
  }

  /**
   * The result of `asked`, or undefined if it does not come in time; at once if the master is known to be silent. `asked`
   * goes on.
   */
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
