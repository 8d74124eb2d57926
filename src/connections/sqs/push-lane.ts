/** Sends what is dispatched in one turn of the event loop together: SQS takes ten jobs by one request, and has each paid. */
import { endOfTurn } from '../../base/clock';
import type { EntryResult } from './batches';
import type { MessageEntry } from './message';
import type { SqsQueue } from './sqs-queue';

interface Push {
  readonly entries: readonly MessageEntry[];
  readonly resolve: (results: readonly EntryResult[]) => void;
  readonly reject: (error: unknown) => void;
}

export class PushLane {
  readonly #queue: SqsQueue;
  #waiting: Push[] = [];
  #last: Promise<void> = Promise.resolve();
  #sending = 0;

  constructor(queue: SqsQueue) {
    this.#queue = queue;
  }

  /** One result for each entry, in order. @throws SqsQueueMissingError, InvalidQueueNameError */
  push(entries: readonly MessageEntry[]): Promise<readonly EntryResult[]> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ entries, resolve, reject });
      if (this.#waiting.length > 1) return;
      // What comes later to a FIFO queue must not overtake what is on its way.
      this.#sending += 1;
      const before = this.#queue.isFifo ? this.#last : undefined;
      this.#last = Promise.all([endOfTurn(), before]).then(() => this.#send());
    });
  }

  get isIdle(): boolean {
    return this.#sending === 0;
  }

  /** Resolves when what was pushed has its results. */
  get sent(): Promise<void> {
    return this.#last;
  }

  async #send(): Promise<void> {
    const pushes = this.#waiting.splice(0);
    try {
      const results = await this.#queue.send(pushes.flatMap(({ entries }) => entries));
      let start = 0;
      for (const { entries, resolve } of pushes) resolve(results.slice(start, (start += entries.length)));
    } catch (error) {
      for (const { reject } of pushes) reject(error);
    } finally {
      this.#sending -= 1;
    }
  }
}
