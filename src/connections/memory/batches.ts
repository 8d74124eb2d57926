/** The batches of a memory store. */
import type { Clock } from '../../base/clock';
import { type BatchTie, readTies } from '../../payload/ties';
import { BATCH_KEPT, type BatchEnd, type BatchStore, type NewBatch } from '../batch-store';
import type { Entry, FollowUp, Settlement } from '../contract';
import {
  type BatchChange,
  type BatchStep,
  cancelledBatch,
  changeBy,
  changedBatch,
  endOf,
  heldBatch,
  type KeptBatch,
  newlyKept,
  retriedBatch,
  sumOf,
  sealedBatch,
  stateOf,
  weightIn,
} from '../kit/batch-counts';
import { bytesOf, type Text } from './texts';

export class Batches {
  readonly #clock: Clock;
  readonly #follow: (followUp: FollowUp) => void;
  /** In the order in which they began. */
  readonly #batches = new Map<string, KeptBatch>();

  /** @param follow queues the jobs that a batch sends */
  constructor(clock: Clock, follow: (followUp: FollowUp) => void) {
    this.#clock = clock;
    this.#follow = follow;
  }

  /** Returns why the batch takes no more jobs. Undefined if it does. @param begins if given, the batch exists from now on */
  begin(id: string, begins: NewBatch | undefined): BatchEnd | undefined {
    if (begins === undefined) return endOf(this.#batches.get(id));
    this.#forgetFinished(BATCH_KEPT);
    this.#batches.set(id, newlyKept(begins, this.#clock.now()));
    return undefined;
  }

  /** These entries were queued. */
  join(id: string, entries: readonly Pick<Entry, 'ties'>[]): void {
    this.#hold(id);
    const ties = entries.map(({ ties }) => ties?.batch);
    this.#change(id, { pending: weightIn(id, ties) });
  }

  /** These entries come after their batch was cancelled, but while it is still open. False if that is not so. */
  skip(entries: readonly Pick<Entry, 'ties'>[]): boolean {
    const id = entries[0]?.ties?.batch?.id;
    const { cancelledAt, openUntil } = (id !== undefined && this.#batches.get(id)) || {};
    if (cancelledAt === undefined || openUntil === undefined) return false;
    const ties = entries.map(({ ties }) => ties?.batch);
    this.#change(id!, { skipped: weightIn(id!, ties) });
    return true;
  }

  /** A job of a batch has ended. */
  leave(text: Text, settlement: Settlement): void {
    const tie = this.#tieOf(text);
    if (tie === undefined) return;
    this.#change(tie.id, changeBy(tie, settlement));
  }

  /** Jobs were removed in one step, without a worker ending them. */
  leaveAll(texts: readonly Text[]): void {
    const changes = new Map<string, BatchChange>();
    for (const text of texts) {
      const tie = this.#tieOf(text);
      if (tie !== undefined) changes.set(tie.id, sumOf(changes.get(tie.id), changeBy(tie)));
    }
    for (const [id, change] of changes) this.#change(id, change);
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

  /**
   * The batch store of a connection. @param changed notifies those who wait for work
   */
  store(changed: () => void): BatchStore {
    return {
      find: async (id) => {
        const batch = this.#batches.get(id);
        return batch && stateOf(batch);
      },
      callbacks: async (id) => {
        const batch = this.#batches.get(id);
        return batch && { callbacks: batch.callbacks, every: batch.every, sent: batch.sent };
      },
      list: async ({ limit, offset = 0 }) => {
        return [...this.#batches.values()]
          .toReversed()
          .slice(offset, offset + limit)
          .map(stateOf);
      },
      hold: async (id) => this.#hold(id),
      seal: async (id, _queue, abandoned) => {
        const batch = this.#batches.get(id);
        const step = batch && sealedBatch(batch, abandoned, this.#clock.now());
        if (step === undefined) return false;
        this.#keep(step);
        changed();
        return true;
      },
      cancel: async (id) => {
        const batch = this.#batches.get(id);
        if (batch === undefined || endOf(batch) !== undefined) return false;
        this.#batches.set(id, cancelledBatch(batch, this.#clock.now()));
        return true;
      },
      prune: async ({ olderThan, unfinished = false }) => this.#forgetFinished(olderThan, unfinished),
    };
  }

  #hold(id: string): boolean {
    const batch = this.#batches.get(id);
    const held = batch && heldBatch(batch, this.#clock.now());
    if (held !== undefined) this.#batches.set(id, held);
    return held !== undefined;
  }

  #change(id: string, change: BatchChange): void {
    const batch = this.#batches.get(id);
    // Whoever pruned it did not want to hear of it.
    if (batch === undefined) return;
    this.#keep(changedBatch(batch, change, this.#clock.now()));
  }

  #keep({ batch, followUps }: BatchStep): void {
    this.#batches.set(batch.id, batch);
    for (const followUp of followUps) this.#follow(followUp);
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
