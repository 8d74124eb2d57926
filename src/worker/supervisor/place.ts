/** A place that the supervisor keeps occupied by one process, or by two while one relieves the other. */
import type { Milliseconds, Timer } from '../../base/clock';
import type { SupervisedProcess } from './supervised-process';

const FIRST_PAUSE: Milliseconds = 500;
const LONGEST_PAUSE: Milliseconds = 30_000;

/** A process that has worked for so long did not die of how it started. */
const GROWN_UP: Milliseconds = 60_000;

export class Place {
  /** From 1. */
  readonly number: number;
  current: SupervisedProcess | undefined;
  /** The one before, with jobs to finish. There is never a third: long jobs in large processes would fill the memory. */
  leaving: SupervisedProcess | undefined;
  /** Until the next one starts. */
  timer: Timer | undefined;
  starts = 0;
  /** Nobody is to follow. */
  isDone = false;
  #pause = FIRST_PAUSE;

  constructor(number: number) {
    this.number = number;
  }

  /**
   * Before a process is started in place of one that died: longer each time, while they die before they took a job. Once it had
   * taken some, they may have killed it, and those that wait are not to wait for that.
   */
  nextPause(lived: Milliseconds, hasWorked: boolean): Milliseconds {
    if (lived >= GROWN_UP || hasWorked) this.#pause = FIRST_PAUSE;
    if (hasWorked) return 0;
    const pause = this.#pause;
    this.#pause = Math.min(LONGEST_PAUSE, 2 * pause);
    return pause;
  }
}
