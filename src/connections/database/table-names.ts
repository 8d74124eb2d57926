/** What the tables of one connection are called. All names derive from `table`, and are safe to stand in a statement. */
import { DatabaseTableNameError } from './errors';

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
}

/** The versions of all tables that Onqueue made in a database. `PRAGMA user_version` belongs to a file's other users. */
export const VERSIONS_TABLE = 'onqueue_versions';

/** What makes a table of that name one of Laravel's, or of ours, on a database server. */
export const LARAVELS_COLUMNS = {
  jobs: ['id', 'queue', 'payload', 'attempts', 'reserved_at', 'available_at', 'created_at'],
  failed: ['id', 'uuid', 'connection', 'queue', 'payload', 'exception', 'failed_at'],
} as const;

/** Seconds: its `retry_after`, as it is configured by default. */
export const LARAVELS_LEASE = 90;

/** A column without which the statements fail, as they do where it has another type. */
export interface NeededColumn {
  readonly table: string;
  readonly column: string;
  readonly type?: string | undefined;
}

/**
 * What is wrong with tables whose version is right, as a clause; undefined: nothing. Laravel's migrations make some columns too
 * narrow, and make a table anew without ours.
 *
 * @param found types, by `table.column`
 */
export function flawIn(found: ReadonlyMap<string, string>, needed: readonly NeededColumn[]): string | undefined {
  for (const { table, column, type } of needed) {
    const name = `${table}.${column}`;
    const is = found.get(name);
    if (is === undefined) return `${name} is missing`;
    if (type !== undefined && is !== type) return `${name} is ${is}, where ${type} is needed`;
  }
  return undefined;
}

/** @throws DatabaseTableNameError */
export function tableNames(table: string, connection: string): TableNames {
  if (!/^(?!sqlite_)[a-z_][a-z\d_]{0,47}$/i.test(table)) throw new DatabaseTableNameError(connection, table);
  return {
    jobs: table,
    failed: `failed_${table}`,
    queues: `${table}_queues`,
    locks: `${table}_locks`,
    orders: `${table}_orders`,
    calls: `${table}_calls`,
  };
}
