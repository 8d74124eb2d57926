/** A batch, as it was when it was read. */
import type { BatchState } from '../../connections/batch-store';
import type { BatchSource } from '../../job/batch';
import type { DispatchApplication } from '../dispatch-application';
import { addToBatch } from './add-to-batch';
import { type BatchCallbackJob, callbackJobs, jobsQueueOf } from './callbacks';

export class Batch {
  readonly #manager: DispatchApplication;
  readonly #queue: string | undefined;
  readonly #state: BatchState;
  readonly id: string;
  /** Empty if it was given none. */
  readonly name: string;
  readonly connection: string;
  /** Jobs that wait or run, including the links behind them. */
  readonly pending: number;
  readonly completed: number;
  readonly failed: number;
  /** Jobs that were cancelled or cleared, or were behind a link that failed. */
  readonly skipped: number;
  readonly allowsFailures: boolean;
  readonly createdAt: Date;
  readonly cancelledAt: Date | undefined;
  /** When its last job ended. */
  readonly finishedAt: Date | undefined;

  constructor(manager: DispatchApplication, connection: string, state: BatchState, queue?: string) {
    this.#manager = manager;
    this.#queue = queue ?? state.queue;
    this.#state = state;
    this.connection = connection;
    this.id = state.id;
    this.name = state.name;
    this.pending = state.pending;
    this.completed = state.completed;
    this.failed = state.failed;
    this.skipped = state.skipped;
    this.allowsFailures = state.allowsFailures;
    this.createdAt = new Date(state.createdAt);
    this.cancelledAt = momentOf(state.cancelledAt);
    this.finishedAt = momentOf(state.finishedAt);
  }

  get total(): number {
    return this.pending + this.completed + this.failed + this.skipped;
  }

  /** The share of its jobs that have ended, from 0 to 1. */
  get progress(): number {
    return this.total === 0 ? 1 : (this.total - this.pending) / this.total;
  }

  get isFinished(): boolean {
    return this.finishedAt !== undefined;
  }

  get isCancelled(): boolean {
    return this.cancelledAt !== undefined;
  }

  /**
   * Not all of its jobs are in yet: the sender is still at work, or died less than a minute ago. For a batch in a chain, whose
   * jobs another worker sends then: or died at some time.
   */
  get isOpen(): boolean {
    return this.#state.openUntil !== undefined;
  }

  /** The batch as it is now. Undefined if it is not known any more, or not yet. */
  async refresh(): Promise<Batch | undefined> {
    const driver = this.#manager.driver(this.connection);
    // If its jobs ran at once, its state is final.
    if (driver.batches === undefined) return this;
    const state = await driver.batches.find(this.id, this.#queue);
    return state && new Batch(this.#manager, this.connection, state, this.#queue);
  }

  /** The jobs that it sends when something happens to it. Empty also if the batch is not known any more. */
  async callbacks(): Promise<readonly BatchCallbackJob[]> {
    const kept = await this.#manager.driver(this.connection).batches?.callbacks(this.id, this.#queue);
    return kept === undefined ? [] : callbackJobs(kept, this.connection, this.total - this.pending);
  }

  /** Waiting jobs are skipped; running ones go on. False if it has ended or was already cancelled. */
  async cancel(): Promise<boolean> {
    return (await this.#manager.driver(this.connection).batches?.cancel(this.id, this.#queue)) ?? false;
  }

  /**
   * Adds jobs. Returns how many went in.
   *
   * @throws any error of these jobs; E_BATCH_ENDED it is finished or cancelled; BulkInterruptedError some of them are in
   */
  async add(jobs: BatchSource): Promise<number> {
    const { id, connection } = this;
    const queue = this.#queue;
    const kept = await this.#manager.driver(connection).batches?.callbacks(id, queue);
    return addToBatch(this.#manager, { id, connection, queue, jobs: kept && jobsQueueOf(kept) }, jobs);
  }

  /**
   * Sends its failed jobs back and returns their number. It is then no longer cancelled. @throws as `Queue.failed.retry()` does
   */
  async retryFailed(): Promise<number> {
    return this.#manager.failed.retry({ batch: this.id, connection: this.connection });
  }
}

const momentOf = (milliseconds: number | undefined): Date | undefined =>
  milliseconds === undefined ? undefined : new Date(milliseconds);
