/** Connections to a test's own MariaDB, each test on tables of its own, with a clock that the test moves on. */
import { type Connection, createConnection, type QueryResult } from 'mysql2/promise';
import { systemClock } from '../../../../src/clock/clock';
import { connectMysql } from '../../../../src/connections/database/mysql/mysql-connection';
import type { ServerConnection } from '../../../../src/connections/database/server/server-connection';
import type { ServerContext } from '../../../../src/connections/database/server/server-context';
import type { DatabaseConfig } from '../../../../src/queue/configuration';
import type { Reservation, ReserveRequest } from '../../../../src/queue/connection';
import { type MariadbServer, type MariadbServerOptions, startMariadbServer } from '../../../support/mariadb-server';
import { silent } from '../open-database';

let tables = 0;

/** One server for a test file; `fresh()` gives each test tables of its own. */
export class MysqlWorld {
  readonly server: MariadbServer;
  readonly #connections: ServerConnection[] = [];
  readonly #clients: Connection[] = [];
  table = '';
  offset = 0;

  private constructor(server: MariadbServer) {
    this.server = server;
  }

  static async start(options?: MariadbServerOptions): Promise<MysqlWorld> {
    return new MysqlWorld(await startMariadbServer(options));
  }

  /** From here on other tables are meant, which are not made yet. */
  fresh(): void {
    this.table = `jobs_${++tables}`;
    this.offset = 0;
  }

  /** Its tables are made. */
  async open(config: Partial<DatabaseConfig> = {}, context: Partial<ServerContext> = {}): Promise<ServerConnection> {
    const connection = this.connect(config, context);
    await connection.migrations.run();
    return connection;
  }

  connect(config: Partial<DatabaseConfig> = {}, context: Partial<ServerContext> = {}): ServerConnection {
    const url = config.pool === undefined ? { url: this.server.url } : {};
    const connection = connectMysql(
      { driver: 'database', ...url, ...config },
      {
        name: 'database',
        clock: systemClock,
        logger: silent,
        deadline: 5,
        offset: () => this.offset,
        table: this.table,
        ...context,
      },
    );
    this.#connections.push(connection);
    return connection;
  }

  /** A client of a user's. */
  async client(): Promise<Connection> {
    const client = await createConnection({ uri: this.server.url, multipleStatements: true });
    // The server may be ended under it.
    client.on('error', () => undefined);
    this.#clients.push(client);
    return client;
  }

  /** The rows that a statement gives to somebody else. */
  async rows(text: string, values: readonly unknown[] = []): Promise<readonly Record<string, unknown>[]> {
    const client = await this.client();
    const [rows] = await client.query<QueryResult>(text, [...values]);
    return rows as unknown as readonly Record<string, unknown>[];
  }

  async closeAll(): Promise<void> {
    await Promise.all(this.#connections.splice(0).map((connection) => connection.close()));
    for (const client of this.#clients.splice(0)) client.destroy();
  }

  async stop(): Promise<void> {
    await this.closeAll();
    await this.server.stop();
  }
}

export async function reserve(
  connection: ServerConnection,
  request: Partial<ReserveRequest> = {},
): Promise<readonly Reservation[]> {
  const { reservations } = await connection.reserve({ queues: ['default'], limit: 100, lease: 60, ...request });
  return reservations;
}
