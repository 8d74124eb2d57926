/** Connections to a test's own PostgreSQL, each test on tables of its own, with a clock that the test moves on. */
import { Client } from 'pg';
import { systemClock } from '../../../../src/clock/clock';
import { connectPostgres } from '../../../../src/connections/database/postgres/postgres-connection';
import type { ServerConnection } from '../../../../src/connections/database/server/server-connection';
import type { ServerContext } from '../../../../src/connections/database/server/server-context';
import type { DatabaseConfig } from '../../../../src/queue/configuration';
import type { Reservation, ReserveRequest } from '../../../../src/queue/connection';
import { type PostgresServer, type PostgresServerOptions, startPostgresServer } from '../../../support/postgres-server';
import { silent } from '../open-database';

let tables = 0;

/** One server for a test file; `fresh()` gives each test tables of its own. */
export class PostgresWorld {
  readonly server: PostgresServer;
  readonly #connections: ServerConnection[] = [];
  readonly #clients: Client[] = [];
  table = '';
  offset = 0;

  private constructor(server: PostgresServer) {
    this.server = server;
  }

  static async start(options?: PostgresServerOptions): Promise<PostgresWorld> {
    return new PostgresWorld(await startPostgresServer(options));
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
    const connection = connectPostgres(
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
  async client(): Promise<Client> {
    const client = new Client({ connectionString: this.server.url });
    // The server may be ended under it.
    client.on('error', () => undefined);
    await client.connect();
    this.#clients.push(client);
    return client;
  }

  /** The rows that a statement gives to somebody else. */
  async rows(text: string, values: readonly unknown[] = []): Promise<readonly Record<string, unknown>[]> {
    const client = await this.client();
    return (await client.query<Record<string, unknown>>(text, [...values])).rows;
  }

  async closeAll(): Promise<void> {
    await Promise.all(this.#connections.splice(0).map((connection) => connection.close()));
    await Promise.all(this.#clients.splice(0).map((client) => client.end().catch(() => undefined)));
  }

  async stop(): Promise<void> {
    await this.closeAll();
    await this.server.stop();
  }
}

export const payload = (id: string): string => `{"job":"probe","data":{},"id":"${id}","attempts":0}`;

export const idOf = (job: { readonly payload: Buffer }): unknown =>
  (JSON.parse(job.payload.toString()) as { id?: unknown }).id;

export async function reserve(
  connection: ServerConnection,
  request: Partial<ReserveRequest> = {},
): Promise<readonly Reservation[]> {
  const { reservations } = await connection.reserve({ queues: ['default'], limit: 100, lease: 60, ...request });
  return reservations;
}
