/**
 * Pushes jobs into the tables. Jobs pushed while a call is under way travel together in the next one: a commit costs more
 * than the jobs in it, and wakes the workers only once.
 */
import { withConsequence } from '../../base/onqueue-error';
import { MOST_BYTES, MOST_JOBS, pagesOf } from '../../base/collections';
import type { NewBatch } from '../batch-store';
import type { Entry, KeyStore, Pushed, Once, PushedOnce } from '../contract';
import { batchEnded, ConnectionClosedError, DuplicatePayloadError, QueueUnavailableError } from '../errors';
import { CallClient } from './calls';
import { repeatable, type Database } from './database';
import { skipped } from '../kit/batch-counts';
import { Lane } from '../kit/lane';
import { followerOf, newJob, type Holders, type QueuedJob, type Dialect, type PushAnswer } from './dialect';
import { otherDatabase, packetTooLarge } from './errors';
import { changeBatch, queuesOf } from './batches';
import { timeOf } from './jobs';
import { removeEnded } from './records';
import { perform, rowsOf, runAll, runEach, sql, written, type Sql, type SqlSession, type Work } from './statement';

interface Load {
  readonly jobs: readonly QueuedJob[];
  readonly begins?: NewBatch | undefined;
  readonly consequence: string;
  readonly resolve: (holders: Holders | undefined) => void;
  readonly reject: (error: unknown) => void;
}

export class PushLane {
  readonly #database: Database;
  readonly #lane: Lane<Load>;
  /** Never used with unanswered calls: a push that took the answer to another call for its own would lose its jobs. */
  #client = new CallClient();
  #closed = false;

  constructor(database: Database) {
    this.#database = database;
    const most = database.dialect.pushedPage ?? MOST_JOBS;
    this.#lane = new Lane({ carry: (loads) => this.#carry(loads), fitting: (loads) => fitting(loads, most) });
  }

  /** Its calls may have been recorded. */
  get client(): CallClient {
    return this.#client;
  }

  /** Sends the waiting pushes first. */
  async close(): Promise<void> {
    this.#closed = true;
    await this.#lane.settled;
  }

  async pushEntries(
    queue: string,
    entries: readonly Entry[],
    begins: NewBatch | undefined,
  ): Promise<readonly Pushed[] | undefined> {
    if (isOfBatch(entries, begins)) return this.#pushBatch(queuedJobs(queue, entries), begins);
    return this.pushAll(entries.length, queuedPages(queue, entries, this.#database.dialect.pushedPage));
  }

  /** Pushes jobs unless others were pushed under the key before. */
  async pushOnce({ queue, entries, begins }: Parameters<KeyStore['pushOnce']>[0], once: Once): Promise<PushedOnce> {
    const consequence = entries.length === 1 ? 'the job was not queued' : 'the jobs were not queued';
    const known = await this.#database.run(consequence, () => lookOnce(this.#database.dialect, once));
    if (known !== undefined) return known;
    const jobs = queuedJobs(queue, entries);
    const holders = (refused: PushAnswer) => this.#checked(jobs, refused, begins);
    const purpose = { ...repeatable(consequence), durable: true };
    const pushed = await this.#database.run(purpose, () =>
      pushOnce(this.#database.dialect, jobs, begins, once, holders),
    );
    if (typeof pushed !== 'string') this.#database.wrote(...queuesOf([{ queue }], begins));
    return pushed;
  }

  /** Pushes within the user's own transaction. */
  async pushWithin(
    session: SqlSession,
    queue: string,
    entries: readonly Entry[],
    begins: NewBatch | undefined,
  ): Promise<readonly Pushed[] | undefined> {
    const { jobs, trouble } = this.#database.dialect;
    const purpose = repeatable('the job was not queued');
    // Outside of the transaction: within it, a new name would make others wait until it ends.
    for (const remembering of jobs.remember(queuesOf([{ queue }], begins))) {
      await this.#database.run(purpose, () => written(remembering));
    }
    const pages = isOfBatch(entries, begins) ? [queuedJobs(queue, entries)] : queuedPages(queue, entries);
    const held = new Map<number, Exclude<Pushed, 'queued'>>();
    let place = 0;
    const divided: SqlSession = {
      run: (statements) =>
        statements[0]?.apart === true
          ? this.#database.run(purpose.consequence, () => runAll(statements))
          : session.run(statements),
    };
    for (const page of pages) {
      const pushing = perform(divided, jobs.push(page.map(lockingNoLane), undefined, begins)).catch(
        (cause: unknown) => {
          // Our own connections do see the tables. Other errors come from the user's client, and are passed on.
          throw trouble(cause) === 'unmigrated'
            ? otherDatabase(this.#database.name, this.#database.address, { cause })
            : cause;
        },
      );
      for (const [index, holder] of this.#checked(page, await pushing, begins) ?? []) held.set(place + index, holder);
      place += page.length;
    }
    return pushedOf(entries.length, held);
  }

  /**
   * Resolves when the store has confirmed all jobs, page by page, with what became of each; undefined if all were added.
   *
   * @throws E_DATABASE_PACKET_TOO_LARGE some jobs are too long by themselves, which the error lists; the others were queued
   */
  async pushAll(length: number, pages: Iterable<readonly QueuedJob[]>): Promise<readonly Pushed[] | undefined> {
    const held = new Map<number, Exclude<Pushed, 'queued'>>();
    const refused: number[] = [];
    let refusal: ReturnType<typeof packetTooLarge> | undefined;
    let place = 0;
    const push = async (page: readonly QueuedJob[]): Promise<void> => {
      const before = place === 0 ? '' : `the first ${place} of ${length} jobs were queued, `;
      const consequence = `${before}${length - place === 1 ? 'the job was' : 'the other jobs were'} not queued`;
      try {
        const holders = await this.push(page, consequence);
        for (const [index, holder] of holders ?? []) held.set(place + index, holder);
      } catch (error) {
        if (!packetTooLarge.is(error)) throw error;
        if (page.length > 1) {
          // The server accepts less at once than a page, or one of the jobs is too long by itself.
          const half = Math.ceil(page.length / 2);
          await push(page.slice(0, half));
          await push(page.slice(half));
          return;
        }
        refusal ??= error;
        refused.push(place);
      }
      place += page.length;
    };
    for (const page of pages) await push(page);
    if (refusal === undefined) return pushedOf(length, held);
    const consequence = `${refused.length} of ${length} jobs ${refused.length === 1 ? 'was' : 'were'} not queued`;
    throw packetTooLarge({ ...refusal.facts, refused, ...(length > 1 && { consequence }) });
  }

  /** Pushes jobs of a batch, which fit one call. They cannot be split: the first half might already end the batch. */
  async #pushBatch(jobs: readonly QueuedJob[], begins: NewBatch | undefined): Promise<readonly Pushed[] | undefined> {
    const consequence = jobs.length === 1 ? 'the job was not queued' : 'no job of the batch was queued';
    return pushedOf(jobs.length, (await this.push(jobs, consequence, begins)) ?? new Map());
  }

  /** Resolves when the store has confirmed all jobs. They go in together, whatever else travels with them. */
  push(jobs: readonly QueuedJob[], consequence: string, begins?: NewBatch): Promise<Holders | undefined> {
    return new Promise((resolve, reject) => {
      if (this.#closed) throw new ConnectionClosedError(this.#database.name, 'push');
      const refuse = (error: unknown): void => reject(withConsequence(error, consequence) as Error);
      this.#lane.send({ jobs, begins, consequence, resolve, reject: refuse });
    });
  }

  async #carry(loads: readonly Load[]): Promise<void> {
    const [first] = loads;
    const jobs = loads.flatMap((load) => load.jobs);
    try {
      const holders = await this.#send(jobs, first!.consequence, first!.begins);
      let place = 0;
      for (const load of loads) {
        load.resolve(holders && holdersAmong(load.jobs, holders, place));
        place += load.jobs.length;
      }
    } catch (error) {
      if (loads.length === 1 || !isRefusal(error)) throw error;
      // A push that is refused does not affect others.
      for (const load of loads)
        await this.#carry([load]).catch((refusal: unknown) => {
          if (!isRefusal(refusal)) throw refusal;
          load.reject(refusal);
        });
    }
  }

  /** If the answer gets lost the call is repeated; nothing is queued twice. */
  async #send(
    jobs: readonly QueuedJob[],
    consequence: string,
    begins: NewBatch | undefined,
  ): Promise<Holders | undefined> {
    // An unanswered transaction may still have its client's record locked.
    if (this.#client.isUnheard) this.#client = new CallClient();
    const client = this.#client;
    const purpose = { consequence, writes: 'repeatable', durable: true } as const;
    const pushing = this.#database.run(purpose, () => this.#database.dialect.jobs.push(jobs, client.next(), begins));
    const refused = await pushing.catch((error: unknown) => {
      if (!(error instanceof QueueUnavailableError) || error.facts.uncertain !== true) client.refused();
      throw error;
    });
    client.heard();
    const holders = this.#checked(jobs, refused, begins);
    // A batch without jobs sends its callbacks at once.
    this.#database.wrote(...queuesOf(jobs, begins));
    return holders;
  }

  /** @throws DuplicatePayloadError, E_BATCH_ENDED */
  #checked(jobs: readonly QueuedJob[], refused: PushAnswer, begins: NewBatch | undefined): Holders | undefined {
    if (typeof refused === 'string') throw batchEnded(this.#database.name, begins?.id ?? jobs[0]!.batch!.id, refused);
    if (typeof refused !== 'number') return refused;
    const { queue, payload } = jobs[refused]!;
    throw new DuplicatePayloadError(this.#database.name, queue, String(payload));
  }
}

/** The holders for some jobs of a call, which come after `before` others. */
function holdersAmong({ length }: readonly QueuedJob[], holders: Holders, before: number): Holders {
  const among = [...holders].filter(([index]) => index >= before && index < before + length);
  return new Map(among.map(([index, holder]) => [index - before, holder]));
}

/** What became of each of `length` jobs; undefined if all were added. */
function pushedOf(length: number, held: Holders): readonly Pushed[] | undefined {
  if (held.size === 0) return undefined;
  return Array.from({ length }, (_, index) => held.get(index) ?? 'queued');
}

/** How many of the waiting pushes travel in one call. One that may be refused goes alone, and so does one of a batch. */
function fitting(loads: readonly Load[], most: number): number {
  const bytesOf = ({ jobs }: Load): number => jobs.reduce((sum, { payload }) => sum + Buffer.byteLength(payload), 0);
  const jobsOf = ({ jobs, begins }: Load): number => {
    const isAlone = begins !== undefined || jobs.some(({ unique, batch }) => unique || batch !== undefined);
    return isAlone ? most : jobs.length;
  };
  const [page = []] = pagesOf(loads, bytesOf, most, MOST_BYTES, jobsOf);
  return page.length;
}

/** Whether nothing was written, possibly because of one of the jobs. */
function isRefusal(error: unknown): boolean {
  if (!(error instanceof QueueUnavailableError)) return true;
  const { refused, uncertain, deadline } = error.facts;
  return refused === true && uncertain !== true && deadline === undefined;
}

/** Pages are made when their turn comes: the first jobs are on their way before the last are looked at. */
function* queuedPages(queue: string, entries: readonly Entry[], most?: number): Generator<readonly QueuedJob[]> {
  for (const page of pagesOf(entries, ({ payload }) => Buffer.byteLength(payload), most)) {
    yield queuedJobs(queue, page);
  }
}

function queuedJobs(queue: string, entries: readonly Entry[]): readonly QueuedJob[] {
  return entries.map(({ payload, delay = 0, dueAt, distinct = false, ties }) => {
    const unique = distinct && (delay > 0 || dueAt !== undefined);
    const job = { ...newJob(payload, delay, dueAt), queue, unique };
    return ties === undefined
      ? job
      : { ...job, tie: ties.unique, debounce: ties.debounce, batch: ties.batch, lane: ties.lane };
  });
}

/** It enters its lane when a worker finds it due: the user's transaction would keep the lane locked until it ends. */
function lockingNoLane(job: QueuedJob): QueuedJob {
  return job.lane !== undefined && job.due === undefined && !(job.delay > 0) ? { ...job, delay: 0.000001 } : job;
}

/** Either all jobs of a call belong to one batch, or none does. */
const isOfBatch = ([first]: readonly Entry[], begins: NewBatch | undefined): boolean =>
  begins !== undefined || first?.ties?.batch !== undefined;

const KIND = 'once';

/** Takes no lock, as most calls come second. Undefined if the jobs are to be pushed. */
function* lookOnce(dialect: Dialect, { key, until }: Once): Work<'before' | 'late' | undefined> {
  const { tables, now } = dialect;
  const [[time, mark = null] = []] = yield* rowsOf(
    sql`SELECT ${now()}, (SELECT 1 FROM ${tables.records} WHERE ${isMark(dialect, key)} AND ends_at > ${now()})`,
  );
  if (until > 0 && Number(time) * 1000 >= until) return 'late';
  if (mark !== null) return 'before';
  return until === 0 ? 'late' : undefined;
}

/** @param checked throws if the jobs were refused; then the key is not kept either */
function* pushOnce(
  dialect: Dialect,
  jobs: readonly QueuedJob[],
  begins: NewBatch | undefined,
  { key, until }: Once,
  checked: (refused: PushAnswer) => Holders | undefined,
): Work<PushedOnce> {
  const { tables, text, now, insertNew, transaction } = dialect;
  const { records } = tables;
  yield* removeEnded(dialect, 1);
  // Before the transaction: within it, a new name would make others wait until it ends.
  yield* runEach(dialect.jobs.remember(queuesOf(jobs, begins)));
  return yield* transaction(function* (): Work<PushedOnce> {
    yield* written(sql`DELETE FROM ${records} WHERE ${isMark(dialect, key)} AND ends_at <= ${now()}`);
    // If two ask at once, the second waits here for the outcome of the first.
    const mark = { kind: KIND, id: text(key), value: '', ends_at: until / 1000 };
    const isNew = (yield* written(insertNew(records, mark))) > 0;
    // Checked only now: until then nobody has removed an existing mark.
    if ((yield* timeOf(dialect)) * 1000 >= until) return 'late';
    if (!isNew) return 'before';
    const batch = begins === undefined ? jobs[0]?.batch?.id : undefined;
    const ties = jobs.map((job) => job.batch);
    const late = batch === undefined ? undefined : yield* changeBatch(dialect, batch, skipped(ties));
    if (late !== undefined) {
      if (late.followUps.length > 0) yield* dialect.jobs.push(late.followUps.map(followerOf), undefined);
      return 'skipped';
    }
    if (jobs.length === 0 && begins === undefined) return [];
    const holders = checked(yield* dialect.jobs.push(jobs, undefined, begins));
    return jobs.map((_, place) => holders?.get(place) ?? 'queued');
  });
}

const isMark = ({ text }: Dialect, key: string): Sql => sql`kind = ${KIND} AND id = ${text(key)}`;
