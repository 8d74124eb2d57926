/** What the tables of one connection are called. All names derive from `table`, and are safe to stand in a statement. */
import { badTableName } from './errors';

export interface TableNames {
  /** Waiting and running jobs: Laravel's columns and our own. */
  readonly jobs: string;
  /** Jobs that are out of tries. */
  readonly failed: string;
  /** The names of the queues that were pushed to. */
  readonly queues: string;
  readonly locks: string;
  /** Which queues are paused, and when workers were last told to start anew. */
  readonly orders: string;
  /** What became of the last calls of each client, where answers can be lost on their way: on servers. */
  readonly calls: string;
  /** How many jobs of each batch are left, and what it sends. */
  readonly batches: string;
  /** Who was the last to take each unique key, where that does not stand in the rows of jobs: on MySQL. */
  readonly uniqueKeys: string;
  /** What is told of jobs, and ends by itself. */
  readonly records: string;
  /** What was counted of them, by the source of the counts too: how far each has come. */
  readonly sums: string;
}

/** The versions of all tables that Onqueue made in a database. `PRAGMA user_version` belongs to a file's other users. */
export const VERSIONS_TABLE = 'onqueue_versions';

/** Seconds: its `retry_after`, as it is configured by default. */
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
