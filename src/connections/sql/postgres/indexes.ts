/**
 * The indexes of the tables in PostgreSQL, and how they are built beside workers and dispatches.
 *
 * The index of a small table is built at once. That of another one is built concurrently, outside of any transaction: the
 * server waits until the transactions that have begun before have ended, and an index whose building was interrupted stays
 * there as invalid.
 */
import { DELAYED, KNOWN_ID, NO_ID, READY, RESERVED, UNREAD_ID } from '../columns';
import { ageText } from '../server/old-transactions';
import { HeldUp, type Log } from '../server/migration';
import { raw, rowsOf, run, type Sql, sql, transaction, valueOf, type Work } from '../statement';
import type { TableNames } from '../table-names';
import { CANCELLING, DUE } from './columns';
import { openTransactions } from './findings';
import { literal, quoted } from './identifiers';

/** How long a change waits for a lock, as everybody else would wait behind it. */
export const LOCK_TIMEOUT = '500ms';

/** Two processes that migrate take turns. */
const BEGIN = raw(
  `BEGIN; SET LOCAL statement_timeout = 0; SET LOCAL lock_timeout = '${LOCK_TIMEOUT}'; SELECT pg_advisory_xact_lock(hashtext('onqueue migrate'))`,
);

/** Runs statements in a transaction that waits for no lock. */
export const briefly = <T>(work: () => Work<T>): Work<T> => transaction(work, BEGIN);

export interface Index {
  readonly name: string;
  readonly table: string;
  readonly isUnique: boolean;
  /** What stands behind the table's name. */
  readonly columns: string;
}

/** So few bytes are read and sorted in milliseconds. */
const SMALL = 1_048_576;

export function indexesOf({ jobs, failed, locks, batches, records, sums }: TableNames): readonly Index[] {
  const on = (table: string, suffix: string, columns: string, isUnique = false): Index => {
    return { name: `${table}_${suffix}`, table, columns, isUnique };
  };
  return [
    on(jobs, 'ready', `(queue, place) WHERE ${READY}`),
    on(jobs, 'delayed', `(queue, (${DUE}), id) WHERE ${DELAYED}`),
    on(jobs, 'reserved', `(queue, lease_until) WHERE ${RESERVED}`),
    on(jobs, 'uuid', `(uuid) WHERE ${KNOWN_ID}`),
    on(jobs, 'unread', `(id) WHERE ${UNREAD_ID}`),
    on(jobs, 'texts', `(queue, hashtext(payload)) WHERE ${NO_ID}`),
    on(jobs, 'unique', '(unique_key) WHERE unique_key IS NOT NULL', true),
    on(failed, 'uuid_unique', '(uuid)', true),
    on(failed, 'queue', '(queue, id)'),
    on(locks, 'expires_at', '(expires_at)'),
    on(batches, 'created', '(created_at)'),
    on(batches, 'finished', '(finished_at) WHERE finished_at IS NOT NULL'),
    on(batches, 'cancelling', `(id) WHERE ${CANCELLING}`),
    on(records, 'kind', '(kind, ends_at, id)'),
    on(records, 'ends', '(ends_at)'),
    on(sums, 'ends', '(ends_at)'),
  ];
}

const creation = ({ name, table, isUnique, columns }: Index, how: string): string =>
  `CREATE ${isUnique ? 'UNIQUE ' : ''}INDEX ${how}IF NOT EXISTS ${quoted(name)} ON ${quoted(table)} ${columns};`;

export const concurrently = (index: Index): string => creation(index, 'CONCURRENTLY ');

/** The indexes of one table: those that are broken are dropped, and all are made if the table is small. */
export function prepare(indexes: readonly Index[]): string {
  const { table } = indexes[0]!;
  const drops = indexes.map(
    ({ name }) => `  IF NOT (SELECT indisvalid FROM pg_index WHERE indexrelid = ${place(name)}) AND NOT v_busy THEN
    DROP INDEX ${quoted(name)};
  END IF;`,
  );
  const creations = indexes.map(
    (index) => `    IF ${place(index.name)} IS NULL THEN
      ${creation(index, '')}
    END IF;`,
  );
  return `DO $$
DECLARE
  v_busy boolean := ${isWorkedOn(table)};
BEGIN
${drops.join('\n')}
  IF pg_relation_size(${place(table)}) < ${SMALL} THEN
${creations.join('\n')}
  END IF;
END $$;`;
}

/** Whoever builds an index, vacuums or analyses holds this lock. */
const isWorkedOn = (table: string): string =>
  `EXISTS (SELECT FROM pg_locks
    WHERE relation = ${place(table)} AND mode = 'ShareUpdateExclusiveLock' AND granted AND pid <> pg_backend_pid())`;

const place = (name: string): string => `to_regclass(${literal(quoted(name))})`;

/** The condition that all of them can be used. */
export const areUsable = (indexes: readonly Index[]): string =>
  `${indexes.length} = (SELECT count(*) FROM pg_index WHERE indisvalid AND indexrelid IN (${indexes.map(({ name }) => place(name)).join(', ')}))`;

type Flaw = 'missing' | 'invalid';

/** Undefined: it can be used. */
function* flawOf({ name }: Index): Work<Flaw | undefined> {
  const rows = yield* rowsOf(raw(`SELECT indisvalid FROM pg_index WHERE indexrelid = ${place(name)}`));
  if (rows.length === 0) return 'missing';
  return rows[0]![0] === 't' ? undefined : 'invalid';
}

/** What is wrong with an index, as a clause; undefined if all can be used. */
export function* flawIn(indexes: readonly Index[]): Work<string | undefined> {
  for (const index of indexes) {
    const flaw = yield* flawOf(index);
    if (flaw !== undefined) return `the index ${index.name} is ${flaw}`;
  }
  return undefined;
}

/** Two that build an index of one table would wait for each other. Not in a transaction, so for the session. */
const ALONE = "hashtext('onqueue migrate an index')";

/** @param now the current time */
export function* build(index: Index, now: Sql, log: Log): Work<void> {
  if ((yield* flawOf(index)) === undefined) return;
  if ((yield* valueOf(raw(`SELECT pg_try_advisory_lock(${ALONE})`))) !== 't') {
    throw new HeldUp('another process builds an index');
  }
  try {
    yield* buildAlone(index, now, log);
  } finally {
    yield* run(raw(`SELECT pg_advisory_unlock(${ALONE})`));
  }
}

function* buildAlone(index: Index, now: Sql, log: Log): Work<void> {
  yield* briefly(() => run(raw(prepare([index]))));
  const flaw = yield* flawOf(index);
  if (flaw === undefined) return;
  if (flaw === 'invalid') throw new HeldUp(`others are at work on ${index.table}`);
  const [old] = yield* rowsOf(sql`${openTransactions(now, 1)} ORDER BY age DESC LIMIT 1`);
  const wait = old === undefined ? '' : ` It waits for a transaction of ${ageText(Number(old[1]))}: ${String(old[0])}.`;
  log.info({ index: index.name }, `The index ${index.name} is being built; workers and dispatches go on.${wait}`);
  yield* unlimited(() => run(raw(concurrently(index))));
}

/** A limit that a user, a pool or a database has would leave an invalid index each time. */
function* unlimited(work: () => Work<unknown>): Work<void> {
  const limits = ['statement_timeout', 'lock_timeout'];
  const [before = []] = yield* rowsOf(raw(`SELECT ${limits.map((name) => `current_setting('${name}')`).join()}`));
  const set = (values: readonly unknown[]): Sql =>
    sql`SELECT ${limits.map((name, at) => sql`set_config(${name}, ${String(values[at])}, false)`)}`;
  yield* run(set(limits.map(() => 0)));
  try {
    yield* work();
  } finally {
    yield* run(set(before));
  }
}
