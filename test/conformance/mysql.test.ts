import { createConnection, type Connection } from 'mysql2/promise';
import { systemClock } from '../../src/base/clock';
import { connectMysql } from '../../src/connections/sql/mysql/mysql-connection';
import type { SqlConnection } from '../../src/connections/sql/sql-connection';
import { conformance } from '../../src/testing/conformance';
import type { ConformanceHarness } from '../../src/testing/conformance';
import { startMariadbServer } from '../support/mariadb-server';
import type { MariadbServer } from '../support/mariadb-server';

const TABLES = [
  'jobs',
  'failed_jobs',
  'jobs_queues',
  'jobs_locks',
  'jobs_orders',
  'jobs_calls',
  'jobs_unique_keys',
  'jobs_batches',
  'jobs_records',
  'jobs_sums',
];

const silent = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };

let server: MariadbServer;
let admin: Connection;

beforeAll(async () => {
  server = await startMariadbServer();
  admin = await createConnection({ uri: server.url, multipleStatements: true });
});

afterAll(async () => {
  admin.destroy();
  await server.stop();
});

/** Each case finds the tables empty and moves the time by an offset that the statements add to the server's clock. */
async function openMysql(): Promise<ConformanceHarness> {
  let offset = 0;
  const context = {
    name: 'database',
    clock: systemClock,
    logger: silent,
    deadline: 5,
    offset: () => offset,
    table: 'jobs',
  };
  const connections: SqlConnection[] = [];
  const connect = (): SqlConnection => {
    const connection = connectMysql({ driver: 'database', url: server.url }, context);
    connections.push(connection);
    return connection;
  };
  const connection = connect();
  await connection.migrations.run();
  return {
    connection,
    second: connect,
    advance: (seconds) => void (offset += seconds),
    dispose: async () => {
      await Promise.all(connections.map((one) => one.close()));
      await admin.query(TABLES.map((table) => `DELETE FROM ${table}`).join(';'));
    },
  };
}

describe('the database driver on MariaDB', () => {
  it.each(conformance(openMysql, { wake: false, recordWake: false }))('$name', async ({ run }) => {
    await expect(run()).resolves.toBeUndefined();
  });
});
