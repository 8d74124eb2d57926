/** How long to wait before a process is started in place of one that died: longer each time, while they die young. */
import type { Milliseconds } from '../clock/clock';

const FIRST: Milliseconds = 500;
const LONGEST: Milliseconds = 30_000;

/** A process that has worked for so long did not die of how it started. */
const GROWN_UP: Milliseconds = 60_000;

export class RestartPause {
  #next = FIRST;

  after(lived: Milliseconds): Milliseconds {
    if (lived >= GROWN_UP) this.#next = FIRST;
    const pause = this.#next;
    this.#next = Math.min(LONGEST, 2 * pause);
    return pause;
  }
}
