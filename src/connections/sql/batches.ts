/**
 * The public view of a database's batches, and how batches change when jobs are removed, be it by operators or by others.
 */
import type { Seconds } from '../../base/clock';
import type { FailedLink } from '../../job/job-context';
import type { BatchCallbacks, BatchState, BatchStore } from '../batch-store';
import type { FollowUp, Finding, RecountOptions } from '../contract';
import { cancelled, changeBy, held, sealed, type BatchChange, type Rule } from '../kit/batch-counts';
import { tiedIn, type Removed, type Dialect } from './dialect';
import { orderOf, repeatable, DatabasePart, type Purpose } from './database';
import { raw, sql, written, numeral, rowsOf, valueOf, type Work, type Sql, type SqlValue } from './statement';
import { rowLimit, AFTER_ALL } from './jobs';
import { followerOf } from './exchange';
import { readTies, type BatchTie, type Ties } from '../../payload/ties';
import { changesOf, type BatchRows } from './batch-rows';

/** Batches that one call recounts. */
const PAGE = 500;

/** Reading the end of every payload takes longer than other calls. */
const RECOUNT_DEADLINE: Seconds = 600;

/** Jobs that a recount reads at once. */
const READ_AT_ONCE = 1000;

/** Nobody looks at the count of a finished batch, unless it got jobs again. */
const UNFINISHED = raw('WHERE finished_at IS NULL OR pending <> 0');

export class Batches extends DatabasePart implements BatchStore {
  async find(id: string): Promise<BatchState | undefined> {
    return this.database.run({ consequence: `the batch ${id} was not read` }, () => this.dialect.batches.find(id));
  }

  async callbacks(id: string): Promise<BatchCallbacks | undefined> {
    const purpose = { consequence: `what the batch ${id} sends was not read` };
    return this.database.run(purpose, () => this.dialect.batches.callbacks(id));
  }

  async list({ limit, offset = 0 }: Parameters<BatchStore['list']>[0]): Promise<readonly BatchState[]> {
    const page = sql`ORDER BY created_at DESC, id DESC LIMIT ${rowLimit(limit)} OFFSET ${rowLimit(offset)}`;
    return this.database.run({ consequence: 'no batches were listed' }, () => this.dialect.batches.list(page));
  }

  hold(id: string): Promise<boolean> {
    return this.#change(repeatable(`the batch ${id} was not held open`), id, held);
  }

  seal(id: string, _queue?: string, abandoned?: FailedLink): Promise<boolean> {
    return this.#change(orderOf(`the batch ${id} was not sealed`), id, sealed(abandoned));
  }

  cancel(id: string): Promise<boolean> {
    return this.#change(orderOf(`the batch ${id} was not cancelled`), id, cancelled);
  }

  async prune({ olderThan, unfinished = false }: Parameters<BatchStore['prune']>[0]): Promise<number> {
    const purpose = repeatable('not all of the batches were removed');
    return this.database.inPieces(purpose, this.dialect.batches.prune(olderThan, unfinished));
  }

  /**
   * First looks at all batches without locking them, which also reports those whose jobs end meanwhile. Then locks these
   * suspects and looks again: whoever ends their jobs now waits for the lock, and uncommitted changes are invisible.
   */
  async recount({ repair }: RecountOptions): Promise<readonly Finding[]> {
    const { dialect } = this;
    const looking = { consequence: 'nothing was recounted', deadline: RECOUNT_DEADLINE };
    const { batches: rows } = dialect;
    const unfinished = await this.database.run(looking, () => rows.list(UNFINISHED));
    const weights = await this.database.inPieces(looking, weightsOf(dialect));
    const suspects = miscounted(unfinished, weights);
    const found: Finding[] = [];
    for (let at = 0; at < suspects.length; at += PAGE) {
      const ids = suspects.slice(at, at + PAGE).map(({ batch }) => batch);
      const repairing: Purpose = { ...looking, writes: 'once', durable: true };
      const step = await this.#sending(repairing, function* () {
        const batches = yield* rows.lockAll(ids);
        const findings = miscounted(batches, yield* weightsOf(dialect));
        return { findings, followUps: repair ? yield* rows.leave(repairsOf(findings, batches)) : [] };
      });
      found.push(...step!.findings);
    }
    return found;
  }

  /** Runs work that removes jobs, and updates the batches of these jobs, in one transaction. */
  async removing<T extends Pick<Removed, 'tied'>>(purpose: Purpose, work: () => Work<T>): Promise<T> {
    const { done } = (await this.#sending(purpose, function* (rows) {
      const done = yield* work();
      const changes = changesBy(done.tied);
      return { done, followUps: changes.size === 0 ? [] : yield* rows.leave(changes) };
    }))!;
    return done;
  }

  /** Whether it has changed. */
  async #change(purpose: Purpose, id: string, rule: Rule): Promise<boolean> {
    return (await this.#sending(purpose, (rows) => rows.change(id, rule))) !== undefined;
  }

  /** Runs work, and pushes what its batches send, in one transaction. */
  async #sending<T extends { readonly followUps: readonly FollowUp[] }>(
    purpose: Purpose,
    work: (rows: BatchRows) => Work<T | undefined>,
  ): Promise<T | undefined> {
    const { batches: rows, jobs, transaction } = this.dialect;
    const done = await this.database.run(purpose, () =>
      transaction(function* () {
        const step = yield* work(rows);
        const followers = step?.followUps.map(followerOf) ?? [];
        if (followers.length === 0) return step;
        for (const queue of jobs.remember === undefined ? [] : queuesOf(step!.followUps)) {
          yield* written(jobs.remember!(queue));
        }
        yield* jobs.push(followers, undefined);
        return step;
      }),
    );
    this.database.wrote(...queuesOf(done?.followUps ?? []));
    return done;
  }
}

export const queuesOf = (sent: readonly { readonly queue: string }[]): readonly string[] => [
  ...new Set(sent.map(({ queue }) => queue)),
];

/** How batches change when jobs are removed. `ends` are the ends of these jobs' payloads. */
function changesBy(ends: readonly Buffer[]): ReadonlyMap<string, BatchChange> {
  const ties = ends.map(batchAtEnd).filter((tie) => tie !== undefined);
  return changesOf(ties.map((tie) => ({ id: tie.id, change: changeBy(tie) })));
}

const OPENING = Buffer.from('{');

/** The ties of a job, from the end of its payload. */
export function tiesAtEnd(end: Buffer): Ties | undefined {
  return readTies(Buffer.concat([OPENING, end]));
}

const batchAtEnd = (end: Buffer): BatchTie | undefined => tiesAtEnd(end)?.batch;

/** The total weight of the existing jobs of each batch. */
export type Weights = ReadonlyMap<string, number>;

/**
 * Reads the payloads of all jobs, because rows that somebody removed by hand were never counted. A consistent result if the
 * batches are locked.
 */
export function* weightsOf({ tables, tiedEnd, rows }: Dialect): Work<Weights> {
  const weights = new Map<string, number>();
  for (let last: SqlValue = 0; last !== null;) {
    const behind: Sql = sql`FROM ${tables.jobs} WHERE id > ${numeral(last)}`;
    last = yield* valueOf(sql`SELECT id ${behind} ORDER BY id LIMIT 1 OFFSET ${rows(READ_AT_ONCE - 1)}`);
    const ends = yield* rowsOf(
      sql`SELECT ending FROM (SELECT ${tiedEnd} AS ending ${behind} AND id <= ${numeral(last ?? AFTER_ALL)}) AS page
        WHERE ending IS NOT NULL`,
    );
    for (const end of tiedIn(ends.map(([ending = null]) => ending))) {
      const tie = batchAtEnd(end);
      if (tie !== undefined) weights.set(tie.id, (weights.get(tie.id) ?? 0) + tie.weight);
    }
  }
  return weights;
}

type Miscounted = Extract<Finding, { kind: 'miscounted' }>;

export function miscounted(batches: readonly BatchState[], weights: Weights): readonly Miscounted[] {
  const findings = batches.map(({ id, pending }): Miscounted => {
    return { kind: 'miscounted', batch: id, pending, found: weights.get(id) ?? 0 };
  });
  return findings.filter(({ pending, found }) => pending !== found);
}

/** Jobs that are gone count as skipped; jobs that are back no longer do. */
export function repairsOf(
  findings: readonly Miscounted[],
  batches: readonly BatchState[],
): ReadonlyMap<string, BatchChange> {
  const skipped = new Map(batches.map((batch) => [batch.id, batch.skipped]));
  return new Map(
    findings.map(({ batch, pending, found }) => {
      const change = found - pending;
      return [batch, { pending: change, skipped: -Math.min(change, skipped.get(batch)!) }];
    }),
  );
}

/**
 * Batches as rows. Every change runs in the transaction that pushes or ends the batch's jobs, and holds the row lock until
 * that transaction ends, so calls that end the last jobs at the same time do so one after another. Several batches are
 * locked in the order of their ids, as two calls could deadlock otherwise.
 */
