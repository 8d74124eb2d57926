/** How long to wait before a process is started in place of one that died: longer each time, while they die before they took a job. */
import type { Milliseconds } from '../../base/clock';

const FIRST: Milliseconds = 500;
const LONGEST: Milliseconds = 30_000;

/** A process that has worked for so long did not die of how it started. */
const GROWN_UP: Milliseconds = 60_000;

export class RestartPause {
  #next = FIRST;

  /** @param hasWorked it had taken jobs: they may have killed it, and those that wait are not to wait for that */
  after(lived: Milliseconds, hasWorked: boolean): Milliseconds {
    if (lived >= GROWN_UP || hasWorked) this.#next = FIRST;
    if (hasWorked) return 0;
    const pause = this.#next;
    this.#next = Math.min(LONGEST, 2 * pause);
    return pause;
  }
}
