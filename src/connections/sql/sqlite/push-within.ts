/**
 * Pushes into a transaction that the user has begun on the same file.
 *
 * Only where the user's library is the engine that this connection itself works with: SQLite knows of the locks of a
 * process by what it has noted in its own memory, and two copies of it in one process overwrite each other's commits.
 */
import type { Clock, Seconds } from '../../../base/clock';
import type { Connection, Entry } from '../../contract';
import { DuplicatePayloadError } from '../../errors';
import { ForeignEngineError, NotMigratedError, OtherFileError } from '../errors';
import { newJob } from '../job-text';
import type { NewJob } from '../job-text';
import type { TableNames } from '../table-names';
import { storable } from './job-table';
import { delayAt, toMicroseconds } from './moment';
import { DELAYED, READY, TEXT_END, TEXT_LENGTH } from './tables';
import type { UserTransaction } from './user-transaction';

export interface PushWithinOptions {
  /** The connection's name in the configuration. */
  readonly connection: string;
  readonly file: string;
  readonly names: TableNames;
  readonly clock: Clock;
  /** The build of our own engine; undefined: it cannot open the tables now, for they are to be made and others hold the file. */
  readonly engine: () => string | undefined;
}

const SUBJECT = 'the job was not queued';

export function pushWithin(options: PushWithinOptions, transaction: UserTransaction): Pick<Connection, 'push'> {
  return {
    push: async (queue, entries) => {
      await check(options, transaction);
      const { names, clock } = options;
      const now = toMicroseconds(clock.now() / 1000);
      await refuseDuplicates(options, transaction, queue, entries, now);
      await transaction.query(`INSERT OR IGNORE INTO ${names.queues} (name) VALUES (?)`, [queue]);
      for (const { payload, ...when } of entries) {
        await insert(names, transaction, queue, newJob(payload, delayAt(when, now)), now);
      }
    },
  };
}

async function check({ connection, file, engine }: PushWithinOptions, transaction: UserTransaction): Promise<void> {
  const own = engine();
  if (own === undefined) throw new NotMigratedError(connection, file, SUBJECT);
  // Compared by the database: reading a path that is not UTF-8 as text would end the process.
  const sql = `SELECT CAST(file AS BLOB) = CAST(? AS BLOB), sqlite_source_id() = ? FROM pragma_database_list WHERE name = 'main'`;
  const [[isFile, isEngine] = []] = await transaction.query(sql, [file, own]);
  if (Number(isFile) !== 1) throw new OtherFileError(connection, file);
  if (Number(isEngine) !== 1) throw new ForeignEngineError(connection);
}

async function refuseDuplicates(
  { connection, names }: PushWithinOptions,
  transaction: UserTransaction,
  queue: string,
  entries: readonly Entry[],
  now: Seconds,
): Promise<void> {
  const seen = new Set<string>();
  for (const { payload, unique, ...when } of entries) {
    if (unique !== true || delayAt(when, now) <= 0) continue;
    const sql = `SELECT 1 FROM ${names.jobs} WHERE queue = ? AND ${DELAYED} AND ${TEXT_LENGTH} = octet_length(?)
      AND ${TEXT_END} = substr(CAST(? AS BLOB), -64) AND CAST(payload AS BLOB) = CAST(? AS BLOB)`;
    const found = await transaction.query(sql, [queue, payload, payload, payload]);
    if (found.length > 0 || seen.has(payload)) throw new DuplicatePayloadError(connection, queue, payload);
    seen.add(payload);
  }
}

async function insert(
  { jobs }: TableNames,
  transaction: UserTransaction,
  queue: string,
  { payload, uuid, counters, delay }: NewJob,
  now: number,
): Promise<void> {
  const { attempts, crashes, exceptions, timeouts, releases } = counters;
  const due = toMicroseconds(now + Math.max(delay, 0));
  const counts = [attempts, crashes, exceptions, timeouts, releases];
  const place = delay > 0 ? 'NULL' : `(SELECT coalesce(max(place), 0) + 1 FROM ${jobs} WHERE queue = ? AND ${READY})`;
  await transaction.query(
    `INSERT INTO ${jobs} (queue, payload, uuid, available_at, created_at, attempts, crashes, exceptions, timeouts, releases, place)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ${place})`,
    [queue, storable(payload), uuid, due, now, ...counts, ...(delay > 0 ? [] : [queue])],
  );
}
