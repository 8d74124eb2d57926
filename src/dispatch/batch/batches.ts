/** The batches of all connections that keep them: `Queue.batches`. */
import { CapabilityError } from '../../connections/errors';
import { type Duration, durationSeconds } from '../../job/duration';
import type { BatchDetour, ChosenBatch } from '../../job/batch';
import { invalidListing } from '../../operations/errors';
import type { DispatchApplication } from '../dispatch-application';
import { Batch } from './batch';
import { sendBatch } from './send-batch';

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
  /** Batches that finished longer ago than this. */
  readonly olderThan: Duration;
  /** Also batches that were created longer ago and have not finished. Default false. */
  readonly unfinished?: boolean | undefined;
  /** Only count them. Default false. */
  readonly dryRun?: boolean | undefined;
}

/** Batches read by one call when all are examined. */
const PAGE = 100;

export class Batches {
  readonly #manager: DispatchApplication;

  constructor(manager: DispatchApplication) {
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
    const oldest = ((await this.#manager.driver(name).now?.()) ?? this.#manager.clock.now()) - seconds * 1000;
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
