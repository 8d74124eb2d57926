/** The records and sums of a database. */
import { systemRandom, type Seconds } from '../../base/clock';
import { pagesOf } from '../../base/collections';
import type { RecordPage, RecordStore, RecordWake, StoreRecord, Sums } from '../record-store';
import { isTrue, type Addition, type Dialect } from './dialect';
import { repeatable, DatabasePart, type Purpose, type Database } from './database';
import type { RecordWakes } from './waiters';
import {
  raw,
  rowsOf,
  sql,
  valueOf,
  written,
  insertInto,
  type Row,
  type Sql,
  type SqlRow,
  type Work,
} from './statement';
import { rowLimit, BEFORE_ALL, rowAfter } from './jobs';
import type { LockStore } from '../lock-store';

/**
 * The maximum of ended rows that a write removes, besides as many as it writes: more than it adds, so that they never pile
 * up.
 */
const SWEPT = 100;

/** Names whose sums one statement reads: each may have dozens. */
const READ_TOGETHER = 25;

/**
 * The bound of a kind is enforced only now and then, as finding it reads all records that stay: on average once for each
 * hundredth part of the bound that is written.
 */
const BEYOND = 100;

/** Records that one statement skips: about 2 ms on the slowest store. */
const SKIPPED = 5000;

/** Records beyond the bound that one statement removes: also about 2 ms. */
const REMOVED = 250;

/**
 * Seconds that sums are kept after their end: the sums of a name are shown until all of them have ended, and some are
 * updated more often than others.
 */
const AFTERGLOW: Seconds = 3600;

const RECORDS = ['kind', 'id'];

/** A position before all records. */
const FIRST: SqlRow = [Number.MAX_SAFE_INTEGER, ''];

const LAST_FIRST = raw('ORDER BY ends_at DESC, id DESC');

export class SqlRecords extends DatabasePart implements RecordStore {
  readonly wake: RecordWake | undefined;

  constructor(database: Database) {
    super(database);
    const wakes = database.waiters.records;
    this.wake = wakes && {
      put: async (record, keep) => {
        const purpose = repeatable(`the record ${record.id} was not written`);
        await database.run(purpose, () => this.#put([record], keep, wakes));
      },
      listen: (kind, id, wake) => wakes.listen(kind, database.dialect.text(id), wake),
    };
  }

  async put(records: readonly StoreRecord[], keep: Seconds, most = Infinity): Promise<void> {
    const purpose = repeatable('not all of the records were written');
    for (const page of pagesOf(records, ({ value }) => Buffer.byteLength(value))) {
      await this.database.run(purpose, () => this.#put(page, keep));
      for (const kind of new Set(page.map((record) => record.kind))) {
        const count = page.filter((record) => record.kind === kind).length;
        if (systemRandom() < (count * BEYOND) / most) await this.#removeBeyond(kind, most, count);
      }
    }
  }

  async get(kind: string, id: string): Promise<string | undefined> {
    const { tables, read, now } = this.dialect;
    // `ends_at` is not a condition, or PostgreSQL might scan all records of the kind by their ends.
    const value = sql`CASE WHEN ends_at > ${now()} THEN ${read('value')} END`;
    const found = await this.database.run(`the record ${id} was not read`, () =>
      valueOf(sql`SELECT ${value} FROM ${tables.records} WHERE ${this.#isThis(kind, id)}`),
    );
    return found === null ? undefined : String(found);
  }

  async list(kind: string, { limit, offset = 0 }: RecordPage): Promise<readonly StoreRecord[]> {
    const rows = await this.database.inPieces('no records were listed', this.#page(kind, limit, offset));
    return rows.map(([id, value]) => ({ kind, id: String(id), value: String(value) }));
  }

  async replace(record: StoreRecord, expected: string | undefined, keep: Seconds): Promise<boolean> {
    const purpose = { ...repeatable(`the record ${record.id} was not replaced`), durable: true };
    return this.database.run(purpose, () => this.#replace(record, expected, keep));
  }

  async add(sums: readonly Sums[], source: string, sequence: number): Promise<void> {
    const amounts = amountsOf(sums, this.dialect.text);
    if (amounts.length === 0) return;
    const keep = Math.max(...sums.map((one) => one.keep));
    await this.database.run(repeatable('nothing was added to sums'), () =>
      this.#add({ source, sequence, keep, amounts }),
    );
  }

  async sums(names: readonly string[]): Promise<readonly Readonly<Record<string, number>>[]> {
    const { tables, read, text, now } = this.dialect;
    const rows: SqlRow[] = [];
    for (const page of pagesOf(names, () => 0, READ_TOGETHER)) {
      const some = await this.database.run('no sums were read', () =>
        rowsOf(sql`SELECT ${read('name')}, ${read('field')}, amount, CASE WHEN ends_at > ${now()} THEN 1 ELSE 0 END
          FROM ${tables.sums} WHERE name IN (${page.map((name) => text(name))})`),
      );
      rows.push(...some);
    }
    const lasting = new Set(rows.filter(([, , , lasts]) => isTrue(lasts)).map(([name]) => String(name)));
    const fields = new Map([...lasting].map((name) => [name, [] as [string, number][]]));
    for (const [name, field, amount] of rows) fields.get(String(name))?.push([String(field), Number(amount)]);
    return names.map((name) => Object.fromEntries(fields.get(text(name)) ?? []));
  }

  *#put(page: readonly StoreRecord[], keep: Seconds, wakes?: RecordWakes): Work<void> {
    const { tables, text, replace } = this.dialect;
    // Of several with the same id the last one counts. Sorted, so that two calls do not deadlock.
    const rows = new Map(page.map((record) => [`${record.kind} ${text(record.id)}`, record]));
    const records = [...rows].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, record]) => record);
    if (keep > 0) {
      const kept = records.map((record) => this.#rowOf(record, keep));
      const change = replace(tables.records, RECORDS, kept);
      const [{ kind, id }] = records as [StoreRecord];
      yield* written(wakes === undefined ? change : wakes.telling(change, kind, text(id)));
    } else {
      for (const { kind, id } of records)
        yield* written(sql`DELETE FROM ${tables.records} WHERE ${this.#isThis(kind, id)}`);
    }
    yield* removeEnded(this.dialect, records.length);
  }

  *#add(addition: Addition): Work<void> {
    const { tables, after, addOnce } = this.dialect;
    yield* addOnce(addition);
    const most = SWEPT + addition.amounts.length;
    yield* removeBefore(this.dialect, tables.sums, ['name', 'field'], 'ends_at', after(-AFTERGLOW), most);
  }

  *#replace(record: StoreRecord, expected: string | undefined, keep: Seconds): Work<boolean> {
    const { tables, now, after, text, insertNew } = this.dialect;
    const value = text(record.value);
    if (expected === undefined && (yield* written(insertNew(tables.records, this.#rowOf(record, keep)))) > 0)
      return true;
    const isExpected =
      expected === undefined ? sql`ends_at <= ${now()}` : sql`value = ${text(expected)} AND ends_at > ${now()}`;
    // The new value may be there already: this call wrote it, and its answer got lost.
    const change = sql`UPDATE ${tables.records} SET value = ${value}, ends_at = ${after(keep)}
      WHERE ${this.#isThis(record.kind, record.id)} AND (${isExpected} OR value = ${value} AND ends_at > ${now()})`;
    return (yield* written(change)) > 0;
  }

  /** Removes all but the `most` records that end last: in pieces, so that others can run in between. */
  async #removeBeyond(kind: string, most: number, count: number): Promise<void> {
    const { tables, remove, skipLocked } = this.dialect;
    const purpose = repeatable('not all of the records beyond the bound were removed');
    const first = await this.database.inPieces(purpose.consequence, this.#placeAfter(kind, most));
    if (first === undefined) return;
    // Without an order, as PostgreSQL would sort all that are beyond the bound.
    const page = sql`SELECT kind, id ${this.#upTo(kind, first)} LIMIT ${REMOVED} ${skipLocked}`;
    for (let left = SWEPT + count + rowLimit(most / BEYOND); left > 0; left -= REMOVED) {
      const removed = await this.database.run(purpose, () => written(remove(tables.records, RECORDS, page)));
      if (removed < REMOVED) return;
    }
  }

  *#page(kind: string, limit: number, offset: number): Work<readonly SqlRow[]> {
    const { read, now, rows } = this.dialect;
    const first = offset > 0 ? yield* this.#placeAfter(kind, offset) : FIRST;
    if (first === undefined) return [];
    return yield* rowsOf(
      sql`SELECT ${read('id')}, ${read('value')} ${this.#upTo(kind, first)} AND ends_at > ${now()} ${LAST_FIRST} LIMIT ${rows(rowLimit(limit))}`,
    );
  }

  /** The position of the record that comes after so many others. Their values are not read. */
  #placeAfter(kind: string, count: number): Work<SqlRow | undefined> {
    const { read, rows } = this.dialect;
    const next = (from: SqlRow, skipped: number): Sql =>
      sql`SELECT ends_at, ${read('id')} ${this.#upTo(kind, from)} ${LAST_FIRST} LIMIT 1 OFFSET ${rows(skipped)}`;
    return rowAfter(count, SKIPPED, FIRST, next);
  }

  /** Selects the record at this position, its end and id, and those that end before it. */
  #upTo(kind: string, place: SqlRow): Sql {
    const { tables, alongKind } = this.dialect;
    const [end, id] = [Number(place[0]), String(place[1])];
    return sql`FROM ${tables.records} ${alongKind} WHERE kind = ${kind} AND ends_at <= ${end} AND (ends_at < ${end} OR id <= ${id})`;
  }

  #rowOf({ kind, id, value }: StoreRecord, keep: Seconds): Row {
    const { text, after } = this.dialect;
    return { kind, id: text(id), value: text(value), ends_at: after(keep) };
  }

  #isThis(kind: string, id: string): Sql {
    return sql`kind = ${kind} AND id = ${this.dialect.text(id)}`;
  }
}

/** Removes records that have ended: `SWEPT` more than are being written. */
export function* removeEnded(dialect: Dialect, count: number): Work<void> {
  yield* removeBefore(dialect, dialect.tables.records, RECORDS, 'ends_at', dialect.now(), SWEPT + count);
}

function* removeBefore(
  { remove, skipLocked }: Dialect,
  table: Sql,
  key: readonly string[],
  end: string,
  moment: Sql,
  most: number,
): Work<void> {
  const [columns, ends] = [key.map((name) => raw(name)), raw(end)];
  const ended = sql`SELECT ${columns} FROM ${table} WHERE ${ends} > ${BEFORE_ALL} AND ${ends} <= ${moment}
    ORDER BY ${ends} LIMIT ${most} ${skipLocked}`;
  yield* written(remove(table, key, ended));
}

/** Each sum once, sorted, so that two calls do not deadlock. */
function amountsOf(sums: readonly Sums[], text: Dialect['text']): Addition['amounts'] {
  const amounts = new Map<string, Addition['amounts'][number]>();
  for (const { name, amounts: added, keep } of sums) {
    for (const [field, amount] of Object.entries(added)) {
      const names = { name: text(name), field: text(field) };
      const key = JSON.stringify(names);
      amounts.set(key, { ...names, amount: amount + (amounts.get(key)?.amount ?? 0), keep });
    }
  }
  return [...amounts].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, amount]) => amount);
}

/** The name of the rows that record how far each source has come. */
export const SOURCES = '';

/**
 * Adds to sums on databases with `ON CONFLICT`. For each source a row of its own records how far it has come: its name is
 * empty, and the source is its field.
 *
 * Writes nothing if the source has come as far before.
 */
export function noteSequence(sums: Sql, { source, sequence }: Omit<Addition, 'amounts'>, end: Sql): Sql {
  const row = { name: SOURCES, field: source, amount: sequence, ends_at: end };
  return sql`${insertInto(sql`${sums} AS known`, row)} ON CONFLICT (name, field)
    DO UPDATE SET amount = excluded.amount, ends_at = excluded.ends_at WHERE known.amount < excluded.amount`;
}

/** @param amounts selects name, field, amount and end of each */
export const addAmounts = (sums: Sql, amounts: Sql): Sql =>
  sql`INSERT INTO ${sums} AS known (name, field, amount, ends_at) ${amounts}
    ON CONFLICT (name, field) DO UPDATE SET amount = known.amount + excluded.amount, ends_at = excluded.ends_at`;

/** Expired locks that each new lock removes: more than one, so that they never pile up. */
const REMOVED_WITH = 10;

/** The locks in a database. An acquire or renew may be carried out twice: the token that holds the lock still holds it. */
export class Locks extends DatabasePart implements LockStore {
  async acquire(name: string, token: string, ttl: Seconds): Promise<boolean> {
    return this.database.run(purpose(name, 'taken'), () => this.#acquire(name, token, ttl));
  }

  async renew(name: string, token: string, ttl: Seconds): Promise<boolean> {
    const { tables, after } = this.dialect;
    const renewed = await this.database.run(purpose(name, 'renewed'), () =>
      written(sql`UPDATE ${tables.locks} SET expires_at = ${after(ttl)} WHERE ${this.#held(name, token)}`),
    );
    return renewed > 0;
  }

  async release(name: string, token: string): Promise<boolean> {
    const once = { ...purpose(name, 'released'), writes: 'once' } as const;
    const released = await this.database.run(once, () =>
      written(sql`DELETE FROM ${this.dialect.tables.locks} WHERE ${this.#held(name, token)}`),
    );
    return released > 0;
  }

  /** Each statement decides by itself whether the lock is taken, so of two at the same time only one gets it. */
  *#acquire(name: string, token: string, ttl: Seconds): Work<boolean> {
    const { tables, key, now, after, insertNew } = this.dialect;
    const { locks } = tables;
    const own = sql`token = ${key(token)}`;
    const isFree = sql`(${own} OR expires_at <= ${now()})`;
    const taken = yield* written(
      sql`UPDATE ${locks} SET ${own}, expires_at = ${after(ttl)} WHERE name = ${key(name)} AND ${isFree}`,
    );
    if (taken > 0) return true;
    const added = insertNew(locks, { name: key(name), token: key(token), expires_at: after(ttl) });
    if ((yield* written(added)) === 0) return false;
    yield* removeBefore(this.dialect, locks, ['name'], 'expires_at', now(), REMOVED_WITH);
    return true;
  }

  #held(name: string, token: string): Sql {
    const { key, now } = this.dialect;
    return sql`name = ${key(name)} AND token = ${key(token)} AND expires_at > ${now()}`;
  }
}

const purpose = (name: string, what: string): Purpose => repeatable(`lock '${name}' was not ${what}`);
