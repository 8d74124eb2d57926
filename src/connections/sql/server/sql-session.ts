/** What is asked of a client of a database server: the same few things of pg, of mysql2 and of a transaction of the user's. */

export type SqlValue = string | number | Buffer | null;

/** The columns of one row, in the order of the statement. */
export type SqlRow = readonly SqlValue[];

export interface SqlResult {
  readonly rows: readonly SqlRow[];
  /** How many rows it inserted, changed or removed. */
  readonly written: number;
}

/** Runs statements one after another, on one connection. */
export interface SqlSession {
  query(text: string, values?: readonly unknown[]): Promise<SqlResult>;
}

/** A connection that was taken out of a pool. */
export interface SqlClient extends SqlSession {
  /** The client of the package itself: the same object whenever the pool gives the same connection. */
  readonly identity: object;
  /** Back to the pool, once. `broken`: whatever it answers next is not for us; it is ended. */
  release(broken: boolean): void;
}

export interface SqlPool {
  /** Rejects where no connection can be made. */
  acquire(): Promise<SqlClient>;
  /** Ends the connections; a pool of the user's own is left as it is. */
  close(): Promise<void>;
}
