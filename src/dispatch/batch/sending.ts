/** Sends a batch: in one call if it fits, otherwise chunk by chunk, open until its last job is in. */
import type { Application } from '../../connections/application';
import { MOST_JOBS, pagesOf } from '../../base/collections';
import { endOfTurn, timeOf, type Clock, type Timer } from '../../base/clock';
import { errorMessage } from '../../base/exception-text';
import type { BatchState, NewBatch } from '../../connections/batch-store';
import type { Connection, Once, PushedOnce } from '../../connections/contract';
import { batchEnded } from '../../connections/errors';
import { changedBatch, newlyKept, type BatchChange } from '../../connections/kit/batch-counts';
import {
  bytesOf,
  endUnsent,
  push,
  sendAll,
  idAfter,
  targetWithin,
  ENCODED_AT_ONCE,
  tellPushed,
  type Page,
  type Target,
} from '../send';
import { LAST_KEPT, OPEN_FOR, pageKey, sealText } from '../built-in';
import { batchIncomplete } from '../errors';
import type { EncodedJob } from '../job-encoder';
import type { PlannedBatch, BatchPlace, Members } from './members';
import { uuidv7 } from '../../payload/uuid';
import type { BatchMember, BatchSource } from '../../job/job-context';
import { invalidBatch } from '../../job/errors';
import { entriesFor, pushEvent } from '../../connections/entries';

const NOTHING_MORE: Pick<Chunks, 'next' | 'close'> = {
  next: async () => ({ jobs: [], isLast: true }),
  close: () => undefined,
};

export class Sending {
  readonly #manager: Application;
  readonly #place: BatchPlace;
  readonly #begins: PlannedBatch;
  readonly #driver: Connection;
  readonly #target: Target;
  readonly #isWithin: boolean;
  readonly #sealId = uuidv7();
  #sealQueue: string | undefined;
  #queued = 0;
  #pending = 0;
  #state: BatchState;

  constructor(manager: Application, place: BatchPlace, begins: PlannedBatch, transaction?: unknown) {
    this.#manager = manager;
    this.#place = place;
    this.#begins = begins;
    this.#driver = manager.driver(place.connection);
    this.#isWithin = transaction !== undefined;
    this.#target = this.#isWithin ? targetWithin(this.#driver, transaction) : this.#driver;
    const { id, name, allowsFailures } = begins;
    const counts = { pending: 0, completed: 0, failed: 0, skipped: 0 };
    this.#state = { id, name, allowsFailures, ...counts, createdAt: manager.clock.now() };
  }

  /** The state of what is in so far. */
  get state(): BatchState {
    const { pending } = this.#state;
    return { ...this.#state, pending: pending + this.#pending };
  }

  /**
   * @param chunks gives the jobs behind the first chunk
   * @throws E_BATCH_INCOMPLETE; what the store throws, if nothing is in; any error of the jobs
   */
  async send(first: Chunk, chunks = NOTHING_MORE): Promise<void> {
    let chunk = first;
    // A batch without jobs would end at once: within the user's transaction it is not held open.
    while (this.#isWithin && chunk.jobs.length === 0 && !chunk.isLast) chunk = await chunks.next();
    if (!this.#driver.capabilities.reserve) {
      const jobs = [...chunk.jobs];
      try {
        for (let more = chunk; !more.isLast;) jobs.push(...(more = await chunks.next()).jobs);
      } catch (error) {
        endUnsent(jobs, error);
        throw error;
      }
      this.#state = await runInTurn(
        this.#driver,
        beginningOf(this.#begins, this.#place.queue),
        jobs,
        this.#manager.clock,
      );
      return;
    }
    const rest = await this.#begin(chunk).catch((error: unknown) => {
      chunks.close();
      endUnsent(chunk.jobs, error);
      throw error;
    });
    if (rest === undefined) return;
    let more: Chunk = { jobs: rest, isLast: chunk.isLast };
    try {
      for (; !more.isLast; more = await chunks.next()) {
        if (more.jobs.length > 0) await this.#sendRest(more.jobs);
        // In the user's transaction nobody else sees it yet, and another call might wait for its end.
        else if (!this.#isWithin) await this.#driver.batches?.hold(this.#place.id, this.#place.queue);
      }
      if (this.#isWithin) return await this.#sendRest(more.jobs);
      await this.#sendLast(more.jobs);
    } catch (error) {
      endUnsent(more.jobs, error);
      return this.#giveUp(chunks, error, chunk);
    }
    await this.#close();
  }

  /**
   * Sends these jobs, the last page of them in the step that says that all jobs are in.
   *
   * @throws E_BATCH_ENDED it was cancelled, perhaps by its seal, because we had been silent for too long
   */
  async #sendLast(jobs: readonly EncodedJob[]): Promise<void> {
    const { id, connection } = this.#place;
    const queue = jobs.at(-1)?.queue;
    if (queue === undefined) return this.#sealEmptied();
    const ofQueue = jobs.filter((job) => job.queue === queue);
    const page = [...pagesOf(ofQueue, bytesOf)].at(-1)!;
    const inPage = new Set(page);
    await this.#sendRest(jobs.filter((job) => !inPage.has(job)));
    const until = (await timeOf(this.#driver, this.#manager.clock)) + LAST_KEPT * 1000;
    const pushed = await pushPageOnce(this.#driver, { queue, jobs: page }, { key: pageKey(id, 'last'), until });
    // `before`: a store has repeated our own call, because its answer was lost.
    if (pushed === 'late' || pushed === 'skipped') throw batchEnded(connection, id, 'cancelled');
    for (const [place, job] of page.entries())
      if (pushed === 'before' || idAfter(job, pushed[place]) === job.id) this.#count(job);
  }

  /** The source had no more jobs than those that are in. @throws E_BATCH_ENDED */
  async #sealEmptied(): Promise<void> {
    const { batches } = this.#driver;
    const { id, queue, connection } = this.#place;
    if ((await batches?.seal(id, queue)) !== false) return;
    if ((await batches?.find(id, queue))?.cancelledAt !== undefined) throw batchEnded(connection, id, 'cancelled');
  }

  /** Closes the batch for more jobs. If this fails, the seal does it in a minute. */
  async #close(): Promise<void> {
    try {
      await this.#driver.batches?.seal(this.#place.id, this.#place.queue);
      // The seal would find nothing to do, but whoever drains the queue would wait for it.
      await this.#driver.control?.cancel(this.#sealId, this.#sealQueue);
    } catch {}
  }

  /** Returns the jobs left to send. Undefined if all are in and no more will come. */
  async #begin({ jobs, isLast }: Chunk): Promise<readonly EncodedJob[] | undefined> {
    const queue = jobs[0]?.queue ?? this.#place.queue;
    const ofQueue = jobs.filter((job) => job.queue === queue);
    const [whole = []] = pagesOf(ofQueue, bytesOf);
    const isWhole = isLast && whole.length === jobs.length;
    // In the user's transaction everything appears at once.
    const isOpen = !isWhole && !this.#isWithin;
    const page = isOpen ? whole.slice(0, MOST_JOBS - 1) : whole;
    const sealing = isOpen ? [this.#seal(queue, isLast ? jobs.length : undefined)] : [];
    const sent = [...page, ...sealing];
    const beginning = beginningOf(this.#begins, queue);
    const begins = isOpen ? { ...beginning, openFor: OPEN_FOR } : beginning;
    if (sent.length === 0) await this.#target.push(queue, [], begins);
    else {
      const { ended } = await push(() => this.#target, sent as readonly EncodedJob[] as Page, begins);
      const { refusal, pushed } = await ended;
      if (refusal !== undefined) throw refusal.error;
      page.forEach((job, place) => typeof pushed?.[place] !== 'object' && this.#count(job));
    }
    if (isWhole) {
      // If no job went in, none is left.
      if (this.state.pending === 0) this.#state = { ...this.#state, finishedAt: this.#manager.clock.now() };
      return undefined;
    }
    if (ofQueue.length === jobs.length) return jobs.slice(page.length);
    const inside = new Set(page);
    return jobs.filter((job) => !inside.has(job));
  }

  async #sendRest(jobs: readonly EncodedJob[]): Promise<void> {
    await sendAll(
      jobs,
      () => this.#target,
      (page, ids) => {
        for (const [place, job] of (page as readonly EncodedJob[]).entries())
          if (ids === undefined || ids[place] === job.id) this.#count(job);
      },
      ({ error }) => {
        throw error;
      },
    );
  }

  #count({ entry }: EncodedJob): void {
    this.#queued += 1;
    this.#pending += entry.ties?.batch?.weight ?? 1;
  }

  #seal(queue: string, total: number | undefined): EncodedJob {
    const payload = sealText(this.#sealId, this.#place.id, total, this.#manager.registry);
    this.#sealQueue = queue;
    return {
      id: this.#sealId,
      name: 'the seal',
      connection: this.#place.connection,
      queue,
      entry: { payload, delay: OPEN_FOR },
    };
  }

  /** Cancels the batch, so that its jobs that are in do not run for nothing. If this fails too, the seal does it. */
  async #giveUp(chunks: Pick<Chunks, 'close'>, error: unknown, { jobs, isLast }: Chunk): Promise<never> {
    chunks.close();
    const { id, queue } = this.#place;
    if (!this.#isWithin) await this.#driver.batches?.cancel(id, queue).catch(() => undefined);
    throw batchIncomplete(id, this.#queued, isLast ? jobs.length : undefined, error);
  }
}

/** @param queue that of its first job */
export function beginningOf(batch: PlannedBatch, queue: string): NewBatch {
  return { ...batch, callbacks: batch.callbacks.map((callback) => ({ queue, ...callback })) };
}

/**
 * For a connection that runs jobs within their push and keeps nothing: runs them in turn, then what follows them. Errors of jobs
 * are reported by their hooks, the log, and the batch's `catch`.
 */
async function runInTurn(
  connection: Connection,
  begins: NewBatch,
  jobs: readonly EncodedJob[],
  clock: Clock,
): Promise<BatchState> {
  let batch = newlyKept(begins, clock.now());
  const change = async (change: BatchChange): Promise<void> => {
    const step = changedBatch(batch, change, clock.now());
    batch = step.batch;
    for (const { queue, entry } of step.followUps) await connection.push(queue, [entry]).catch(() => undefined);
  };
  const weightOf = ({ entry }: EncodedJob): number => entry.ties?.batch?.weight ?? 1;
  await change({ pending: jobs.reduce((sum, job) => sum + weightOf(job), 0) });
  for (const job of jobs) {
    const weight = weightOf(job);
    if (batch.cancelledAt !== undefined) {
      job.observed?.drop();
      await change({ pending: -weight, skipped: weight });
      continue;
    }
    try {
      await connection.push(job.queue, [job.entry]);
      await change({ pending: -weight, completed: weight });
    } catch (error) {
      const cause = { id: job.id, name: job.name, message: errorMessage(error) };
      await change({ pending: -weight, failed: 1, skipped: weight - 1, cause });
    } finally {
      // It has run, whether well or not.
      job.observed?.end();
    }
  }
  return batch;
}

export interface Chunk {
  /** May be empty if the source is slow. */
  readonly jobs: readonly EncodedJob[];
  readonly isLast: boolean;
}

const JOBS = 1000;
const BYTES = 8 * 1024 * 1024;
/** Milliseconds for which jobs wait for more before they are sent. */
const PATIENCE = 10_000;

const LATE = Symbol('late');

type Came = IteratorResult<BatchMember>;

/** The jobs of a batch in chunks: a list at once, an iterable by the thousand as it comes. */
export class Chunks {
  /** A list is encoded completely before its first job is sent. */
  readonly isList: boolean;
  readonly #members: Members;
  readonly #source: Iterator<BatchMember> | AsyncIterator<BatchMember>;
  readonly #clock: Clock;
  #coming: Promise<Came> | undefined;
  #isClosed = false;

  /** @throws E_INVALID_BATCH */
  constructor(source: BatchSource, members: Members, clock: Clock) {
    this.isList = Array.isArray(source) || source instanceof Set;
    this.#members = members;
    this.#source = iteratorOf(source);
    this.#clock = clock;
  }

  /** @throws what the source throws, and any error of a job */
  async next(): Promise<Chunk> {
    const jobs: EncodedJob[] = [];
    const most = this.isList ? Infinity : JOBS;
    const start = this.#clock.monotonic();
    let bytes = 0;
    let timer: Timer | undefined;
    const late = new Promise<typeof LATE>((resolve) => {
      if (!this.isList) timer = this.#clock.after(PATIENCE, () => resolve(LATE), true);
    });
    try {
      for (let turn = 1; jobs.length < most && (this.isList || bytes < BYTES); turn += 1) {
        // Also counts members that are left out: a source may leave out nearly all.
        if (turn % ENCODED_AT_ONCE === 0) {
          await endOfTurn();
          if (!this.isList && this.#clock.monotonic() > start + PATIENCE) break;
        }
        const coming = (this.#coming ?? this.#source.next()) as Came | PromiseLike<Came>;
        // Database cursors return promises of their own class, and so does Node.js to code in a vm context.
        const came = isPromise(coming) ? await Promise.race([(this.#coming = Promise.resolve(coming)), late]) : coming;
        if (came === LATE) break;
        this.#coming = undefined;
        if (typeof came !== 'object' || came === null)
          throw invalidBatch(came, 'the next() of its source must return { done, value }.');
        if (came.done === true) return { jobs, isLast: true };
        const job = this.#members.encode(came.value);
        if (job === undefined) continue;
        jobs.push(job);
        bytes += job.entry.payload.length;
      }
      return { jobs, isLast: false };
    } catch (error) {
      this.close();
      endUnsent(jobs, error);
      throw error;
    } finally {
      timer?.cancel();
    }
  }

  /** Asks the source for no more, so that it frees its resources. Does not wait for that: it may hang. */
  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    const ignore = (): void => undefined;
    this.#coming?.catch(ignore);
    void (async () => this.#source.return?.())().catch(ignore);
  }
}

const isPromise = (coming: Came | PromiseLike<Came>): coming is PromiseLike<Came> =>
  typeof (coming as Partial<PromiseLike<Came>> | undefined)?.then === 'function';

function iteratorOf(source: BatchSource): Iterator<BatchMember> | AsyncIterator<BatchMember> {
  if (typeof source === 'object' && source !== null) {
    if (Symbol.asyncIterator in source) return source[Symbol.asyncIterator]();
    if (Symbol.iterator in source) return source[Symbol.iterator]();
  }
  if (typeof source === 'function')
    throw invalidBatch(
      source,
      'it takes an iterable, not a generator function: call it, as in Queue.batch(everybody()).',
    );
  throw invalidBatch(source, 'it takes a list of jobs, or an iterable of them.');
}

/**
 * Pages of a batch that are pushed once, under keys that whoever sends them again also knows: so a second sender goes on where the
 * first one died, and a seal knows whether the last page is in.
 */
export interface BatchPage {
  readonly queue: string;
  readonly jobs: readonly EncodedJob[];
  /** The batch that begins with this page. */
  readonly begins?: NewBatch | undefined;
}

/** Pushes the page unless it was pushed before, and tells the hooks. @throws what the driver throws */
export async function pushPageOnce(driver: Connection, page: BatchPage, once: Once): Promise<PushedOnce> {
  const { queue, jobs, begins } = page;
  try {
    for (const job of jobs) await job.hooks?.emit('queueing', pushEvent(job));
    const pushed = await driver.keys!.pushOnce({ queue, entries: await entriesFor(driver, jobs), begins }, once);
    for (const { observed } of jobs) observed?.end();
    if (typeof pushed !== 'string') for (const [place, job] of jobs.entries()) await tellPushed(job, pushed[place]);
    return pushed;
  } catch (error) {
    for (const { observed } of jobs) observed?.end(error);
    throw error;
  }
}
