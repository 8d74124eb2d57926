/** The failed jobs of a database. */
import type { Seconds } from '../../base/clock';
import { envelopeIn } from '../../payload/envelope';
import { readTies } from '../../payload/ties';
import { UNREADABLE_NAME } from '../../payload/counters';
import { uuidv7 } from '../../payload/uuid';
import {
  bytesOfEntry,
  withoutPlace,
  keptUnder,
  type FailedEntry,
  type FailedSearch,
  type FailedStore,
  type Forgotten,
  type ListedEntry,
} from '../failed-store';
import { nextToRead } from '../../base/collections';
import { retried } from '../kit/batch-counts';
import { changeBatch, heldBatch } from './batches';
import { countMany } from './queues';
import { newJob, type Dialect, type NewFailure, type Wording } from './dialect';
import { repeatable, DatabasePart } from './database';
import {
  numeral,
  raw,
  rowsOf,
  runEach,
  sql,
  written,
  writtenPages,
  type Row,
  type RowId,
  type Sql,
  type SqlRow,
  type SqlValue,
  type Work,
} from './statement';
import { rowLimit, AFTER_ALL, BEFORE_ALL, rowAfter } from './jobs';

/** Entries that one call removes: 500 took MariaDB 10 ms when it had to read them from disk. */
const PAGE = 200;

/** Entries that one statement skips or examines: about 2 ms on the slowest store. */
const LOOKED_AT = 1000;

const REMOVING = repeatable('not all of the failed jobs were removed');

export class FailedJobs extends DatabasePart implements FailedStore {
  async put(entry: NewFailure): Promise<string> {
    const consequence = `the failed job ${entry.id} was not kept`;
    // The same id whenever this call is repeated.
    const own = uuidv7();
    const dialect = this.dialect;
    return this.database.run({ ...repeatable(consequence), durable: true }, function* () {
      const id = keptUnder(yield* failedJob(dialect, entry.id), entry, () => own);
      if (id === undefined) return entry.id;
      // Replaces the entry with the same id, and becomes the newest.
      yield* written(dialect.replace(dialect.tables.failed, ['uuid'], rowOf(dialect, { ...entry, id }), 'id'));
      return id;
    });
  }

  async list(options: Parameters<FailedStore['list']>[0]): Promise<readonly ListedEntry[]> {
    return this.database.inPieces('no failed jobs were listed', this.#page(options));
  }

  async find(id: string): Promise<readonly FailedEntry[]> {
    const entry = await this.database.run(`the failed job ${id} was not read`, () => failedJob(this.dialect, id));
    return entry === undefined ? [] : [entry];
  }

  async count(queue?: string): Promise<number> {
    return this.database.inPieces('no failed jobs were counted', countMany(this.dialect, this.#of(queue), raw('id')));
  }

  async retry(entry: FailedEntry, payload: Buffer): Promise<boolean | { readonly held: string }> {
    const { id, queue, failedAt } = entry;
    const { dialect } = this;
    const { jobs, key, failed, transaction, skipLocked } = dialect;
    const purpose = { consequence: `the failed job ${id} was not retried`, writes: 'once' } as const;
    const ties = readTies(payload);
    const batch = ties?.batch;
    const job = { ...newJob(payload, 0), queue, unique: false, tie: ties?.unique, lane: ties?.lane };
    const thisJob = sql`FROM ${this.#table}
      WHERE uuid = ${key(id)} AND ${failed.failedAt} = ${failedAt} AND ${failed.hasPayload(entry.payload)}`;
    const result = await this.database.run(purpose, () =>
      transaction(function* () {
        // If another call is retrying it, it is as good as gone.
        if ((yield* rowsOf(sql`SELECT 1 ${thisJob} ${skipLocked}`)).length === 0) return false;
        yield* runEach(jobs.remember([queue]));
        if (batch !== undefined) yield* heldBatch(dialect, batch.id);
        const refused = yield* jobs.push([job], undefined);
        const held = typeof refused === 'object' ? refused.get(0) : undefined;
        if (held !== undefined && 'duplicate' in held) return { held: held.duplicate };
        yield* written(sql`DELETE ${thisJob}`);
        if (batch !== undefined) yield* changeBatch(dialect, batch.id, retried(batch.weight));
        return true;
      }),
    );
    if (result === true) this.database.wrote(queue);
    return result;
  }

  async forget({ id, queue, payload }: Forgotten): Promise<boolean> {
    const { key, failed } = this.dialect;
    const isThis = payload === undefined ? raw('') : sql`AND ${failed.hasPayload(payload)}`;
    const removal = sql`DELETE FROM ${this.#table} WHERE uuid = ${key(id)} AND queue = ${queue} ${isThis}`;
    const purpose = { consequence: `the failed job ${id} was kept`, writes: 'once' } as const;
    return (await this.database.run(purpose, () => written(removal))) > 0;
  }

  async flush(queue?: string): Promise<number> {
    return this.database.inPieces(REMOVING, this.#removeOthers(0, queue));
  }

  async prune({ olderThan, keep, queue }: Parameters<FailedStore['prune']>[0]): Promise<number> {
    const removing = (work: Work<number>): Promise<number> => this.database.inPieces(REMOVING, work);
    const old = olderThan === undefined ? 0 : await removing(this.#removeOlder(olderThan, queue));
    return keep === undefined ? old : old + (await removing(this.#removeOthers(keep, queue)));
  }

  *#page({
    queue,
    limit,
    offset = 0,
    after,
    search,
  }: Parameters<FailedStore['list']>[0]): Work<readonly ListedEntry[]> {
    const { rows } = this.dialect;
    const found: ListedEntry[] = [];
    const matching = this.#matching(search);
    const first = offset > 0 ? yield* this.#idAt(offset, queue) : AFTER_ALL;
    let from = first === undefined ? undefined : sql`id <= ${numeral(first)}`;
    if (after !== undefined) from = sql`id < ${numeral(after)}`;
    let bytes = 0;
    for (let left = rowLimit(limit); left > 0 && from !== undefined;) {
      const most = nextToRead(left, found.length, bytes);
      // A search looks at so many entries in each statement, whether they match or not.
      const next: readonly SqlRow[] | undefined =
        matching &&
        (yield* rowsOf(sql`SELECT id ${this.#of(queue)} AND ${from} ORDER BY id DESC LIMIT 1 OFFSET ${rows(PAGE)}`));
      const end = next?.[0] && String(next[0][0]);
      const span = matching && sql`${end === undefined ? raw('') : sql`AND id > ${numeral(end)}`} ${matching}`;
      const some: Sql = sql`${this.#inQueue(queue)} AND ${from} ${span ?? raw('')} ORDER BY id DESC LIMIT ${rows(most)}`;
      const page: readonly ListedEntry[] = yield* entries(this.dialect, some);
      found.push(...page);
      left -= page.length;
      for (const entry of page) bytes += bytesOfEntry(entry);
      const last = page.length < most ? undefined : page.at(-1)!.place;
      if (last !== undefined) from = sql`id < ${numeral(last)}`;
      else from = end === undefined ? undefined : sql`id <= ${numeral(end)}`;
    }
    return found;
  }

  /** The conditions for what somebody looks for. Undefined if there are none. */
  #matching({ connection, name, batch, error, until }: FailedSearch = {}): Sql | undefined {
    const { failed, text } = this.dialect;
    const all = [
      connection === undefined ? undefined : sql`AND connection = ${connection}`,
      // What Laravel has written there has no name of its own.
      name === undefined ? undefined : sql`AND COALESCE(name, '') IN (${text(name)}, '')`,
      // Any other id is written differently in a payload.
      batch === undefined || !/^[\w-]+$/.test(batch) ? undefined : sql`AND ${failed.contains('payload', batch)}`,
      // The stars of a masked secret are not in the stored text.
      error === undefined || error.includes('*') ? undefined : sql`AND ${failed.contains('exception', text(error))}`,
      until === undefined ? undefined : sql`AND ${failed.failedAt} <= ${Math.ceil(until)}`,
    ].filter((condition) => condition !== undefined);
    return all.length === 0 ? undefined : all.reduce((some, condition) => sql`${some} ${condition}`);
  }

  *#removeOlder(age: Seconds, queue: string | undefined): Work<number> {
    const { failed, now } = this.dialect;
    // No index helps here: two of the databases store the time in either of two columns.
    return yield* this.#removeAlong(this.#of(queue), sql`AND ${failed.failedAt} < (${now()} - ${age}) * 1000`);
  }

  /** Removes all but the `keep` newest. Jobs that fail meanwhile stay, or this might never end. */
  *#removeOthers(keep: number, queue: string | undefined): Work<number> {
    const newest = yield* this.#idAt(keep, queue);
    return newest === undefined
      ? 0
      : yield* this.#removeAlong(sql`${this.#of(queue)} AND id <= ${numeral(newest)}`, raw(''));
  }

  /**
   * Removes the entries that are old or surplus, part by part: MariaDB keeps removed rows in its index for a while, and a page
   * that began before them would pass them all again.
   */
  *#removeAlong(entriesOf: Sql, condition: Sql): Work<number> {
    const { rows } = this.dialect;
    let removed = 0;
    for (let last: SqlValue | undefined = BEFORE_ALL; last !== undefined;) {
      const rest: Sql = sql`${entriesOf} AND id > ${numeral(last)}`;
      const end: Sql = sql`SELECT id ${rest} ORDER BY id LIMIT 1 OFFSET ${rows(LOOKED_AT - 1)}`;
      const [row]: readonly SqlRow[] = yield* rowsOf(end);
      last = row?.[0];
      const some = last === undefined ? rest : sql`${rest} AND id <= ${numeral(last)}`;
      removed += yield* this.#remove(sql`${some} ${condition}`);
    }
    return removed;
  }

  *#remove(which: Sql): Work<number> {
    const { remove, rows } = this.dialect;
    const page = sql`SELECT id ${which} ORDER BY id LIMIT ${rows(PAGE)}`;
    return yield* writtenPages(PAGE, remove(this.#table, ['id'], page));
  }

  /** The id of the entry that follows so many of the newest. */
  *#idAt(place: number, queue: string | undefined): Work<RowId | undefined> {
    const { rows } = this.dialect;
    const next = ([id]: SqlRow, skipped: number): Sql =>
      sql`SELECT id ${this.#of(queue)} AND id <= ${numeral(id!)} ORDER BY id DESC LIMIT 1 OFFSET ${rows(skipped)}`;
    const row = yield* rowAfter(place, LOOKED_AT, [AFTER_ALL], next);
    return row && String(row[0]);
  }

  #of(queue: string | undefined): Sql {
    return sql`FROM ${this.#table} ${this.#inQueue(queue)}`;
  }

  #inQueue(queue: string | undefined): Sql {
    const { all, alongQueue } = this.dialect.failed;
    return queue === undefined ? sql`WHERE ${all}` : sql`${alongQueue} WHERE queue = ${queue}`;
  }

  get #table(): Sql {
    return this.dialect.tables.failed;
  }
}

function* failedJob(dialect: Dialect, id: string): Work<FailedEntry | undefined> {
  const [found] = yield* entries(dialect, sql`WHERE uuid = ${dialect.key(id)}`);
  return found && withoutPlace(found);
}

function* entries({ tables, failed, read }: Dialect, rest: Sql): Work<readonly ListedEntry[]> {
  const texts = ['uuid', 'connection', 'queue', 'exception', `COALESCE(name, '')`].map((column) => read(column));
  const rows = yield* rowsOf(
    sql`SELECT id, ${[...texts, failed.payload, failed.failedAt]}, attempts FROM ${tables.failed} ${rest}`,
  );
  // The id of its row is its place.
  return rows.map(([place = null, ...row]) => ({ ...entryOf(row, failed.payloadOf), place: String(place) }));
}

function entryOf(row: SqlRow, payloadOf: Dialect['failed']['payloadOf']): FailedEntry {
  const [id, connection, queue, exception, name, stored = null, failedAt, attempts] = row;
  const payload = payloadOf(stored);
  return {
    id: String(id),
    connection: String(connection),
    queue: String(queue),
    payload,
    exception: String(exception),
    name: String(name) || (envelopeIn(payload)?.name ?? UNREADABLE_NAME),
    failedAt: Math.round(Number(failedAt)),
    attempts: Number(attempts),
  };
}

/**
 * Adds the entry, under a new id if one with its id exists: it does not replace that one, so if two fail at the same moment
 * both are kept.
 *
 * @param of the jobs it comes from, as `FROM … WHERE …`: nothing is added if there are none
 */
export function addFailed(dialect: Wording, entry: NewFailure, of = raw(''), payload?: Sql): Sql {
  const table = dialect.tables.failed;
  const { uuid = null, ...row } = { ...rowOf(dialect, entry), ...(payload && { payload }) };
  const free = sql`CASE WHEN EXISTS (SELECT 1 FROM ${table} WHERE uuid = ${uuid}) THEN ${uuidv7()} ELSE ${uuid} END`;
  const columns = ['uuid', ...Object.keys(row)].map((name) => raw(name));
  return sql`INSERT INTO ${table} (${columns}) SELECT ${[free, ...Object.values(row)]} ${of}`;
}

function rowOf({ key, text, failed }: Wording, entry: NewFailure): Row {
  const { id, connection, queue, payload, exception, name, attempts } = entry;
  return {
    uuid: key(id),
    connection,
    queue,
    ...failed.storedPayload(payload),
    exception: text(exception),
    name: text(name),
    attempts,
    ...failed.failedNow(),
  };
}
