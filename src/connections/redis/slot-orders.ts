/** What the queues of a cluster tell a worker, each for itself, put together as if one store had told it. */
import type { ReserveReply } from '../../queue/connection';

export class SlotOrders {
  readonly #paused = new Set<string>();
  /** What each queue said last. */
  readonly #restarts = new Map<string, string | undefined>();
  #restart: string | undefined;

  heed(queue: string, { paused, restart }: ReserveReply): void {
    if (paused === undefined) this.#paused.delete(queue);
    else this.#paused.add(queue);
    const isFirst = this.#restarts.size === 0;
    // A queue differs from others that has come since workers were told; only where it differs from itself they were.
    const changed = this.#restarts.has(queue) && restart !== undefined && restart !== this.#restarts.get(queue);
    if (isFirst || changed) this.#restart = restart;
    this.#restarts.set(queue, restart);
  }

  /** Also of queues that were not asked this time. */
  of(queues: readonly string[]): Pick<ReserveReply, 'paused' | 'restart'> {
    const paused = queues.filter((queue) => this.#paused.has(queue));
    return { ...(paused.length > 0 && { paused }), ...(this.#restart !== undefined && { restart: this.#restart }) };
  }
}
