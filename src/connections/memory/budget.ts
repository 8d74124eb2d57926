/** How much one call may move: the bound that keeps a store responsive, also with a million jobs due at once. */
import { MOST_BYTES, MOST_JOBS } from '../../base/pages';
import type { Text } from './text';

export class Budget {
  #jobs = MOST_JOBS;
  #bytes = MOST_BYTES;

  /** Whether `text` may be moved as well. Always the first, however long: else it would stay for ever. */
  charge(text: Text): boolean {
    if (this.#jobs === 0 || (this.#jobs < MOST_JOBS && text.length > this.#bytes)) return false;
    this.#jobs -= 1;
    this.#bytes -= text.length;
    return true;
  }
}
