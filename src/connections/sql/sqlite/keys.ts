/**
 * Which job holds each unique key, or waits under a debounce key, in a SQLite file: the job's own row has the key, in a
 * column with a unique index. So a key is free when its row is gone, whatever removed it. Runs in transactions that write,
 * of which there is one at a time.
 */
import type { Seconds } from '../../../base/clock';
import type { DebounceTie, UniqueTie } from '../../../payload/ties';
import type { Pushed } from '../../contract';
import { DELAYED, FENCE, HELD_AT, type Dialect, type Holders, type QueuedJob } from '../dialect';
import { toMicroseconds } from '../exchange';
import { rowsOf, run, type Sql, type SqlValue, type Work } from '../statement';
import { statementsOf } from './schema';

/**
 * The columns of a job with a key. `start_key` and `start_for` say how to take it back. A debounced job that is due keeps
 * its key, which others ignore; `unique_until` is until when it and its successors can be put off.
 */
export const UNIQUE_COLUMNS = 'unique_key, unique_until, start_key, start_for';

/** A job to insert, with the values of those columns. */
export interface KeyedJob extends QueuedJob {
  readonly keys?: readonly SqlValue[] | undefined;
}

/** A job that waits under a key, in the table or earlier in the same call. */
interface Waiting {
  readonly uuid: string;
  readonly until: Seconds | null;
}

export class UniqueKeys {
  readonly #sql: ReturnType<typeof statementsOn>;

  constructor({ jobs }: Dialect['tables']) {
    this.#sql = statementsOn(jobs.text);
  }

  /** Returns the jobs to insert, and the holders of keys: of jobs that stay out, and of those that were replaced. */
  *take(
    jobs: readonly QueuedJob[],
    now: Seconds,
  ): Work<{ readonly added: readonly KeyedJob[]; readonly holders: Holders | undefined }> {
    const added = new Map<number, KeyedJob>(jobs.entries());
    const holders = new Map<number, Exclude<Pushed, 'queued'>>();
    const taken = new Map<string, string>();
    const waiting = new Map<string, Waiting & { readonly place: number }>();
    for (const [place, job] of jobs.entries()) {
      const { tie, debounce, uuid } = job;
      if (tie !== undefined) {
        const duplicate = taken.get(tie.key) ?? (yield* this.#holderOf(tie.key, now));
        if (duplicate === undefined) {
          taken.set(tie.key, uuid);
          added.set(place, { ...job, keys: heldColumns(tie, now) });
        } else {
          holders.set(place, { duplicate });
          added.delete(place);
        }
      } else if (debounce !== undefined) {
        const before = waiting.get(debounce.key);
        if (before !== undefined) added.delete(before.place);
        const replaced = before ?? (yield* this.#removeWaiting(debounce, job.queue, now));
        if (replaced !== undefined && replaced.uuid !== uuid) holders.set(place, { replaced: replaced.uuid });
        const { key, longest } = debounce;
        const until = replaced !== undefined ? replaced.until : longest === undefined ? null : now + longest;
        const due = Math.min(job.due ?? now + job.delay, until ?? Infinity);
        if (due > now) {
          added.set(place, { ...job, due: toMicroseconds(due), keys: [key, until, null, null] });
          waiting.set(key, { place, uuid, until });
        } else waiting.delete(key);
      }
    }
    return { added: [...added.values()], holders: holders.size > 0 ? holders : undefined };
  }

  /** Frees the key. Returns the waiting job that it removed. A job that is due or was ever handed out stays: undefined. */
  *#removeWaiting({ key }: DebounceTie, queue: string, now: Seconds): Work<Waiting | undefined> {
    const [row] = yield* rowsOf(this.#sql.to('removeWaiting', [key, queue, now]));
    if (row !== undefined) return { uuid: String(row[0]), until: row[1] as Seconds | null };
    yield* run(this.#sql.to('free', [key]));
    return undefined;
  }

  /** The id of the job that holds the key. A job whose time is over holds it no longer. */
  *#holderOf(key: string, now: Seconds): Work<string | undefined> {
    yield* run(this.#sql.to('expire', [key, now]));
    const [row] = yield* rowsOf(this.#sql.to('find', [key]));
    return row && String(row[0]);
  }

  /** Jobs were handed to a worker: they hold keys of kind `start` no longer. */
  *start(ids: readonly SqlValue[]): Work<void> {
    yield ids.map((id) => this.#sql.to('start', [id]));
  }

  /** A reserved job gives up its key, and can take back one without a limit. */
  giveUp(id: SqlValue, fence: SqlValue): Sql {
    return this.#sql.to('giveUp', [id, fence]);
  }

  /** Jobs were not started after all: each takes its key again if it is free. */
  *retake(ids: readonly SqlValue[], now: Seconds): Work<void> {
    for (const id of ids) {
      yield* run(this.#sql.to('expireOther', [id, now]));
      yield* run(this.#sql.to('retake', [id, now]));
    }
  }
}

/** In the order of `UNIQUE_COLUMNS`. */
function heldColumns({ key, until, for: most }: UniqueTie, now: Seconds): readonly SqlValue[] {
  const isStart = until === 'start';
  return [key, most === undefined ? null : now + most, isStart ? key : null, isStart ? (most ?? null) : null];
}

function statementsOn(jobs: string) {
  const expire = (key: string): string =>
    `UPDATE ${jobs} SET unique_key = NULL WHERE unique_key = ${key} AND unique_until <= ?2`;
  return statementsOf({
    expire: expire('?1'),
    expireOther: expire(`(SELECT start_key FROM ${jobs} WHERE id = ?1)`),
    removeWaiting: `DELETE FROM ${jobs} WHERE unique_key = ?1 AND queue = ?2 AND ${DELAYED} AND ${FENCE} = 0 AND available_at > ?3 AND available_at < ${HELD_AT}
      RETURNING CAST(uuid AS BLOB), unique_until`,
    free: `UPDATE ${jobs} SET unique_key = NULL WHERE unique_key = ?`,
    find: `SELECT CAST(uuid AS BLOB) FROM ${jobs} WHERE unique_key = ?`,
    start: `UPDATE ${jobs} SET unique_key = NULL WHERE id = ?`,
    giveUp: `UPDATE ${jobs} SET start_key = CASE WHEN unique_until IS NULL THEN unique_key END, unique_key = NULL
      WHERE id = ? AND ${FENCE} = ? AND unique_key IS NOT NULL`,
    retake: `UPDATE ${jobs} SET unique_key = start_key, unique_until = ?2 + start_for
      WHERE id = ?1 AND start_key IS NOT NULL AND NOT EXISTS (SELECT 1 FROM ${jobs} AS other WHERE other.unique_key = ${jobs}.start_key)`,
  });
}
