import { Client } from 'pg';
import { systemClock } from '../../src/base/clock';
import { connectPostgres } from '../../src/connections/sql/postgres/postgres-connection';
import type { SqlConnection } from '../../src/connections/sql/sql-connection';
import type { OpenContext } from '../../src/connections/sql/database-connection';
import { conformance } from '../../src/testing/conformance';
import type { ConformanceHarness } from '../../src/testing/conformance';
import { startPostgresServer } from '../support/postgres-server';
import type { PostgresServer } from '../support/postgres-server';

const silent = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };

const TABLES = [
  'store',
  'failed_store',
  'store_queues',
  'store_locks',
  'store_orders',
  'store_calls',
  'store_batches',
  'store_records',
  'store_sums',
];

let server: PostgresServer;
let client: Client;

beforeAll(async () => {
  server = await startPostgresServer();
  client = new Client({ connectionString: server.url });
  await client.connect();
  const maker = connectPostgres(
    { driver: 'database', url: server.url },
    contextAt(() => 0),
  );
  await maker.migrations.run();
  await maker.close();
});

afterAll(async () => {
  await client.end();
  await server.stop();
});

const contextAt = (offset: () => number): OpenContext => ({
  name: 'database',
  clock: systemClock,
  logger: silent,
  deadline: 5,
  offset,
  table: 'store',
});

/** Each case leaves the tables empty and moves the time by an offset that the statements add to the server's clock. */
async function openPostgres(): Promise<ConformanceHarness> {
  let offset = 0;
  const connections: SqlConnection[] = [];
  const connect = (): SqlConnection => {
    const connection = connectPostgres(
      { driver: 'database', url: server.url },
      contextAt(() => offset),
    );
    connections.push(connection);
    return connection;
  };
  return {
    connection: connect(),
    second: connect,
    advance: (seconds) => void (offset += seconds),
    dispose: async () => {
      await Promise.all(connections.map((connection) => connection.close()));
      await client.query(`TRUNCATE ${TABLES.join(', ')}`);
    },
  };
}

describe('the database driver on PostgreSQL', () => {
  it.each(conformance(openPostgres))('$name', async ({ run }) => {
    await expect(run()).resolves.toBeUndefined();
  });
});
