/** What the queues of a cluster tell a worker, each for itself, put together as if one store had told it. */
import type { ReserveReply } from '../contract';
import { Recent } from '../../base/recent';

interface Orders {
  readonly isPaused: boolean;
  readonly restart: string | undefined;
}

/** Beside those that are paused. */
const MOST_QUEUES = 1000;

export class SlotOrders {
  /** What each queue said last. */
  readonly #said = new Recent<string, Orders>(MOST_QUEUES, ({ isPaused }) => !isPaused);
  #restart: string | undefined;

  heed(queue: string, { paused, restart }: ReserveReply): void {
    const isFirst = this.#said.size === 0;
    // A queue differs from others that has come since workers were told; only where it differs from itself they were.
    const before = this.#said.get(queue);
    const changed = before !== undefined && restart !== undefined && restart !== before.restart;
    if (isFirst || changed) this.#restart = restart;
    this.#said.set(queue, { isPaused: paused !== undefined, restart });
  }

  /** Also of queues that were not asked this time. */
  of(queues: readonly string[]): Pick<ReserveReply, 'paused' | 'restart'> {
    const paused = queues.filter((queue) => this.#said.get(queue)?.isPaused === true);
    return { ...(paused.length > 0 && { paused }), ...(this.#restart !== undefined && { restart: this.#restart }) };
  }
}
