/**
 * The few operations that we need of an SQLite engine, and libsql, which provides them.
 *
 * The engine is synchronous: when a call returns it is done. Two mistakes would end the whole process: binding a value of
 * another type, and reading a TEXT column that is not UTF-8. Therefore every value is checked here, and every statement
 * reads text as `CAST(… AS BLOB)`, which also keeps what follows a NUL character.
 */
import { noSqliteEngine, valueNotStorable } from '../errors';
import type { SqlResult, SqlRow, SqlValue } from '../statement';

export interface SqliteDatabase {
  readonly inTransaction: boolean;
  prepare(sql: string): SqliteStatement;
  exec(sql: string): void;
  close(): void;
}

export interface EngineHandle {
  readonly inTransaction: boolean;
  prepare(sql: string): EngineStatement;
  exec(sql: string): void;
  close(): void;
}

export interface EngineStatement {
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
export function isEngineHandle(value: object): value is EngineHandle {
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
