/**
 * Notices that the workers' event loop stands still: a job is past its timeout and grace, and the worker, which should have
 * recorded that, does not even answer.
 */
import type { Clock, Milliseconds } from '../../../base/clock';

const LOOK_EVERY: Milliseconds = 500;
/**
 * Looks without an answer. Counted rather than timed, so that the worker gets its time again after the whole process was
 * suspended.
 */
const SILENT_LOOKS = 4;

export interface OverdueWatchSettings {
  readonly clock: Clock;
  /** Whether a job is overdue. Undefined if there are no jobs at all. */
  readonly overdue: () => boolean | undefined;
  /** Asks the event loop to answer. */
  readonly ask: () => void;
  /** Called when it did not answer; again after a while, as long as a job is overdue. */
  readonly blocked: () => void;
}

export class OverdueWatch {
  /** The event loop has not answered since it was last asked. */
  isSilent = false;
  readonly #settings: OverdueWatchSettings;
  #isScheduled = false;
  /** Looks since the event loop was asked. Undefined if it owes no answer. */
  #silence: number | undefined;

  constructor(settings: OverdueWatchSettings) {
    this.#settings = settings;
  }

  /** To be called when there are jobs. */
  start(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    this.#settings.clock.after(LOOK_EVERY, () => this.#look());
  }

  /** The event loop has answered. */
  answered(): void {
    this.isSilent = false;
    this.#silence = undefined;
  }

  #look(): void {
    const { overdue, ask, blocked } = this.#settings;
    this.#isScheduled = false;
    const isOverdue = overdue();
    if (isOverdue !== undefined) this.start();
    if (isOverdue !== true) this.#silence = undefined;
    else if (this.#silence === undefined) {
      this.#silence = 0;
      this.isSilent = true;
      ask();
    } else if ((this.#silence += 1) >= SILENT_LOOKS) {
      this.#silence = undefined;
      blocked();
    }
  }
}
