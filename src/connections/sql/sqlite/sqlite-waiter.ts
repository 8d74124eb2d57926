/** Waits for work in a file: it looks at the tables itself, so that no wake-up can come too early to count. */
import type { Clock, Milliseconds, Seconds, Timer } from '../../../base/clock';
import type { Waiter } from '../../contract';
import { OpenWaiters } from '../../kit/open-waiters';
import type { Waiters } from '../dialect';
import { ConnectionClosedError } from '../../errors';
import type { FileWatch } from './file-watch';

export interface WaiterOptions {
  /** The connection's name in the configuration. */
  readonly connection: string;
  readonly clock: Clock;
  readonly watch: FileWatch;
  /** Seconds until something can be had on one of the queues; 0: now. Infinity also where the file cannot be read now. */
  readonly nextIn: (queues: readonly string[]) => Seconds;
  /** Changes when another connection has written. */
  readonly version: () => number | undefined;
}

export class SqliteWaiters implements Waiters {
  readonly #options: WaiterOptions;
  readonly #open = new OpenWaiters();

  constructor(options: WaiterOptions) {
    this.#options = options;
  }

  open(queues: readonly string[]): Waiter {
    return this.#open.add(new SqliteWaiter(queues, this.#options));
  }

  wrote(queue: string): void {
    this.#options.watch.wroteTo(queue);
  }

  busy(): void {}

  close(): Promise<void> {
    return this.#open.close();
  }
}

export class SqliteWaiter implements Waiter {
  readonly #options: WaiterOptions;
  readonly #queues: ReadonlySet<string>;
  readonly #waits = new Set<() => void>();
  #closed = false;

  constructor(queues: readonly string[], options: WaiterOptions) {
    this.#options = options;
    this.#queues = new Set(queues);
  }

  async wait(seconds: Seconds, signal: AbortSignal): Promise<void> {
    const { connection, clock, watch, nextIn, version } = this.#options;
    if (this.#closed) throw new ConnectionClosedError(connection, 'wait');
    if (signal.aborted || seconds <= 0) return;
    const queues = [...this.#queues];
    const end = clock.monotonic() + seconds * 1000;
    await new Promise<void>((resolve) => {
      let seen: number | undefined;
      let timer: Timer | undefined;
      const finish = (): void => {
        timer?.cancel();
        watch.remove(watcher);
        signal.removeEventListener('abort', finish);
        this.#waits.delete(finish);
        resolve();
      };
      const look = (): void => {
        timer?.cancel();
        seen = version();
        const left: Milliseconds = Math.min(end - clock.monotonic(), nextIn(queues) * 1000);
        if (left <= 0) finish();
        else timer = clock.after(left, look);
      };
      const watcher = {
        wroteTo: (queue: string): void => {
          if (this.#queues.has(queue)) look();
        },
        look: (): void => {
          if (version() !== seen) look();
        },
      };
      signal.addEventListener('abort', finish);
      this.#waits.add(finish);
      watch.add(watcher);
      look();
    });
  }

  async close(): Promise<void> {
    this.#closed = true;
    for (const finish of this.#waits) finish();
  }
}
