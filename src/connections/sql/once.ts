/** Pushes that happen once for each key. A record marks the key as used, and is written in the step that pushes. */
import type { Once, Pushed } from '../contract';
import type { Dialect, Holders, PushAnswer, QueuedJob } from './dialect';
import { timeOf } from './jobs';
import { removeEnded } from './records';
import { rowsOf, type Sql, sql, type Work, written } from './statement';

const KIND = 'once';

/** Takes no lock, as most calls come second. Undefined if the job is to be pushed. */
export function* lookOnce(dialect: Dialect, { key, until }: Once): Work<'before' | 'late' | undefined> {
  const { tables, now } = dialect;
  const [[time, mark = null] = []] = yield* rowsOf(
    sql`SELECT ${now()}, (SELECT 1 FROM ${tables.records} WHERE ${isMark(dialect, key)} AND ends_at > ${now()})`,
  );
  if (Number(time) * 1000 >= until) return 'late';
  return mark === null ? undefined : 'before';
}

/** @param checked throws if the job was refused; then the key is not kept either */
export function* pushOnce(
  dialect: Dialect,
  job: QueuedJob,
  { key, until }: Once,
  checked: (refused: PushAnswer) => Holders | undefined,
): Work<Pushed | 'before' | 'late'> {
  const { tables, text, now, insertNew, transaction, jobs } = dialect;
  const { records } = tables;
  yield* removeEnded(dialect, 1);
  // Before the transaction: within it, a new name would make others wait until it ends.
  if (jobs.remember !== undefined) yield* written(jobs.remember(job.queue));
  return yield* transaction(function* () {
    yield* written(sql`DELETE FROM ${records} WHERE ${isMark(dialect, key)} AND ends_at <= ${now()}`);
    // If two ask at once, the second waits here for the outcome of the first.
    const mark = { kind: KIND, id: text(key), value: '', ends_at: until / 1000 };
    const isNew = (yield* written(insertNew(records, mark))) > 0;
    // Checked only now: until then nobody has removed an existing mark.
    if ((yield* timeOf(dialect)) * 1000 >= until) return 'late';
    return isNew ? (checked(yield* jobs.push([job], undefined))?.get(0) ?? 'queued') : 'before';
  });
}

const isMark = ({ text }: Dialect, key: string): Sql => sql`kind = ${KIND} AND id = ${text(key)}`;
