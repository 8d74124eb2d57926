/** Pushes that happen once for each key. A record marks the key as used, and is written in the step that pushes. */
import type { NewBatch } from '../batch-store';
import type { Once, PushedOnce } from '../contract';
import { queuesOf } from './batches';
import type { Dialect, Holders, PushAnswer, QueuedJob } from './dialect';
import { timeOf } from './jobs';
import { removeEnded } from './records';
import { followerOf } from './reservations';
import { rowsOf, type Sql, sql, type Work, written } from './statement';
import type { Store } from './store-part';

const KIND = 'once';

/** Takes no lock, as most calls come second. Undefined if the jobs are to be pushed. */
export function* lookOnce(dialect: Dialect, { key, until }: Once): Work<'before' | 'late' | undefined> {
  const { tables, now } = dialect;
  const [[time, mark = null] = []] = yield* rowsOf(
    sql`SELECT ${now()}, (SELECT 1 FROM ${tables.records} WHERE ${isMark(dialect, key)} AND ends_at > ${now()})`,
  );
  if (until > 0 && Number(time) * 1000 >= until) return 'late';
  if (mark !== null) return 'before';
  return until === 0 ? 'late' : undefined;
}

/** @param checked throws if the jobs were refused; then the key is not kept either */
export function* pushOnce(
  { dialect, batchRows }: Pick<Store, 'dialect' | 'batchRows'>,
  jobs: readonly QueuedJob[],
  begins: NewBatch | undefined,
  { key, until }: Once,
  checked: (refused: PushAnswer) => Holders | undefined,
): Work<PushedOnce> {
  const { tables, text, now, insertNew, transaction } = dialect;
  const { records } = tables;
  yield* removeEnded(dialect, 1);
  // Before the transaction: within it, a new name would make others wait until it ends.
  for (const queue of dialect.jobs.remember === undefined ? [] : queuesOf([...jobs, ...(begins?.callbacks ?? [])]))
    yield* written(dialect.jobs.remember!(queue));
  return yield* transaction(function* (): Work<PushedOnce> {
    yield* written(sql`DELETE FROM ${records} WHERE ${isMark(dialect, key)} AND ends_at <= ${now()}`);
    // If two ask at once, the second waits here for the outcome of the first.
    const mark = { kind: KIND, id: text(key), value: '', ends_at: until / 1000 };
    const isNew = (yield* written(insertNew(records, mark))) > 0;
    // Checked only now: until then nobody has removed an existing mark.
    if ((yield* timeOf(dialect)) * 1000 >= until) return 'late';
    if (!isNew) return 'before';
    const batch = begins === undefined ? jobs[0]?.batch?.id : undefined;
    const followUps = batch === undefined ? undefined : yield* batchRows.skip(batch, jobs);
    if (followUps !== undefined) {
      if (followUps.length > 0) yield* dialect.jobs.push(followUps.map(followerOf), undefined);
      return 'skipped';
    }
    if (jobs.length === 0 && begins === undefined) return [];
    const holders = checked(yield* dialect.jobs.push(jobs, undefined, begins));
    return jobs.map((_, place) => holders?.get(place) ?? 'queued');
  });
}

const isMark = ({ text }: Dialect, key: string): Sql => sql`kind = ${KIND} AND id = ${text(key)}`;
