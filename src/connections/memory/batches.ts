/** The batches of a memory store. */
import type { Clock } from '../../base/clock';
import { type BatchTie, readTies } from '../../payload/ties';
import { BATCH_KEPT, type BatchEnd, type BatchState, type BatchStore, type NewBatch } from '../batch-store';
import type { Entry, FollowUp, Settlement } from '../contract';
import {
  type BatchChange,
  cancelledBatch,
  changedBatch,
  endOf,
  type KeptBatch,
  newlyKept,
  retriedBatch,
} from '../kit/batch-counts';
import { bytesOf, type Text } from './texts';

export class Batches {
  readonly #clock: Clock;
  readonly #follow: (followUp: FollowUp) => void;
  /** In the order in which they began. */
  readonly #batches = new Map<string, KeptBatch>();

  /** @param follow queues what a batch sends */
  constructor(clock: Clock, follow: (followUp: FollowUp) => void) {
    this.#clock = clock;
    this.#follow = follow;
  }

  /** Why it takes no more jobs. Undefined: it does. @param begins it is there from now on */
  begin(id: string, begins: NewBatch | undefined): BatchEnd | undefined {
    if (begins === undefined) return endOf(this.#batches.get(id));
    this.#forgetFinished(BATCH_KEPT);
    this.#batches.set(id, newlyKept(begins, this.#clock.now()));
    return undefined;
  }

  /** These are in their queue. */
  join(id: string, entries: readonly Pick<Entry, 'ties'>[]): void {
    this.#hold(id);
    this.#change(id, { pending: weightOf(id, entries) });
  }

  /** A job of a batch has ended, and these follow it. */
  leave(text: Text, settlement?: Settlement): void {
    const tie = this.#tieOf(text);
    if (tie === undefined) return;
    const { id, weight } = tie;
    const next = settlement !== undefined && 'next' in settlement ? (settlement.next ?? []) : [];
    const pending =
      weightOf(
        id,
        next.map(({ entry }) => entry),
      ) - weight;
    if (settlement?.outcome === 'completed') this.#change(id, { pending, completed: 1 });
    else if (settlement?.outcome === 'failed') {
      this.#change(id, { pending, failed: 1, skipped: weight - 1, cause: settlement.cause });
    } else this.#change(id, { pending: -weight, skipped: weight });
  }

  /** A failed job goes back to its queue. */
  retry(text: Text): void {
    const tie = this.#tieOf(text);
    const batch = tie && this.#batches.get(tie.id);
    if (batch !== undefined) this.#batches.set(batch.id, retriedBatch(batch, tie!.weight));
  }

  isCancelled(text: Text): boolean {
    const tie = this.#tieOf(text);
    return tie !== undefined && this.#batches.get(tie.id)?.cancelledAt !== undefined;
  }

  snapshot(): ReadonlyMap<string, KeptBatch> {
    return new Map(this.#batches);
  }

  /** As a connection has them. @param checkOpen rejects a call after its end. @param changed tells those who wait for work */
  store(checkOpen: (operation: string) => void, changed: () => void): BatchStore {
    return {
      find: async (id) => {
        checkOpen('batches.find');
        const batch = this.#batches.get(id);
        return batch && stateOf(batch);
      },
      list: async ({ limit, offset = 0 }) => {
        checkOpen('batches.list');
        return [...this.#batches.values()]
          .toReversed()
          .slice(offset, offset + limit)
          .map(stateOf);
      },
      hold: async (id) => {
        checkOpen('batches.hold');
        return this.#hold(id);
      },
      seal: async (id, _queue, abandoned) => {
        checkOpen('batches.seal');
        const batch = this.#batches.get(id);
        const now = this.#clock.now();
        if (batch?.openUntil === undefined || (abandoned !== undefined && batch.openUntil > now)) return false;
        const sealed = { ...batch, openUntil: undefined };
        this.#batches.set(id, abandoned === undefined ? sealed : cancelledBatch(sealed, now));
        this.#change(id, { abandoned });
        changed();
        return true;
      },
      cancel: async (id) => {
        checkOpen('batches.cancel');
        const batch = this.#batches.get(id);
        if (batch === undefined || endOf(batch) !== undefined) return false;
        this.#batches.set(id, cancelledBatch(batch, this.#clock.now()));
        return true;
      },
      prune: async ({ olderThan, unfinished = false }) => {
        checkOpen('batches.prune');
        return this.#forgetFinished(olderThan, unfinished);
      },
    };
  }

  #hold(id: string): boolean {
    const batch = this.#batches.get(id);
    if (batch?.openUntil === undefined) return false;
    this.#batches.set(id, { ...batch, openUntil: this.#clock.now() + (batch.openFor ?? 0) * 1000 });
    return true;
  }

  #change(id: string, change: BatchChange): void {
    const batch = this.#batches.get(id);
    // Whoever pruned it did not want to hear of it.
    if (batch === undefined) return;
    const step = changedBatch(batch, change, this.#clock.now());
    this.#batches.set(id, step.batch);
    for (const followUp of step.followUps) this.#follow(followUp);
  }

  #forgetFinished(olderThan: number, unfinished = false): number {
    const oldest = this.#clock.now() - olderThan * 1000;
    let forgotten = 0;
    for (const [id, { finishedAt, createdAt }] of this.#batches) {
      if ((finishedAt ?? (unfinished ? createdAt : Infinity)) >= oldest) continue;
      this.#batches.delete(id);
      forgotten += 1;
    }
    return forgotten;
  }

  #tieOf(text: Text): BatchTie | undefined {
    return this.#batches.size === 0 ? undefined : readTies(bytesOf(text))?.batch;
  }
}

/** Of those that belong to the batch. */
function weightOf(id: string, entries: readonly Pick<Entry, 'ties'>[]): number {
  return entries.reduce((sum, { ties }) => (ties?.batch?.id === id ? sum + ties.batch.weight : sum), 0);
}

function stateOf(batch: KeptBatch): BatchState {
  const { callbacks: _, every: __, openFor: ___, sent: ____, ...state } = batch;
  return state;
}
