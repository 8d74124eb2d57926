/**
 * One SQLite file: opens it on first use, runs transactions on it, and waits without blocking the event loop while others
 * have it locked.
 *
 * Calls made in one turn of the event loop share a transaction. A call blocks on a lock for at most `BUSY_TIMEOUT`; then it
 * is retried at growing intervals until its deadline.
 */
import { statSync } from 'node:fs';
import { systemClock, pauseAfter, sleep, type Milliseconds } from '../../../base/clock';
import type { Logger } from '../../../base/logger';
import { ConnectionClosedError, unknownTransaction } from '../../errors';
import { CallsUnderWay } from '../../kit/caller';
import { Lane } from '../../kit/lane';
import type { Engine, Purpose } from '../database';
import {
  performNow,
  rowsOf,
  sql,
  type Sql,
  type SqlResult,
  type Work,
  type SqlRow,
  type SqlValue,
  type SqlSession,
} from '../statement';
import { explain, isBusy, type Circumstances } from './errors';
import { noSqliteEngine, valueNotStorable, foreignEngine, notMigrated, otherFile } from '../errors';
import { knex, kysely, rowsIn, sessionOn } from '../libraries';

/** Most competing transactions end within this time. Far below the 20 ms for which the event loop may be blocked. */
const BUSY_TIMEOUT: Milliseconds = 5;
const BACKOFF = { first: 8, longest: 100 };
/** The maximum number of operations that share a transaction. */
const MOST_TOGETHER = 100;
/** How often to check whether the file is still there. Before a push it is always checked. */
const LOOK_EVERY: Milliseconds = 1000;

/** How long calls may keep the event loop in one turn. */
const LONGEST_TURN: Milliseconds = 5;

/** The number of prepared statements to keep: the number of parameters of some depends on the number of jobs. */
const MOST_PREPARED = 200;

interface EngineOptions extends Circumstances {
  readonly logger: Logger;
  /** Creates missing tables; returns the version that it found. */
  readonly prepare: (database: SqliteDatabase) => number;
}

interface Operation extends Purpose {
  readonly work: () => Work<unknown>;
  readonly resolve: (result: never) => void;
  readonly reject: (error: unknown) => void;
  readonly end: Milliseconds;
}

interface Opened {
  readonly database: SqliteDatabase;
  /** The version of the tables when the file was opened. */
  readonly found: number;
  readonly prepared: Map<string, SqliteStatement>;
  readonly identity: string;
  lookedAt: Milliseconds;
  durable: boolean | undefined;
}

export class SqliteEngine implements Engine {
  readonly #options: EngineOptions;
  readonly #lane = new Lane<Operation>({
    carry: (operations) => this.#carry(operations),
    fitting: () => MOST_TOGETHER,
  });
  readonly #reads = new CallsUnderWay();
  #opened: Opened | undefined;
  #closed = false;
  /** Another file was found under the name: it lacks what was confirmed before. */
  #wasReplaced = false;

  constructor(options: EngineOptions) {
    this.#options = options;
  }

  /** Writes run in a transaction; work that only reads neither waits for writers nor delays them. */
  run<T>(purpose: Purpose, work: () => Work<T>): Promise<T> {
    return purpose.writes === undefined ? this.#reads.track(this.#read(purpose, work)) : this.#write(purpose, work);
  }

  /** Reads at once or not at all: undefined if the file is busy or cannot be used. */
  glance<T>(work: () => Work<T>): T | undefined {
    if (this.#closed) return undefined;
    try {
      return perform(this.#open(false), work);
    } catch {
      // The next call that matters will report the error.
      return undefined;
    }
  }

  get foundVersion(): number {
    return this.#opened?.found ?? 0;
  }

  hasForgotten(): boolean {
    const was = this.#wasReplaced;
    this.#wasReplaced = false;
    return was;
  }

  /** Waits for calls under way first, each within its deadline. */
  async close(): Promise<void> {
    this.#closed = true;
    await this.#lane.settled;
    // A read still waiting would open the file again, and nobody would close it.
    await this.#reads.idle(systemClock, this.#options.deadline * 1000);
    const opened = this.#opened;
    this.#opened = undefined;
    if (opened === undefined) return;
    try {
      // The engine releases the file only when its statements are garbage-collected, so nobody else would truncate the log.
      opened.database.prepare('PRAGMA wal_checkpoint(TRUNCATE)').get([]);
    } catch {
      // Nothing is lost: whoever opens the file next reads the log.
    }
    opened.database.close();
  }

  #write<T>(purpose: Purpose, work: () => Work<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      if (this.#closed) throw this.#closedError();
      const end = systemClock.monotonic() + this.#options.deadline * 1000;
      this.#lane.send({ ...purpose, work, resolve, reject, end });
    });
  }

  async #read<T>({ consequence }: Purpose, work: () => Work<T>): Promise<T> {
    if (this.#closed) throw this.#closedError();
    const end = systemClock.monotonic() + this.#options.deadline * 1000;
    for (let tries = 1; ; tries += 1) {
      await turnEnd();
      try {
        return perform(this.#open(false), work);
      } catch (error) {
        if (!isBusy(error) || systemClock.monotonic() >= end) throw explain(error, consequence, this.#options);
      }
      await this.#pause(tries, end);
    }
  }

  #closedError(): ConnectionClosedError {
    return new ConnectionClosedError(this.#options.connection, 'a call');
  }

  /** Settles all operations: retries the transaction until the file is free or their time is over. */
  async #carry(operations: readonly Operation[]): Promise<void> {
    let left = operations;
    for (let tries = 1; left.length > 0; tries += 1) {
      await turnEnd();
      try {
        const results = this.#transact(left);
        left.forEach(({ resolve }, index) => resolve(results[index] as never));
        return;
      } catch (error) {
        // One of several may be the cause: running each by itself shows which.
        if (!isBusy(error) && left.length > 1) return this.#carryApart(left);
        const over = isBusy(error) ? systemClock.monotonic() : Infinity;
        for (const { end, reject, consequence } of left) {
          if (end <= over) reject(explain(error, consequence, this.#options));
        }
        left = left.filter(({ end }) => end > over);
        // The oldest come first, so the first one has the earliest deadline.
        if (left.length > 0) await this.#pause(tries, left[0]!.end);
      }
    }
  }

  async #carryApart(operations: readonly Operation[]): Promise<void> {
    for (const operation of operations) await this.#carry([operation]);
  }

  #transact(operations: readonly Operation[]): readonly unknown[] {
    const durable = operations.some((operation) => operation.durable === true);
    const opened = this.#open(durable);
    setDurable(opened, durable);
    try {
      preparedOf(opened, 'BEGIN IMMEDIATE').run([]);
      const results = operations.map(({ work }) => perform(opened, work));
      preparedOf(opened, 'COMMIT').run([]);
      return results;
    } catch (error) {
      // If the disk is full it was already rolled back.
      if (opened.database.inTransaction) opened.database.exec('ROLLBACK');
      throw error;
    }
  }

  #pause(tries: number, end: Milliseconds): Promise<void> {
    const left = Math.max(end - systemClock.monotonic(), 0);
    return sleep(systemClock, Math.min(pauseAfter(tries - 1, BACKOFF), left));
  }

  #open(look: boolean): Opened {
    const { file, logger } = this.#options;
    const now = systemClock.monotonic();
    const opened = this.#opened;
    if (opened !== undefined && (look || now - opened.lookedAt >= LOOK_EVERY)) {
      opened.lookedAt = now;
      // Without this, jobs would go into a file that no longer has a name, and be gone with this process.
      if (identityOf(file) !== opened.identity) {
        logger.warn(
          { file },
          'The SQLite file was removed or replaced while it was in use; the file that is there now is opened.',
        );
        opened.database.close();
        this.#opened = undefined;
        this.#wasReplaced = true;
      }
    }
    this.#opened ??= this.#openAnew(now);
    return this.#opened;
  }

  #openAnew(lookedAt: Milliseconds): Opened {
    const { file, prepare } = this.#options;
    const database = openSqlite(file, BUSY_TIMEOUT);
    try {
      database.prepare('PRAGMA journal_mode = WAL').get([]);
      const found = prepare(database);
      return { database, found, prepared: new Map(), identity: identityOf(file), lookedAt, durable: undefined };
    } catch (error) {
      database.close();
      throw error;
    }
  }
}

/** Read when the module loads, so that fake timers of a test runner do not stop every call. */
const afterThisTurn = setImmediate;

/** When the first call of this turn was made. */
let began: Milliseconds | undefined;

/**
 * Undefined: go on. Otherwise this turn has taken long: go on when the promise resolves. As the engine is synchronous, a loop
 * of awaited calls would run in microtasks only: without this no timer, socket or signal would be handled until it ends.
 */
function turnEnd(): Promise<void> | undefined {
  if (began === undefined) {
    began = systemClock.monotonic();
    afterThisTurn(() => (began = undefined)).unref();
  } else if (systemClock.monotonic() - began >= LONGEST_TURN) {
    return new Promise((resolve) => afterThisTurn(resolve));
  }
  return undefined;
}

function perform<T>(opened: Opened, work: () => Work<T>): T {
  const ask = ({ text, values, one }: Sql): SqlResult => preparedOf(opened, text).run(values, one);
  return performNow((statements) => statements.map(ask), work());
}

function preparedOf({ database, prepared }: Opened, text: string): SqliteStatement {
  const known = prepared.get(text);
  if (known !== undefined) return known;
  if (prepared.size >= MOST_PREPARED) prepared.clear();
  const statement = database.prepare(text);
  prepared.set(text, statement);
  return statement;
}

/** Set between transactions, as it has no effect within one. */
function setDurable(opened: Opened, durable: boolean): void {
  if (opened.durable === durable) return;
  opened.database.exec(`PRAGMA synchronous = ${durable ? 'FULL' : 'NORMAL'}`);
  opened.durable = durable;
}

/**
 * Changes when another file takes the name. Never opens the file: closing any handle of this process on it would release
 * SQLite's locks.
 */
function identityOf(file: string): string {
  const found = statSync(file, { throwIfNoEntry: false });
  return found === undefined ? 'missing' : `${found.dev}:${found.ino}`;
}

/**
 * The few operations that we need of an SQLite engine, and libsql, which provides them.
 *
 * The engine is synchronous: when a call returns it is done. Two mistakes would end the whole process: binding a value of
 * another type, and reading a TEXT column that is not UTF-8. Therefore every value is checked here, and every statement
 * reads text as `CAST(… AS BLOB)`, which also keeps what follows a NUL character.
 */
export interface SqliteDatabase extends Omit<EngineHandle, 'prepare'> {
  prepare(sql: string): SqliteStatement;
}

interface EngineHandle {
  readonly inTransaction: boolean;
  prepare(sql: string): EngineStatement;
  exec(sql: string): void;
  close(): void;
}

interface EngineStatement {
  /** Whether it returns rows. */
  readonly reader: boolean;
  raw(): EngineStatement;
  run(values: readonly SqlValue[]): { readonly changes: number };
  get(values: readonly SqlValue[]): SqlRow | undefined;
  all(values: readonly SqlValue[]): readonly SqlRow[];
}

type EngineClass = new (file: string, options: { readonly timeout: number }) => EngineHandle;

/** @param busyTimeout milliseconds that a call may block on a file that others have locked */
export function openSqlite(file: string, busyTimeout: number): SqliteDatabase {
  const Libsql = engineClass();
  const engine = new Libsql(file, { timeout: busyTimeout });
  return {
    get inTransaction() {
      return engine.inTransaction;
    },
    prepare: (sql) => new SqliteStatement(engine.prepare(sql)),
    exec: (sql) => engine.exec(sql),
    close: () => engine.close(),
  };
}

/** Also false for a handle of another copy of the engine. */
function isEngineHandle(value: object): value is EngineHandle {
  return value instanceof engineClass();
}

/** Loaded on first use: a program on Redis does not pay for it. */
function engineClass(): EngineClass {
  try {
    return require('libsql') as EngineClass; // oxlint-disable-line typescript/no-require-imports
  } catch (cause) {
    const missing = /'(@libsql\/[^']+|libsql)'/.exec((cause as Error).message)?.[1];
    throw noSqliteEngine(missing, { cause });
  }
}

/** Checks the values that it is given. */
export class SqliteStatement {
  readonly #statement: EngineStatement;
  readonly #givesRows: boolean;

  constructor(statement: EngineStatement) {
    this.#givesRows = statement.reader;
    // Rows as arrays: as objects they would carry the engine's `_metadata`.
    this.#statement = statement.reader ? statement.raw() : statement;
  }

  /** @param one it returns at most one row */
  run(values: readonly SqlValue[], one?: true): SqlResult {
    if (!this.#givesRows) return { rows: [], written: this.#statement.run(checked(values)).changes };
    if (one !== undefined) return resultOf(this.get(values));
    const rows = this.#statement.all(checked(values));
    return { rows, written: rows.length };
  }

  get(values: readonly SqlValue[]): SqlRow | undefined {
    return this.#statement.get(checked(values));
  }
}

const resultOf = (row: SqlRow | undefined): SqlResult => (row === undefined ? NOTHING : { rows: [row], written: 1 });

const NOTHING: SqlResult = { rows: [], written: 0 };

function checked(values: readonly SqlValue[]): readonly SqlValue[] {
  for (const value of values) {
    if (typeof value === 'string' || value === null || Buffer.isBuffer(value)) continue;
    // For NaN the engine would store the parameter's previous value.
    if (typeof value === 'number' && !Number.isNaN(value)) continue;
    throw valueNotStorable(value);
  }
  return values;
}

export interface OwnDatabase {
  readonly connection: string;
  readonly file: string;
  /**
   * The build of our own engine; undefined if it cannot open the tables now, as they are yet to be created and others have
   * the file locked.
   */
  readonly engine: () => SqlValue | undefined;
}

/**
 * Runs our statements within the user's transaction: on a handle of libsql, by kysely or by knex.
 *
 * The user's library must be the same engine that this connection works with: SQLite tracks the locks of a process in its
 * own memory, so two copies of it in one process overwrite each other's commits.
 *
 * Undefined if it is none of these, or not a transaction.
 *
 * @throws E_DATABASE_FOREIGN_ENGINE a handle of another engine
 */
export function userTransaction(transaction: unknown, connection: string): SqlSession | undefined {
  if ((typeof transaction !== 'object' && typeof transaction !== 'function') || transaction === null) return undefined;
  if (isEngineHandle(transaction)) {
    return transaction.inTransaction
      ? sessionOn(async (statement) => ask(transaction, statement, connection))
      : undefined;
  }
  const given = transaction as Readonly<Record<string, unknown>>;
  const query = kysely(given) ?? knex(given);
  if (query !== undefined) {
    return query === 'none' ? undefined : sessionOn(async ({ text, values }) => rowsIn(await query(text, values)));
  }
  // Another SQLite engine with synchronous calls.
  if (typeof given['prepare'] === 'function' && typeof given['exec'] === 'function') throw foreignEngine(connection);
  return undefined;
}

/** Always true. @throws E_DATABASE_NOT_MIGRATED, E_DATABASE_OTHER_FILE, E_DATABASE_FOREIGN_ENGINE */
export function* isWithin({ connection, file, engine }: OwnDatabase): Work<boolean> {
  const own = engine();
  if (own === undefined) throw notMigrated({ connection, address: file, consequence: 'the job was not queued' });
  // Compared by the database, as reading a path that is not UTF-8 as text would end the process.
  const [[isFile, isEngine] = []] = yield* rowsOf(
    sql`SELECT CAST(file AS BLOB) = CAST(${file} AS BLOB), sqlite_source_id() = ${own}
      FROM pragma_database_list WHERE name = 'main'`,
  );
  if (Number(isFile) !== 1) throw otherFile(connection, file);
  if (Number(isEngine) !== 1) throw foreignEngine(connection);
  return true;
}

function ask(handle: EngineHandle, { text, values }: Sql, connection: string): readonly SqlRow[] {
  // The transaction may have ended by now; then each statement would be committed by itself.
  if (!handle.inTransaction) throw unknownTransaction(connection, handle);
  const statement = handle.prepare(text);
  if (statement.reader) return statement.raw().all(values);
  statement.run(values);
  return [];
}
