/** Sends a batch: in one call where it fits, otherwise open until the last of its jobs is in. */
import { MOST_JOBS, pageBytes, pagesOf } from '../../base/pages';
import type { BatchReference } from '../../connections/application';
import type { BatchState, NewBatch } from '../../connections/batch-store';
import type { Connection } from '../../connections/contract';
import { CapabilityError } from '../../connections/errors';
import type { BatchDetour, ChosenBatch } from '../../job/batch';
import { uuidv7 } from '../../payload/uuid';
import { type Page, push, sendAll } from '../bulk';
import { OPEN_FOR, sealText } from '../built-in/seal';
import type { DispatchApplication } from '../dispatch-application';
import { batchIncomplete } from '../errors';
import type { EncodedJob } from '../job-encoder';
import { keepOf, type Target, targetWithin } from '../send';
import { Transaction } from '../transaction/transaction';
import { callbackOf } from './callbacks';
import { type Chunk, Chunks } from './chunks';
import { runInTurn } from './in-turn';
import { type BatchPlace, Members } from './members';

/** A batch that is in its store, or will be with a commit. */
export interface SentBatch {
  readonly place: BatchPlace;
  readonly state: BatchState;
}

/** @throws what is wrong with it, and E_BATCH_INCOMPLETE */
export async function sendBatch(
  manager: DispatchApplication,
  chosen: ChosenBatch,
  { commit, within }: BatchDetour,
): Promise<SentBatch> {
  const place = placeOf(manager, { ...chosen, id: uuidv7() }, chosen.queue);
  const chunks = new Chunks(chosen.source, new Members(manager, place), manager.clock);
  const sending = new Sending(manager, place, newBatchOf(manager, chosen, place), within?.transaction);
  const open = commit === 'before' || within !== undefined ? undefined : Transaction.keep();
  const keep = keepOf(manager, undefined, place.connection, {
    keep: open,
    commit: commit === 'after' ? 'after' : undefined,
  });
  // What is wrong with a list is told where it was dispatched; what gives its jobs one by one is asked when they are sent.
  const first = chunks.isList || keep === undefined ? await chunks.next() : undefined;
  if (keep === undefined) await sending.send(chunks, first);
  else {
    const { connection, queue } = place;
    const push = (): Promise<string> => sending.send(chunks, first).then(() => '');
    keep({ name: `the batch ${chosen.name || place.id}`, connection, queue, push }, manager);
  }
  return { place, state: sending.state };
}

/**
 * @param chosenQueue where those of its jobs go that say nothing themselves; undefined: where their classes say
 * @throws E_UNKNOWN_CONNECTION; CapabilityError it keeps no batches
 */
export function placeOf(
  manager: DispatchApplication,
  { id, connection, queue }: Pick<BatchReference, 'id' | 'queue'> & { readonly connection: string | undefined },
  chosenQueue?: string,
): BatchPlace {
  const settings = manager.settings(connection);
  const { capabilities, driver, isDivided } = manager.driver(settings.name);
  // What runs jobs at once, or drops them, keeps none and needs none kept.
  if (capabilities.reserve && capabilities.batches !== true)
    throw new CapabilityError(settings.name, driver, 'batches');
  const usual = queue ?? settings.queue;
  return { id, connection: settings.name, queue: usual, chosenQueue, only: isDivided === true ? usual : undefined };
}

function newBatchOf(manager: DispatchApplication, chosen: ChosenBatch, place: BatchPlace): NewBatch {
  const { name, allowsFailures, every } = chosen;
  const callbacks = chosen.callbacks.map(({ on, job }) => {
    const [link] = manager.encoder.links([job], place.connection, {
      connection: place.connection,
      queue: place.chosenQueue,
    });
    return callbackOf(on, link!, place, manager);
  });
  return { id: place.id, name, allowsFailures, callbacks, every };
}

class Sending {
  readonly #manager: DispatchApplication;
  readonly #place: BatchPlace;
  readonly #begins: NewBatch;
  readonly #driver: Connection;
  readonly #target: Target;
  readonly #isWithin: boolean;
  #queued = 0;
  state: BatchState;

  constructor(manager: DispatchApplication, place: BatchPlace, begins: NewBatch, transaction: unknown) {
    this.#manager = manager;
    this.#place = place;
    this.#begins = begins;
    this.#driver = manager.driver(place.connection);
    this.#isWithin = transaction !== undefined;
    this.#target = this.#isWithin ? targetWithin(this.#driver, transaction) : this.#driver;
    const { id, name, allowsFailures } = begins;
    const counts = { pending: 0, completed: 0, failed: 0, skipped: 0 };
    this.state = { id, name, allowsFailures, ...counts, createdAt: manager.clock.now() };
  }

  async send(chunks: Chunks, first: Chunk | undefined): Promise<void> {
    const chunk = first ?? (await chunks.next());
    if (!this.#driver.capabilities.reserve) {
      const jobs = [...chunk.jobs];
      for (let more = chunk; !more.isLast;) jobs.push(...(more = await chunks.next()).jobs);
      this.state = await runInTurn(this.#driver, this.#begins, jobs, this.#manager.clock);
      return;
    }
    const rest = await this.#begin(chunk);
    if (rest === undefined) return;
    try {
      await this.#sendAll(rest);
      for (let more = chunk; !more.isLast;) {
        more = await chunks.next();
        if (more.jobs.length > 0) await this.#sendAll(more.jobs);
        else if (!more.isLast) await this.#driver.batches?.hold(this.#place.id, this.#place.queue);
      }
      if (!this.#isWithin) await this.#driver.batches?.seal(this.#place.id, this.#place.queue);
    } catch (error) {
      await this.#giveUp(chunks, error, chunk);
    }
  }

  /** Gives what is left to be sent; undefined: all is in, and nothing more comes. */
  async #begin({ jobs, isLast }: Chunk): Promise<readonly EncodedJob[] | undefined> {
    const queue = jobs[0]?.queue ?? this.#place.queue;
    const ofQueue = jobs.filter((job) => job.queue === queue);
    const [page = []] = pagesOf(ofQueue, bytesOf, MOST_JOBS - 1);
    const isWhole = isLast && page.length === jobs.length;
    // In a transaction of the user's all is there at once.
    const isOpen = !isWhole && !this.#isWithin;
    const sealing = isOpen ? [this.#seal(queue, isLast ? jobs.length : undefined)] : [];
    const sent = [...page, ...sealing];
    const begins = isOpen ? { ...this.#begins, openFor: OPEN_FOR } : this.#begins;
    if (sent.length === 0) await this.#target.push(queue, [], begins);
    else {
      const { ended } = await push(() => this.#target, sent as readonly EncodedJob[] as Page, begins);
      const { refusal, pushed } = await ended;
      if (refusal !== undefined) throw refusal.error;
      page.forEach((job, place) => typeof pushed?.[place] !== 'object' && this.#count(job));
    }
    if (isWhole) return undefined;
    const inside = new Set(page);
    return jobs.filter((job) => !inside.has(job));
  }

  async #sendAll(jobs: readonly EncodedJob[]): Promise<void> {
    await sendAll(
      jobs,
      () => this.#target,
      (parcel, id) => {
        const job = parcel as EncodedJob;
        if (id === job.id) this.#count(job);
      },
      ({ error }) => {
        throw error;
      },
    );
  }

  #count({ entry }: EncodedJob): void {
    this.#queued += 1;
    const { pending } = this.state;
    this.state = { ...this.state, pending: pending + (entry.ties?.batch?.weight ?? 1) };
  }

  #seal(queue: string, total: number | undefined): EncodedJob {
    const payload = sealText(this.#place.id, total, this.#manager.registry);
    return { id: '', name: 'the seal', connection: this.#place.connection, queue, entry: { payload, delay: OPEN_FOR } };
  }

  /** Its jobs that are in are not to run for nothing. Where this fails as well, the seal does it. */
  async #giveUp(chunks: Chunks, error: unknown, { jobs, isLast }: Chunk): Promise<never> {
    await chunks.close().catch(() => undefined);
    const { id, queue } = this.#place;
    if (!this.#isWithin) await this.#driver.batches?.cancel(id, queue).catch(() => undefined);
    throw batchIncomplete(id, this.#queued, isLast ? jobs.length : undefined, error);
  }
}

const bytesOf = ({ entry }: EncodedJob): number => pageBytes(entry.payload);
