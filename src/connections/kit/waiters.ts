/** The waiters of one connection. They end with it; a waiter that is closed earlier is released. */
import type { Clock, Seconds } from '../../base/clock';
import type { Waiter } from '../contract';
import { ConnectionClosedError } from '../errors';

/** Ends a wait. With an error, the wait rejects. */
export type Wake = (error?: unknown) => void;

export interface Listening {
  readonly longest?: Seconds | undefined;
  /** Whether a wait keeps the process alive. Default: yes. */
  readonly keepAlive?: boolean | undefined;
  /** Called when a wait of `seconds` begins. May call `wake` at once. Returns a function to call when the wait is over. */
  readonly listen: (wake: Wake, seconds: Seconds) => () => void;
  /** Called once, when the waiter is closed. */
  readonly left?: (() => void | Promise<void>) | undefined;
}

export class Waiters {
  readonly #connection: string;
  readonly #clock: Clock;
  readonly #open = new Set<Waiter>();

  constructor(connection: string, clock: Clock) {
    this.#connection = connection;
    this.#clock = clock;
  }

  get size(): number {
    return this.#open.size;
  }

  open(listening: Listening): Waiter {
    const waits = new Set<() => void>();
    let closing: Promise<void> | undefined;
    const close = async (): Promise<void> => {
      this.#open.delete(waiter);
      for (const end of waits) end();
      await listening.left?.();
    };
    const waiter: Waiter = {
      wait: async (seconds, signal) => {
        if (closing !== undefined) throw new ConnectionClosedError(this.#connection, 'wait');
        if (!signal.aborted && seconds > 0) await this.#wait(listening, seconds, signal, waits);
      },
      close: () => (closing ??= close()),
    };
    this.#open.add(waiter);
    return waiter;
  }

  async close(): Promise<void> {
    await Promise.all([...this.#open].map((waiter) => waiter.close()));
  }

  #wait(
    { listen, longest = Infinity, keepAlive = true }: Listening,
    seconds: Seconds,
    signal: AbortSignal,
    waits: Set<() => void>,
  ): Promise<void> {
    const span = Math.min(seconds, longest);
    return new Promise((resolve, reject) => {
      let leave = (): void => undefined;
      let isOver = false;
      const wake: Wake = (error) => {
        if (isOver) return;
        isOver = true;
        timer.cancel();
        signal.removeEventListener('abort', end);
        waits.delete(end);
        leave();
        if (error === undefined) resolve();
        else reject(error as Error);
      };
      const end = (): void => wake();
      const timer = this.#clock.after(span * 1000, end, keepAlive);
      signal.addEventListener('abort', end);
      waits.add(end);
      leave = listen(wake, span);
      if (isOver) leave();
    });
  }
}
