/**
 * Statements, and work that consists of them.
 *
 * Work is a generator: it yields statements and is given their results. So the same work runs on a server, where each step
 * is awaited, and on SQLite, where a whole transaction must end within one turn of the event loop.
 */
export type SqlValue = string | number | Buffer | null;

/** The columns of one row, in the order of the statement. */
export type SqlRow = readonly SqlValue[];

export interface SqlResult {
  readonly rows: readonly SqlRow[];
  /** How many rows it inserted, changed or removed. */
  readonly written: number;
}

/** The id of a row. A text, as it may be larger than a number can hold. */
export type RowId = string;

const NUMERAL = /^-?\d+(\.\d+)?(e[+-]?\d+)?$/i;

/** Writes a number that was read as a text, whatever its size. */
export const numeral = (value: SqlValue): Sql | SqlValue =>
  typeof value === 'string' && NUMERAL.test(value) ? raw(value) : value;

/** Undefined for NULL. */
export const numberOf = (value: SqlValue = null): number | undefined => (value === null ? undefined : Number(value));

/** A statement or a part of one. Each `?` in the text stands for one of the values, in order. */
export interface Sql {
  readonly text: string;
  readonly values: readonly SqlValue[];
  /** It returns one row, which SQLite can do at half the cost. */
  readonly one?: true;
  /** It only reads, on a connection of ours: a user's transaction might see the data from when it began. */
  readonly apart?: true;
}

/** A list is written as its elements separated by commas: `id IN (${ids})`. One without elements is NULL, which equals nothing. */
export type SqlPart = Sql | SqlValue | readonly SqlPart[];

export function sql(texts: TemplateStringsArray, ...parts: readonly SqlPart[]): Sql {
  let text = texts[0]!;
  const values: SqlValue[] = [];
  for (let at = 0; at < parts.length; at += 1) text += textOf(parts[at]!, values) + texts[at + 1]!;
  return { text, values };
}

/** SQL without values, such as a name or a condition. */
export const raw = (text: string): Sql => ({ text, values: [] });

/** The columns of a row by name. */
export type Row = Readonly<Record<string, SqlPart>>;

/** `INSERT INTO … VALUES …`, or with another verb. All rows have the same columns. */
export function insertInto(table: Sql, rows: Row | readonly Row[], verb = 'INSERT'): Sql {
  const all = [rows].flat() as readonly Row[];
  const columns = Object.keys(all[0]!).map((name) => raw(name));
  return sql`${raw(verb)} INTO ${table} (${columns}) VALUES ${all.map((row) => sql`(${Object.values(row)})`)}`;
}

function textOf(part: SqlPart, values: SqlValue[]): string {
  if (typeof part !== 'object' || part === null || Buffer.isBuffer(part)) {
    values.push(part);
    return '?';
  }
  if (!('text' in part)) return part.map((element) => textOf(element, values)).join(', ') || 'NULL';
  values.push(...part.values);
  return part.text;
}

/** Yields statements, which are run in order, in one round trip if the database can, and is given a result for each. */
export type Work<T> = Generator<readonly Sql[], T, readonly SqlResult[]>;

export function* run(statement: Sql): Work<SqlResult> {
  return (yield [statement])[0]!;
}

export function* runAll(statements: readonly Sql[]): Work<readonly SqlResult[]> {
  return yield statements;
}

/** One after another, each in a round trip of its own. */
export function* runEach(statements: readonly Sql[]): Work<void> {
  for (const statement of statements) yield* run(statement);
}

export function* rowsOf(statement: Sql): Work<readonly SqlRow[]> {
  return (yield* run(statement)).rows;
}

/** The first value of the first row; null if there is no row. */
export function* valueOf(statement: Sql): Work<SqlValue> {
  const [[value = null] = []] = yield* rowsOf(statement);
  return value;
}

export function* written(statement: Sql): Work<number> {
  return (yield* run(statement)).written;
}

/** Runs a statement that writes at most so many rows until it finds fewer. Returns how many it has written. */
export function* writtenPages(most: number, statement: Sql): Work<number> {
  for (let sum = 0; ;) {
    const page = yield* written(statement);
    sum += page;
    if (page < most) return sum;
  }
}

export interface SqlSession {
  run(statements: readonly Sql[]): Promise<readonly SqlResult[]>;
}

export async function perform<T>(session: SqlSession, work: Work<T>): Promise<T> {
  let step = work.next();
  while (step.done !== true) {
    step = await session.run(step.value).then(
      (results) => work.next(results),
      (error: unknown) => work.throw(error),
    );
  }
  return step.value;
}

export function performNow<T>(runNow: (statements: readonly Sql[]) => readonly SqlResult[], work: Work<T>): T {
  let step = work.next();
  while (step.done !== true) {
    let results: readonly SqlResult[];
    try {
      results = runNow(step.value);
    } catch (error) {
      step = work.throw(error);
      continue;
    }
    step = work.next(results);
  }
  return step.value;
}

/** A transaction could not be ended, so its connection can no longer be used. */
export class BrokenTransaction extends Error {}

/** Runs work on a server as one transaction. */
export function* transaction<T>(work: () => Work<T>, begin = raw('BEGIN')): Work<T> {
  yield* run(begin);
  try {
    const result = yield* work();
    yield* run(raw('COMMIT'));
    return result;
  } catch (cause) {
    try {
      yield* run(raw('ROLLBACK'));
    } catch {
      throw new BrokenTransaction('the transaction was not ended', { cause });
    }
    throw cause;
  }
}
