/**
 * Finds, from the thread, that the event loop of the worker stands still: a job is past its timeout and grace, and the
 * worker, which should have recorded that, does not even answer.
 */
import type { Clock, Milliseconds, Timer } from '../../../base/clock';

const LOOK_EVERY: Milliseconds = 500;
/** Looks without an answer. Counted, not timed: when the whole process was stopped, the worker gets its time after that. */
const SILENT_LOOKS = 4;

export interface OverdueWatchSettings<H extends { readonly overdueAt: Milliseconds }> {
  readonly clock: Clock;
  readonly held: () => Iterable<H>;
  /** Asks the worker for an answer. */
  readonly ask: () => void;
  /** Called with the overdue jobs of a worker that gave none; again after a while, for those that are still held then. */
  readonly blocked: (overdue: readonly H[]) => void;
}

export class OverdueWatch<H extends { readonly overdueAt: Milliseconds }> {
  readonly #settings: OverdueWatchSettings<H>;
  #timer: Timer | undefined;
  /** Looks since the worker was asked; undefined: it owes no answer. */
  #silence: number | undefined;

  constructor(settings: OverdueWatchSettings<H>) {
    this.#settings = settings;
  }

  /** There are jobs. */
  start(): void {
    this.#timer ??= this.#settings.clock.after(LOOK_EVERY, () => this.#look());
  }

  /** The worker has answered. */
  answered(): void {
    this.#silence = undefined;
  }

  close(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
  }

  #look(): void {
    this.#timer = undefined;
    const held = [...this.#settings.held()];
    if (held.length > 0) this.start();
    const now = this.#settings.clock.monotonic();
    const overdue = held.filter(({ overdueAt }) => overdueAt <= now);
    if (overdue.length === 0) this.#silence = undefined;
    else if (this.#silence === undefined) {
      this.#silence = 0;
      this.#settings.ask();
    } else {
      this.#silence += 1;
      if (this.#silence < SILENT_LOOKS) return;
      this.#silence = undefined;
      this.#settings.blocked(overdue);
    }
  }
}
