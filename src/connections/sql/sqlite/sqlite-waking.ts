/** Waits for work in a file by looking at its tables, so that no wake-up can come too early and be missed. */
import type { Clock, Milliseconds, Seconds, Timer } from '../../../base/clock';
import type { Wanted } from '../../contract';
import type { Listening, Wake } from '../../kit/connection';
import type { Waking } from '../dialect';
import type { SqlValue } from '../statement';
import type { FileWatch } from './file-watch';

export interface SqliteWakingOptions {
  readonly clock: Clock;
  readonly watch: FileWatch;
  /** Seconds until one of the queues has a job; 0: now. Infinity also if the file cannot be read at the moment. */
  readonly nextIn: (queues: readonly string[]) => Seconds;
  /** Changes when another connection has written. */
  readonly version: () => SqlValue | undefined;
}

export class SqliteWaking implements Waking {
  readonly #options: SqliteWakingOptions;

  constructor(options: SqliteWakingOptions) {
    this.#options = options;
  }

  listening({ queues }: Wanted): Listening {
    return { keepAlive: false, listen: (wake) => this.#listen([...new Set(queues)], wake) };
  }

  wrote(queue: string): void {
    this.#options.watch.wroteTo(queue);
  }

  #listen(queues: readonly string[], wake: Wake): () => void {
    const { clock, watch, nextIn, version } = this.#options;
    let seen: SqlValue | undefined;
    let timer: Timer | undefined;
    const look = (): void => {
      timer?.cancel();
      seen = version();
      const left: Milliseconds = nextIn(queues) * 1000;
      if (left <= 0) wake();
      else if (left !== Infinity) timer = clock.after(left, look);
    };
    const watcher = {
      wroteTo: (queue: string): void => {
        if (queues.includes(queue)) look();
      },
      look: (): void => {
        if (version() !== seen) look();
      },
    };
    watch.add(watcher);
    look();
    return () => {
      timer?.cancel();
      watch.remove(watcher);
    };
  }
}
