/** Pushes that are done once by a key: its mark is a record, which is there from the very step on that pushes. */
import type { BatchEnd } from '../batch-store';
import type { Once, Pushed } from '../contract';
import type { Dialect, Holders, QueuedJob } from './dialect';
import { timeOf } from './jobs';
import { removeEnded } from './records';
import { rowsOf, type Sql, sql, type Work, written } from './statement';

const KIND = 'once';

/** Takes no lock: most who ask come second. Undefined: it is to be pushed. */
export function* lookOnce(dialect: Dialect, { key, until }: Once): Work<'before' | 'late' | undefined> {
  const { tables, now } = dialect;
  const [[time, mark = null] = []] = yield* rowsOf(
    sql`SELECT ${now()}, (SELECT 1 FROM ${tables.records} WHERE ${isMark(dialect, key)} AND ends_at > ${now()})`,
  );
  if (Number(time) * 1000 >= until) return 'late';
  return mark === null ? undefined : 'before';
}

/** @param checked throws where the job was refused: then the key is not kept either */
export function* pushOnce(
  dialect: Dialect,
  job: QueuedJob,
  { key, until }: Once,
  checked: (refused: number | BatchEnd | Holders | undefined) => Holders | undefined,
): Work<Pushed | 'before' | 'late'> {
  const { tables, text, now, insertNew, transaction, jobs } = dialect;
  const { records } = tables;
  yield* removeEnded(dialect, 1);
  // Before the transaction: within it, a new name would make others wait until it ends.
  if (jobs.remember !== undefined) yield* written(jobs.remember(job.queue));
  return yield* transaction(
    (function* () {
      yield* written(sql`DELETE FROM ${records} WHERE ${isMark(dialect, key)} AND ends_at <= ${now()}`);
      // Of two that ask at once, the second waits here for what becomes of the first.
      const mark = { kind: KIND, id: text(key), value: '', ends_at: until / 1000 };
      const isNew = (yield* written(insertNew(records, mark))) > 0;
      // Only now: until it is over, nobody has removed a mark that was there.
      if ((yield* timeOf(dialect)) * 1000 >= until) return 'late';
      return isNew ? (checked(yield* jobs.push([job], undefined))?.get(0) ?? 'queued') : 'before';
    })(),
  );
}

const isMark = ({ text }: Dialect, key: string): Sql => sql`kind = ${KIND} AND id = ${text(key)}`;
