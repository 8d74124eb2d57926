/** Waits for work in a memory store: it looks at the state itself, so that no wake-up can come too early to count. */
import type { Seconds, Timer } from '../../base/clock';
import type { Waiter } from '../contract';
import { ConnectionClosedError } from '../errors';
import type { MemoryStore } from './memory-store';

export class MemoryWaiter implements Waiter {
  readonly #connection: string;
  readonly #store: MemoryStore;
  readonly #queues: readonly string[];
  readonly #waits = new Set<() => void>();
  #closed = false;

  constructor(connection: string, store: MemoryStore, queues: readonly string[]) {
    this.#connection = connection;
    this.#store = store;
    this.#queues = queues;
  }

  async wait(seconds: Seconds, signal: AbortSignal): Promise<void> {
    if (this.#closed) throw new ConnectionClosedError(this.#connection, 'wait');
    if (signal.aborted || seconds <= 0) return;
    const { clock } = this.#store;
    const end = clock.monotonic() + seconds * 1000;
    await new Promise<void>((resolve) => {
      let timer: Timer | undefined;
      const finish = (): void => {
        timer?.cancel();
        unwatch();
        signal.removeEventListener('abort', finish);
        this.#waits.delete(finish);
        resolve();
      };
      const look = (): void => {
        timer?.cancel();
        timer = undefined;
        const left = Math.min(end - clock.monotonic(), this.#store.nextIn(this.#queues) * 1000);
        if (left <= 0) finish();
        else if (left < Infinity) timer = clock.after(left, look, true);
      };
      const unwatch = this.#store.watch(look);
      signal.addEventListener('abort', finish);
      this.#waits.add(finish);
      look();
    });
  }

  async close(): Promise<void> {
    this.#closed = true;
    for (const finish of this.#waits) finish();
  }
}
