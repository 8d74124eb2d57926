/** Waits for what long polls bring, on all queues of a worker at once. */
import type { Clock, Seconds } from '../../base/clock';
import type { Waiter } from '../contract';
import { ConnectionClosedError } from '../errors';
import type { Inbox } from './inbox';

/** A FIFO queue is not polled: somebody has to look at it. */
const LONGEST_FIFO_WAIT: Seconds = 2;

export class SqsWaiter implements Waiter {
  readonly #connection: string;
  readonly #clock: Clock;
  readonly #inboxes: readonly Inbox[];
  readonly #closing = new AbortController();

  constructor(connection: string, clock: Clock, inboxes: readonly Inbox[]) {
    this.#connection = connection;
    this.#clock = clock;
    this.#inboxes = inboxes;
    for (const inbox of inboxes) inbox.enter();
  }

  async wait(seconds: Seconds, signal: AbortSignal): Promise<void> {
    const closing = this.#closing.signal;
    if (closing.aborted) throw new ConnectionClosedError(this.#connection, 'wait');
    if (signal.aborted || seconds <= 0) return;
    const isFifo = this.#inboxes.some(({ queue }) => queue.isFifo);
    const milliseconds = Math.min(seconds, isFifo ? LONGEST_FIFO_WAIT : Infinity) * 1000;
    await new Promise<void>((resolve, reject) => {
      const finish = (error?: unknown): void => {
        timer.cancel();
        signal.removeEventListener('abort', end);
        closing.removeEventListener('abort', end);
        for (const inbox of this.#inboxes) inbox.leave(finish);
        if (error === undefined || closing.aborted) resolve();
        else reject(error as Error);
      };
      const end = (): void => finish();
      const timer = this.#clock.after(milliseconds, end, true);
      signal.addEventListener('abort', end);
      closing.addEventListener('abort', end);
      for (const inbox of this.#inboxes) inbox.join(finish);
    });
  }

  async close(): Promise<void> {
    if (this.#closing.signal.aborted) return;
    this.#closing.abort();
    for (const inbox of this.#inboxes) inbox.exit();
  }
}
