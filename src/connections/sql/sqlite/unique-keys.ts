/**
 * Which job of a SQLite file holds each unique key: the row itself, in a column whose index is unique. So a key is free when its
 * row is gone, whatever has removed it. Runs in transactions that write, in which nobody else does.
 */
import type { Seconds } from '../../../base/clock';
import type { Dialect, Holders, QueuedJob } from '../dialect';
import { type Sql, rowsOf, run, type SqlValue, type Work } from '../statement';

/** What stands in the columns of one that holds a key; `start_key` and `start_for` are how it takes it again. */
export const UNIQUE_COLUMNS = 'unique_key, unique_until, start_key, start_for';

type Statement = keyof ReturnType<typeof statementsOn>;

export class UniqueKeys {
  readonly #sql: Readonly<Record<Statement, string>>;

  constructor({ jobs }: Dialect['tables']) {
    this.#sql = statementsOn(jobs.text);
  }

  /** Who holds the keys of those that have to stay out. Undefined: none has to. */
  *heldOf(jobs: readonly QueuedJob[], now: Seconds): Work<Holders | undefined> {
    let held: Map<number, string> | undefined;
    const taken = new Map<string, string>();
    for (const [index, { tie, uuid }] of jobs.entries()) {
      if (tie === undefined) continue;
      const holder = taken.get(tie.key) ?? (yield* this.#holderOf(tie.key, now));
      if (holder === undefined) taken.set(tie.key, uuid);
      else (held ??= new Map()).set(index, holder);
    }
    return held;
  }

  /** By its id. One whose time is over holds it no more. */
  *#holderOf(key: string, now: Seconds): Work<string | undefined> {
    yield* run(this.#to('expire', [key, now]));
    const [row] = yield* rowsOf(this.#to('find', [key]));
    return row && String(row[0]);
  }

  /** In the order of `UNIQUE_COLUMNS`. */
  valuesOf({ key, until, for: most }: NonNullable<QueuedJob['tie']>, now: Seconds): readonly SqlValue[] {
    const isStart = until === 'start';
    return [key, most === undefined ? null : now + most, isStart ? key : null, isStart ? (most ?? null) : null];
  }

  /** They are handed to a worker, and hold their keys no longer than that. */
  *start(ids: readonly SqlValue[]): Work<void> {
    yield ids.map((id) => this.#to('start', [id]));
  }

  /** They were not started, after all: each takes its key again, if it is free. */
  *retake(ids: readonly SqlValue[], now: Seconds): Work<void> {
    for (const id of ids) {
      yield* run(this.#to('expireOther', [id, now]));
      yield* run(this.#to('retake', [id, now]));
    }
  }

  #to(statement: Statement, values: readonly SqlValue[]): Sql {
    return { text: this.#sql[statement], values };
  }
}

function statementsOn(jobs: string) {
  const expire = (key: string): string =>
    `UPDATE ${jobs} SET unique_key = NULL WHERE unique_key = ${key} AND unique_until <= ?2`;
  return {
    expire: expire('?1'),
    expireOther: expire(`(SELECT start_key FROM ${jobs} WHERE id = ?1)`),
    find: `SELECT CAST(uuid AS BLOB) FROM ${jobs} WHERE unique_key = ?`,
    start: `UPDATE ${jobs} SET unique_key = NULL WHERE id = ?`,
    retake: `UPDATE ${jobs} SET unique_key = start_key, unique_until = ?2 + start_for
      WHERE id = ?1 AND NOT EXISTS (SELECT 1 FROM ${jobs} AS other WHERE other.unique_key = ${jobs}.start_key)`,
  };
}
