/** The part of the package mysql2 that we use. */
import type { Socket } from 'node:net';
import { peerError } from '../../kit/requirements';

type Callback<T = unknown> = (error: Error | null, result: T) => void;

export interface MysqlConnection {
  readonly stream: Socket;
  connect(callback: (error: Error | null) => void): void;
  query(options: { readonly sql: string; readonly rowsAsArray?: boolean }, callback: Callback): void;
  /** Says goodbye to the server, and closes the connection. */
  end(callback: () => void): void;
  on(event: 'error' | 'end', listener: () => void): unknown;
}

export type MysqlOptions = Readonly<Record<string, unknown>>;

/** A pool of the user's, from `mysql2` or `mysql2/promise`, as far as it exposes the options of its connections. */
export interface MysqlUsersPool {
  readonly config?: { readonly connectionConfig?: MysqlOptions };
  readonly pool?: MysqlUsersPool;
}

interface MysqlPackage {
  createConnection(options: MysqlOptions): MysqlConnection;
}

/**
 * @param connection its name in the configuration
 * @throws E_MISSING_PEER
 */
export function loadMysql(connection: string): MysqlPackage {
  try {
    // oxlint-disable-next-line typescript/no-require-imports -- an optional peer, loaded by who uses it
    return require('mysql2') as MysqlPackage;
  } catch (error) {
    throw peerError({ connection, driver: 'database on MySQL', peer: 'mysql2' }, error);
  }
}
