/** The names of a connection's tables. All derive from `table`, and are safe to write into a statement. */
import { badTableName } from './errors';

export interface TableNames {
  /** Waiting and running jobs: Laravel's columns and our own. */
  readonly jobs: string;
  /** Jobs that are out of tries. */
  readonly failed: string;
  /** The names of the queues that were pushed to. */
  readonly queues: string;
  readonly locks: string;
  /** Which queues are paused, and when workers were last told to restart. */
  readonly orders: string;
  /** The outcome of each client's last calls, on servers, where answers can get lost. */
  readonly calls: string;
  /** How many jobs of each batch are left, and what it sends. */
  readonly batches: string;
  /** Which job took each unique key last: on MySQL, where this is not in the rows of jobs. */
  readonly uniqueKeys: string;
  /** Records about jobs, which expire. */
  readonly records: string;
  /** Sums about jobs, and how far each source of counts has come. */
  readonly sums: string;
}

/**
 * The versions of all tables that Onqueue created in a database. `PRAGMA user_version` belongs to other users of the file.
 */
export const VERSIONS_TABLE = 'onqueue_versions';

/** In seconds: the default of Laravel's `retry_after`. */
export const LARAVELS_LEASE = 90;

/** @throws E_DATABASE_TABLE_NAME */
export function tableNames(table: string, connection: string): TableNames {
  if (!/^(?!sqlite_)[a-z_][a-z\d_]{0,47}$/i.test(table)) throw badTableName(connection, table);
  return {
    jobs: table,
    failed: `failed_${table}`,
    queues: `${table}_queues`,
    locks: `${table}_locks`,
    orders: `${table}_orders`,
    calls: `${table}_calls`,
    batches: `${table}_batches`,
    uniqueKeys: `${table}_unique_keys`,
    records: `${table}_records`,
    sums: `${table}_sums`,
  };
}

export function eachTable<T>(names: TableNames, make: (name: string) => T): Readonly<Record<keyof TableNames, T>> {
  const made = Object.entries(names).map(([table, name]: [string, string]) => [table, make(name)]);
  return Object.fromEntries(made) as Record<keyof TableNames, T>;
}
