/**
 * Pushes jobs into the tables. Jobs pushed while a call is under way travel together in the next one: a commit costs more
 * than the jobs in it, and wakes the workers only once.
 */
import { withConsequence } from '../../base/onqueue-error';
import { MOST_BYTES, MOST_JOBS, pagesOf } from '../../base/collections';
import type { NewBatch } from '../batch-store';
import type { Pushed, Once, PushedOnce } from '../contract';
import { ConnectionClosedError, QueueUnavailableError } from '../errors';
import { skipped } from '../kit/batch-counts';
import { Lane } from '../kit/lane';
import type { Holders, QueuedJob, Dialect, PushAnswer } from './dialect';
import { packetTooLarge } from './errors';
import { queuesOf } from './batches';
import { timeOf } from './jobs';
import { removeEnded } from './records';
import { followerOf } from './exchange';
import { rowsOf, runEach, sql, written, type Sql, type Work } from './statement';

interface Load {
  readonly jobs: readonly QueuedJob[];
  readonly begins?: NewBatch | undefined;
  readonly consequence: string;
  readonly resolve: (holders: Holders | undefined) => void;
  readonly reject: (error: unknown) => void;
}

/** Sends one call. Resolves with the holders of keys that the jobs wanted. */
export type Send = (
  jobs: readonly QueuedJob[],
  consequence: string,
  begins: NewBatch | undefined,
) => Promise<Holders | undefined>;

export class PushLane {
  readonly #connection: string;
  readonly #send: Send;
  readonly #lane: Lane<Load>;
  #closed = false;

  /** @param most how many jobs one call pushes */
  constructor(connection: string, send: Send, most = MOST_JOBS) {
    this.#connection = connection;
    this.#send = send;
    this.#lane = new Lane({ carry: (loads) => this.#carry(loads), fitting: (loads) => fitting(loads, most) });
  }

  /** Sends the waiting pushes first. */
  async close(): Promise<void> {
    this.#closed = true;
    await this.#lane.settled;
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
  async pushBatch(jobs: readonly QueuedJob[], begins: NewBatch | undefined): Promise<readonly Pushed[] | undefined> {
    const consequence = jobs.length === 1 ? 'the job was not queued' : 'no job of the batch was queued';
    return pushedOf(jobs.length, (await this.push(jobs, consequence, begins)) ?? new Map());
  }

  /** Resolves when the store has confirmed all jobs. They go in together, whatever else travels with them. */
  push(jobs: readonly QueuedJob[], consequence: string, begins?: NewBatch): Promise<Holders | undefined> {
    return new Promise((resolve, reject) => {
      if (this.#closed) throw new ConnectionClosedError(this.#connection, 'push');
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
      for (const load of loads) await this.#carryAlone(load);
    }
  }

  /** A push that is refused does not affect others. */
  async #carryAlone(load: Load): Promise<void> {
    try {
      await this.#carry([load]);
    } catch (error) {
      if (!isRefusal(error)) throw error;
      load.reject(error);
    }
  }
}

/** The holders for some jobs of a call, which come after `before` others. */
function holdersAmong({ length }: readonly QueuedJob[], holders: Holders, before: number): Holders {
  const among = [...holders].filter(([index]) => index >= before && index < before + length);
  return new Map(among.map(([index, holder]) => [index - before, holder]));
}

/** What became of each of `length` jobs; undefined if all were added. */
export function pushedOf(length: number, held: Holders): readonly Pushed[] | undefined {
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

const KIND = 'once';

/** Takes no lock, as most calls come second. Undefined if the jobs are to be pushed. */
export function* lookOnce(dialect: Dialect, { key, until }: Once): Work<'before' | 'late' | undefined> {
  const { tables, now } = dialect;
  const [[time, mark = null] = []] = yield* rowsOf(
    sql`SELECT ${now()}, (SELECT 1 FROM ${tables.records} WHERE ${isMark(dialect, key)} AND ends_at > ${now()})`,
  );
  if (until > 0 && Number(time) * 1000 >= until) return 'late';
  if (mark !== null) return 'before';
  return until === 0 ? 'late' : undefined;
}

/** @param checked throws if the jobs were refused; then the key is not kept either */
export function* pushOnce(
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
    const late = batch === undefined ? undefined : yield* dialect.batches.change(batch, skipped(ties));
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
