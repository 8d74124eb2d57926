/** A batch as it was when it was read, and `Queue.batches`, which finds it. */
import type { Application } from '../../connections/application';
import { dateOf, timeOf } from '../../base/clock';
import type { BatchSource } from '../../job/job-context';
import type { BatchState } from '../../connections/batch-store';
import { addToBatch, sendBatch } from './send-batch';
import { callbackJobs, jobsQueueOf, type BatchCallbackJob } from './members';
import { CapabilityError } from '../../connections/errors';
import { durationSeconds, type Duration } from '../../job/duration';
import type { BatchDetour, ChosenBatch } from '../../job/pending';
import { invalidListing } from '../../operations/errors';

export class Batch {
  readonly #manager: Application;
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

  constructor(manager: Application, connection: string, state: BatchState, queue?: string) {
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
    this.cancelledAt = dateOf(state.cancelledAt);
    this.finishedAt = dateOf(state.finishedAt);
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

export interface BatchListOptions {
  /** Default: the configuration's default connection. */
  readonly connection?: string | undefined;
  /** Default 100. */
  readonly limit?: number | undefined;
  readonly offset?: number | undefined;
}

export interface BatchPlaceOptions {
  /** The connection that keeps it. Default: the configuration's default connection. */
  readonly connection?: string | undefined;
}

export interface BatchPruneOptions extends BatchPlaceOptions {
  /** Batches that finished longer ago than this: seconds, or `'7d'`. */
  readonly olderThan: Duration;
  /** Also batches that were created longer ago and have not finished. Default false. */
  readonly unfinished?: boolean | undefined;
  /** Only count them. Default false. */
  readonly dryRun?: boolean | undefined;
}

/** Batches read by one call when all are examined. */
const PAGE = 100;

/** The batches of all connections that keep them: `Queue.batches`. */
export class Batches {
  readonly #manager: Application;

  constructor(manager: Application) {
    this.#manager = manager;
  }

  /** Undefined if it is not known; finished batches are kept for a day. @throws CapabilityError */
  async get(id: string, { connection }: BatchPlaceOptions = {}): Promise<Batch | undefined> {
    const { name, store } = this.#store(connection);
    const state = await store.find(id);
    return state && new Batch(this.#manager, name, state);
  }

  /** Newest first. @throws CapabilityError, E_INVALID_LISTING */
  async list({ connection, limit = 100, offset = 0 }: BatchListOptions = {}): Promise<Batch[]> {
    for (const [option, count] of Object.entries({ limit, offset })) {
      if (!Number.isSafeInteger(count) || count < 0)
        throw invalidListing(option, count, 'Give a whole number, 0 or more.', 'Batches');
    }
    const { name, store } = this.#store(connection);
    return (await store.list({ limit, offset })).map((state) => new Batch(this.#manager, name, state));
  }

  /**
   * Waiting jobs are skipped; running ones go on. False if it has ended, was already cancelled, or is unknown. @throws
   * CapabilityError
   */
  async cancel(id: string, { connection }: BatchPlaceOptions = {}): Promise<boolean> {
    return this.#store(connection).store.cancel(id);
  }

  /** Sends its failed jobs back and returns their number. @throws as `Queue.failed.retry()` does */
  async retryFailed(id: string, { connection }: BatchPlaceOptions = {}): Promise<number> {
    return this.#manager.failed.retry({ batch: id, connection: this.#store(connection).name });
  }

  /** Forgets old batches and returns their number. Their jobs stay. @throws CapabilityError, E_INVALID_DURATION */
  async prune(options: BatchPruneOptions): Promise<number> {
    // Called without an age, in JavaScript, it says what is missing.
    const { connection, olderThan, unfinished = false, dryRun = false } = (options as Partial<BatchPruneOptions>) ?? {};
    const seconds = durationSeconds(olderThan, 'olderThan of batches.prune()');
    const { name, store } = this.#store(connection);
    if (!dryRun) return store.prune({ olderThan: seconds, unfinished });
    const oldest = (await timeOf(this.#manager.driver(name), this.#manager.clock)) - seconds * 1000;
    let count = 0;
    for (let offset = 0; ;) {
      const page = await store.list({ limit: PAGE, offset });
      if (page.length === 0) return count;
      for (const { createdAt, finishedAt = unfinished ? createdAt : Infinity } of page)
        if (finishedAt < oldest) count += 1;
      offset += page.length;
    }
  }

  /** @throws any error of the batch; E_BATCH_INCOMPLETE */
  async send(chosen: ChosenBatch, detour: BatchDetour): Promise<Batch> {
    const sending = sendBatch(this.#manager, chosen, detour);
    this.#manager.outbox.track(sending);
    const { place, state } = await sending;
    return new Batch(this.#manager, place.connection, state, place.queue);
  }

  #store(connection?: string) {
    const { name } = this.#manager.settings(connection);
    const { batches, driver } = this.#manager.driver(name);
    if (batches === undefined) throw new CapabilityError(name, driver, 'batches');
    return { name, store: batches };
  }
}

/** `open`: not all of its jobs are in yet. */
export type BatchWord = 'open' | 'running' | 'cancelled' | 'finished';

export function stateOf(batch: Batch): BatchWord {
  if (batch.isCancelled) return 'cancelled';
  if (batch.isFinished) return 'finished';
  return batch.isOpen ? 'open' : 'running';
}

/** The JSON of a batch, for the command line and the dashboard. */
export function batchDocument(batch: Batch): object {
  const { id, name, connection, total, pending, completed, failed, skipped, progress } = batch;
  const { allowsFailures, createdAt, cancelledAt, finishedAt } = batch;
  const counts = { total, pending, completed, failed, skipped, progress };
  return { id, name, connection, state: stateOf(batch), ...counts, allowsFailures, createdAt, cancelledAt, finishedAt };
}
