/** Waits for a hint that something was written for its queues. A hint that came since the last wait ends the next at once. */
import type { Clock, Seconds } from '../../../base/clock';
import type { Waiter } from '../../contract';

export interface HintWaiterOptions {
  readonly clock: Clock;
  /** Called when a wait begins; may throw. */
  readonly begins: () => void;
  /** Called when the waiter is closed. */
  readonly ended: () => void;
}

export class HintWaiter implements Waiter {
  readonly #queues: ReadonlySet<string>;
  readonly #options: HintWaiterOptions;
  readonly #waits = new Set<() => void>();
  #hinted = false;
  #closed = false;

  constructor(queues: readonly string[], options: HintWaiterOptions) {
    this.#queues = new Set(queues);
    this.#options = options;
  }

  /** Undefined: any queue may be meant. */
  hint(queue?: string): void {
    if (queue !== undefined && !this.#queues.has(queue)) return;
    if (this.#waits.size === 0) this.#hinted = true;
    for (const finish of this.#waits) finish();
  }

  async wait(seconds: Seconds, signal: AbortSignal): Promise<void> {
    this.#options.begins();
    if (signal.aborted || seconds <= 0 || this.#closed) return;
    if (this.#hinted) {
      this.#hinted = false;
      return;
    }
    await new Promise<void>((resolve) => {
      const finish = (): void => {
        timer.cancel();
        signal.removeEventListener('abort', finish);
        this.#waits.delete(finish);
        resolve();
      };
      const timer = this.#options.clock.after(seconds * 1000, finish, true);
      signal.addEventListener('abort', finish);
      this.#waits.add(finish);
    });
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    for (const finish of this.#waits) finish();
    this.#options.ended();
  }
}
