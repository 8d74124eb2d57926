/** What jobs of a memory store are tied to: the keys that they hold, and their batches. */
import type { Milliseconds, Seconds, Clock } from '../../base/clock';
import { isTakenBack, readTies, type TiedJob, type BatchTie } from '../../payload/ties';
import { bytesOf, type Text } from './texts';
import { BATCH_KEPT, type BatchEnd, type BatchStore, type NewBatch } from '../batch-store';
import type { FollowUp, Settlement } from '../contract';
import {
  cancelled,
  changeBy,
  changed,
  endOf,
  held,
  newlyKept,
  sealed,
  stateOf,
  sumOf,
  type BatchChange,
  type BatchStep,
  type KeptBatch,
  type Rule,
} from '../kit/batch-counts';

export interface Holder {
  readonly id: string;
  /** From then on another job may take it. For a debounced job: it can be put off until then. */
  readonly until: Milliseconds;
  /** How a debounced job waits. */
  readonly waits?: { readonly text: Text; readonly due: Seconds };
}

/** The holders of unique and debounce keys, by key. */
export class UniqueKeys extends Map<string, Holder> {
  /** Takes the key. Undefined if this job holds it now, or has none. Otherwise the id of the holder. */
  take(tied: TiedJob, now: Milliseconds): string | undefined {
    const holder = tied.unique && this.#holderOf(tied.unique.key, now);
    if (holder === undefined) this.#hold(tied, now);
    return holder;
  }

  /** The job was not started after all. */
  retake(text: Text, now: Milliseconds): void {
    const tied = readTies(bytesOf(text));
    if (tied?.unique?.until === 'start' && this.#holderOf(tied.unique.key, now) === undefined) this.#hold(tied, now);
  }

  /** A job that was given back is handed out: it may have given up a key that it is to hold until its end. */
  takeBack(text: Text, now: Milliseconds): void {
    const tied = readTies(bytesOf(text));
    if (tied !== undefined && isTakenBack(tied.unique)) this.take(tied, now);
  }

  /** The job is handed to a worker. */
  start(text: Text): void {
    this.#leave(text, 'start');
  }

  /** The job has ended. */
  leave(text: Text): void {
    this.#leave(text, undefined);
  }

  #leave(text: Text, until: 'start' | undefined): void {
    if (this.size === 0) return;
    const { id, unique, debounce } = readTies(bytesOf(text)) ?? {};
    if (until !== undefined && unique?.until === 'end') return;
    const key = unique?.key ?? debounce?.key;
    if (key !== undefined && this.get(key)?.id === id) this.delete(key);
  }

  #holderOf(key: string, now: Milliseconds): string | undefined {
    const holder = this.get(key);
    return holder !== undefined && holder.until > now ? holder.id : undefined;
  }

  #hold({ id, unique }: TiedJob, now: Milliseconds): void {
    if (unique === undefined) return;
    const { key, for: most = Infinity } = unique;
    this.set(key, { id, until: now + most * 1000 });
  }
}

/** The batches of a memory store. */
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

  /** Undefined if it does not change, or is not known: whoever pruned it did not want to hear of it. */
  change(id: string | undefined, rule: Rule): BatchStep | undefined {
    const batch = id === undefined ? undefined : this.#batches.get(id);
    const step = batch && rule(batch, this.#clock.now());
    if (step === undefined) return undefined;
    this.#batches.set(step.batch.id, step.batch);
    for (const followUp of step.followUps) this.#follow(followUp);
    return step;
  }

  /** Jobs have ended in one step. @param settlement absent: they were removed, without a worker ending them */
  leave(texts: readonly Text[], settlement?: Settlement): void {
    const changes = new Map<string, BatchChange>();
    for (const text of texts) {
      const tie = this.tieOf(text);
      if (tie !== undefined) changes.set(tie.id, sumOf(changes.get(tie.id), changeBy(tie, settlement)));
    }
    for (const [id, change] of changes) this.change(id, changed(change));
  }

  isCancelled(text: Text): boolean {
    const tie = this.tieOf(text);
    return tie !== undefined && this.#batches.get(tie.id)?.cancelledAt !== undefined;
  }

  snapshot(): ReadonlyMap<string, KeptBatch> {
    return new Map(this.#batches);
  }

  /**
   * The batch store of a connection. @param whenChanged notifies those who wait for work
   */
  store(whenChanged: () => void): BatchStore {
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
      hold: async (id) => this.change(id, held) !== undefined,
      seal: async (id, _queue, abandoned) => {
        const isSealed = this.change(id, sealed(abandoned)) !== undefined;
        if (isSealed) whenChanged();
        return isSealed;
      },
      cancel: async (id) => this.change(id, cancelled) !== undefined,
      prune: async ({ olderThan, unfinished = false }) => this.#forgetFinished(olderThan, unfinished),
    };
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

  tieOf(text: Text): BatchTie | undefined {
    return this.#batches.size === 0 ? undefined : readTies(bytesOf(text))?.batch;
  }
}
