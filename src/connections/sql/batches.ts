/**
 * The batches of a database: what a connection shows of them, and their rows.
 *
 * Every change of a row runs in the transaction that pushes or ends the batch's jobs, and holds the row lock until that
 * transaction ends, so calls that end the last jobs at the same time do so one after another. Several batches are locked in
 * the order of their ids, as two calls could deadlock otherwise.
 */
import type { Seconds, Milliseconds } from '../../base/clock';
import type { FailedLink } from '../../job/job-context';
import {
  type BatchCallbacks,
  type BatchState,
  type BatchStore,
  BATCH_KEPT,
  type BatchCallback,
  type BatchEnd,
  type BatchEvent,
  type NewBatch,
} from '../batch-store';
import type { FollowUp, Finding, RecountOptions } from '../contract';
import {
  cancelled,
  changeBy,
  held,
  sealed,
  type BatchChange,
  type Rule,
  changed,
  endOf,
  stateOf,
  sumOf,
  type BatchStep,
  type KeptBatch,
} from '../kit/batch-counts';
import { followerOf, tiedIn, type Removed, type Dialect, type Wording, isTrue, type Leaving } from './dialect';
import { orderOf, repeatable, DatabasePart, type Purpose } from './database';
import {
  raw,
  sql,
  numeral,
  rowsOf,
  valueOf,
  type Work,
  type Sql,
  type SqlValue,
  numberOf,
  run,
  runEach,
  writtenPages,
  type SqlRow,
} from './statement';
import { rowLimit, AFTER_ALL } from './jobs';
import { readTies, type BatchTie, type Ties } from '../../payload/ties';

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
    const isThis = sql`WHERE id = ${this.dialect.key(id)}`;
    const found = await this.database.run(`the batch ${id} was not read`, () => listBatches(this.dialect, isThis));
    return found[0];
  }

  async callbacks(id: string): Promise<BatchCallbacks | undefined> {
    return this.database.run(`what the batch ${id} sends was not read`, () => callbacksOf(this.dialect, id));
  }

  async list({ limit, offset = 0 }: Parameters<BatchStore['list']>[0]): Promise<readonly BatchState[]> {
    const page = sql`ORDER BY created_at DESC, id DESC LIMIT ${rowLimit(limit)} OFFSET ${rowLimit(offset)}`;
    return this.database.run('no batches were listed', () => listBatches(this.dialect, page));
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
    const removing = batchRemoval(this.dialect, olderThan, unfinished, PRUNED);
    return this.database.inPieces(purpose, writtenPages(PRUNED, removing));
  }

  /**
   * First looks at all batches without locking them, which also reports those whose jobs end meanwhile. Then locks these
   * suspects and looks again: whoever ends their jobs now waits for the lock, and uncommitted changes are invisible.
   */
  async recount({ repair }: RecountOptions): Promise<readonly Finding[]> {
    const { dialect } = this;
    const looking = { consequence: 'nothing was recounted', deadline: RECOUNT_DEADLINE };
    const unfinished = await this.database.run(looking, () => listBatches(dialect, UNFINISHED));
    const weights = await this.database.inPieces(looking, weightsOf(dialect));
    const suspects = miscounted(unfinished, weights);
    const found: Finding[] = [];
    for (let at = 0; at < suspects.length; at += PAGE) {
      const ids = suspects.slice(at, at + PAGE).map(({ batch }) => batch);
      const repairing: Purpose = { ...looking, writes: 'once', durable: true };
      const step = await this.#sending(repairing, function* () {
        const batches = yield* lockBatches(dialect, ids);
        const findings = miscounted(batches, yield* weightsOf(dialect));
        return { findings, followUps: repair ? yield* leaveBatches(dialect, repairsOf(findings, batches)) : [] };
      });
      found.push(...step!.findings);
    }
    return found;
  }

  /** Runs work that removes jobs, and updates the batches of these jobs, in one transaction. */
  async removing<T extends Pick<Removed, 'tied'>>(purpose: Purpose, work: () => Work<T>): Promise<T> {
    const { dialect } = this;
    const { done } = (await this.#sending(purpose, function* () {
      const done = yield* work();
      const changes = changesBy(done.tied);
      return { done, followUps: changes.size === 0 ? [] : yield* leaveBatches(dialect, changes) };
    }))!;
    return done;
  }

  /** Whether it has changed. */
  async #change(purpose: Purpose, id: string, rule: Rule): Promise<boolean> {
    return (await this.#sending(purpose, () => changeBatch(this.dialect, id, rule))) !== undefined;
  }

  /** Runs work, and pushes what its batches send, in one transaction. */
  async #sending<T extends { readonly followUps: readonly FollowUp[] }>(
    purpose: Purpose,
    work: () => Work<T | undefined>,
  ): Promise<T | undefined> {
    const { jobs, transaction } = this.dialect;
    const done = await this.database.run(purpose, () =>
      transaction(function* () {
        const step = yield* work();
        const followers = step?.followUps.map(followerOf) ?? [];
        if (followers.length === 0) return step;
        yield* runEach(jobs.remember(queuesOf(step!.followUps)));
        yield* jobs.push(followers, undefined);
        return step;
      }),
    );
    this.database.wrote(...queuesOf(done?.followUps ?? []));
    return done;
  }
}

/** @param begins the batch that begins with them, whose callbacks go to queues as well */
export const queuesOf = (sent: readonly { readonly queue: string }[], begins?: NewBatch): readonly string[] => [
  ...new Set([...sent, ...(begins?.callbacks ?? [])].map(({ queue }) => queue)),
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
type Weights = ReadonlyMap<string, number>;

/**
 * Reads the payloads of all jobs, because rows that somebody removed by hand were never counted. A consistent result if the
 * batches are locked.
 */
function* weightsOf({ tables, tiedEnd, rows }: Dialect): Work<Weights> {
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
function repairsOf(findings: readonly Miscounted[], batches: readonly BatchState[]): ReadonlyMap<string, BatchChange> {
  const skipped = new Map(batches.map((batch) => [batch.id, batch.skipped]));
  return new Map(
    findings.map(({ batch, pending, found }) => {
      const change = found - pending;
      return [batch, { pending: change, skipped: -Math.min(change, skipped.get(batch)!) }];
    }),
  );
}

/**
 * Placeholder for a batch's callbacks until one of them is due: their texts are long, and are needed only a few times in its
 * life.
 */
const UNREAD: readonly BatchCallback[] = (['then', 'catch', 'finally', 'next', 'progress'] as const).map((on) => {
  return { on, queue: '', head: '', id: '' };
});

const COLUMNS = raw(
  'allows_failures, pending, completed, failed, skipped, created_at, finished_at, cancelled_at, open_until, every_jobs, open_for',
);

/** Finished batches that each new batch removes: more than one, so that they never pile up. */
const SWEPT = 10;

/** Batches that one statement removes when they are pruned. */
const PRUNED = 500;

/**
 * Why the batch takes no more jobs; undefined if it still takes some.
 * @param begins given if the batch starts with this push
 */
export function* beginBatch(dialect: Wording, id: string, begins: NewBatch | undefined): Work<BatchEnd | undefined> {
  if (begins === undefined) return endOf((yield* heldBatch(dialect, id))?.batch);
  yield* runEach(batchBeginning(dialect, begins));
  return undefined;
}

/** Adds the row of a new batch, and removes some batches that finished long ago. */
export function batchBeginning(
  dialect: Wording,
  { id, name, allowsFailures, callbacks, every, openFor }: NewBatch,
): readonly Sql[] {
  const { after, now, text, key, replace, tables } = dialect;
  const row = {
    id: key(id),
    name: text(name),
    allows_failures: raw(allowsFailures ? 'TRUE' : 'FALSE'),
    ...{ pending: 0, completed: 0, failed: 0, skipped: 0 },
    created_at: now(),
    ...{ finished_at: null, cancelled_at: null, open_until: openFor === undefined ? null : after(openFor) },
    ...{ every_jobs: every ?? null, open_for: openFor ?? null, callbacks: text(JSON.stringify(callbacks)), sent: '' },
  };
  return [batchRemoval(dialect, BATCH_KEPT, false, SWEPT), replace(tables.batches, ['id'], row)];
}

/** Counts jobs that have ended. Returns what their batches send because of it. */
export function* leaveBatches(dialect: Wording, changes: ReadonlyMap<string, BatchChange>): Work<readonly FollowUp[]> {
  const followUps: FollowUp[] = [];
  for (const id of [...changes.keys()].toSorted()) {
    const step = yield* changeBatch(dialect, id, changed(changes.get(id)!));
    followUps.push(...(step?.followUps ?? []));
  }
  return followUps;
}

/** Locks the batches, and returns those that exist. */
function* lockBatches(dialect: Wording, ids: readonly string[]): Work<readonly BatchState[]> {
  const states: BatchState[] = [];
  for (const id of ids.toSorted()) {
    const held = yield* heldBatch(dialect, id);
    if (held !== undefined) states.push(stateOf(held.batch));
  }
  return states;
}

/** The ids of the given batches that were cancelled. */
export function* cancelledBatches({ read, tables, key }: Wording, ids: readonly string[]): Work<ReadonlySet<string>> {
  const rows = yield* rowsOf(
    sql`SELECT ${read('id')} FROM ${tables.batches} WHERE id IN (${ids.map(key)}) AND cancelled_at IS NOT NULL`,
  );
  return new Set(rows.map(([id]) => String(id)));
}

/** Newest first. */
function* listBatches(dialect: Wording, rest: Sql): Work<readonly BatchState[]> {
  const rows = yield* rowsOf(select(dialect, rest));
  return rows.map((row) => stateOf(batchOf(row)));
}

/** The batch's callbacks; undefined if the batch is unknown. */
function* callbacksOf({ read, tables, key }: Wording, id: string): Work<BatchCallbacks | undefined> {
  const columns = [read('callbacks'), read('sent'), raw('every_jobs')];
  const [row] = yield* rowsOf(sql`SELECT ${columns} FROM ${tables.batches} WHERE id = ${key(id)}`);
  if (row === undefined) return undefined;
  const [callbacks, sent, every] = row;
  return {
    callbacks: JSON.parse(String(callbacks)) as readonly BatchCallback[],
    sent: eventsIn(sent),
    every: numberOf(every),
  };
}

/** Removes batches that finished before that age, and with `unfinished` also those that began before it and have not finished. */
export function batchRemoval(
  { tables, after, remove, skipLocked }: Wording,
  age: Seconds,
  unfinished: boolean,
  most: number,
): Sql {
  const isOld = sql`finished_at < ${after(-age)}`;
  const condition = unfinished ? sql`(${isOld} OR finished_at IS NULL AND created_at < ${after(-age)})` : isOld;
  return remove(
    tables.batches,
    ['id'],
    sql`SELECT id FROM ${tables.batches} WHERE ${condition} LIMIT ${most} ${skipLocked}`,
  );
}

/** Undefined if it does not change, or is gone: whoever pruned it does not want its callbacks. */
export function* changeBatch(dialect: Wording, id: string, rule: Rule): Work<BatchStep | undefined> {
  const { batch, now } = (yield* heldBatch(dialect, id)) ?? {};
  const outline = batch && rule(batch, now!);
  if (outline === undefined) return undefined;
  const isSilent = outline.followUps.length === 0;
  const step = isSilent ? outline : rule({ ...batch!, ...(yield* callbacksOf(dialect, id)) }, now!)!;
  yield* run(update(dialect, step.batch));
  return step;
}

/** Reads the batch, and locks it until the transaction ends. Call it before unique keys are locked, as pushes do. */
export function* heldBatch(
  dialect: Wording,
  id: string,
): Work<{ readonly batch: KeptBatch; readonly now: Milliseconds } | undefined> {
  const isThis = sql`WHERE id = ${dialect.key(id)}`;
  const [row] = yield* rowsOf(select(dialect, sql`${isThis} ${dialect.forUpdate}`));
  return row && { batch: batchOf(row), now: moment(row.at(-1))! };
}

function select({ read, tables, now }: Wording, rest: Sql): Sql {
  const texts = [read('id'), read('name'), read('sent')];
  return sql`SELECT ${texts}, ${COLUMNS}, ${now()} FROM ${tables.batches} ${rest}`;
}

function update(
  { tables, key }: Wording,
  { id, pending, completed, failed, skipped, finishedAt, cancelledAt, openUntil, sent }: KeptBatch,
): Sql {
  return sql`UPDATE ${tables.batches} SET pending = ${pending}, completed = ${completed}, failed = ${failed},
    skipped = ${skipped}, finished_at = ${seconds(finishedAt)}, cancelled_at = ${seconds(cancelledAt)},
    open_until = ${seconds(openUntil)}, sent = ${sent.join(',')} WHERE id = ${key(id)}`;
}

/** Selects a row if there is an unfinished batch. @param condition a further condition on the batch */
export function findUnfinished(batches: Sql, condition = raw('TRUE')): Sql {
  return sql`SELECT 1 FROM ${batches} WHERE finished_at IS NULL AND ${condition} LIMIT 1`;
}

/** Adds the changes up, so that each batch is updated once. */
export function changesOf(leavings: readonly Leaving[]): ReadonlyMap<string, BatchChange> {
  const changes = new Map<string, BatchChange>();
  for (const { id, change } of leavings) changes.set(id, sumOf(changes.get(id), change));
  return changes;
}

function batchOf(row: SqlRow): KeptBatch {
  const [id, name, sent, allows, pending, completed, failed, skipped, ...rest] = row;
  const [created, finished, cancelled, open, every, openFor] = rest;
  return {
    id: String(id),
    name: String(name),
    allowsFailures: isTrue(allows),
    pending: Number(pending),
    completed: Number(completed),
    failed: Number(failed),
    skipped: Number(skipped),
    createdAt: moment(created)!,
    finishedAt: moment(finished),
    cancelledAt: moment(cancelled),
    openUntil: moment(open),
    every: numberOf(every),
    openFor: numberOf(openFor),
    callbacks: UNREAD,
    sent: eventsIn(sent),
  };
}

const eventsIn = (sent: SqlValue | undefined): readonly BatchEvent[] =>
  String(sent)
    .split(',')
    .filter((event) => event !== '') as BatchEvent[];

/** Converts seconds to milliseconds since 1970. */
function moment(value: SqlValue | undefined): Milliseconds | undefined {
  const found = numberOf(value);
  return found === undefined ? undefined : Math.round(found * 1000);
}

const seconds = (at: Milliseconds | undefined): Seconds | null => (at === undefined ? null : at / 1000);
