/** A place that the supervisor keeps filled with one process, or with two while one relieves the other. */
import { pauseAfter } from '../../base/backoff';
import type { Milliseconds, Timer } from '../../base/clock';
import type { Random } from '../../base/random';
import type { SupervisedProcess } from './supervised-process';

const BACKOFF = { first: 500, longest: 30_000 };

/** A process that has worked for this long did not die of a failed start. */
const GROWN_UP: Milliseconds = 60_000;

export class Place {
  /** From 1. */
  readonly number: number;
  current: SupervisedProcess | undefined;
  /**
   * The previous process, which finishes its jobs. There is never a third: large processes with long jobs would fill the
   * memory.
   */
  leaving: SupervisedProcess | undefined;
  /** Runs until the next process starts. */
  timer: Timer | undefined;
  starts = 0;
  /** No process follows. */
  isDone = false;
  /** Processes in a row that died before they took a job. */
  #deaths = 0;
  readonly #random: Random | undefined;

  constructor(number: number, random: Random | undefined) {
    this.number = number;
    this.#random = random;
  }

  /**
   * The pause before a dead process is replaced. It grows while processes die before they took a job. Once a process took
   * some, they may have killed it, and the waiting jobs must not wait for that.
   */
  nextPause(lived: Milliseconds, hasWorked: boolean): Milliseconds {
    if (lived >= GROWN_UP || hasWorked) this.#deaths = 0;
    if (hasWorked) return 0;
    this.#deaths += 1;
    return pauseAfter(this.#deaths - 1, BACKOFF, this.#random);
  }
}
