/** A place that the supervisor keeps occupied by one process, or by two while one relieves the other. */
import { pauseAfter } from '../../base/backoff';
import type { Milliseconds, Timer } from '../../base/clock';
import type { Random } from '../../base/random';
import type { SupervisedProcess } from './supervised-process';

const BACKOFF = { first: 500, longest: 30_000 };

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
  /** Processes in a row that died before they took a job. */
  #deaths = 0;
  readonly #random: Random | undefined;

  constructor(number: number, random: Random | undefined) {
    this.number = number;
    this.#random = random;
  }

  /**
   * Before a process is started in place of one that died: longer each time, while they die before they took a job. Once it had
   * taken some, they may have killed it, and those that wait are not to wait for that.
   */
  nextPause(lived: Milliseconds, hasWorked: boolean): Milliseconds {
    if (lived >= GROWN_UP || hasWorked) this.#deaths = 0;
    if (hasWorked) return 0;
    this.#deaths += 1;
    return pauseAfter(this.#deaths - 1, BACKOFF, this.#random);
  }
}
