import { systemClock } from '../../src/clock/clock';
import { connectPostgres } from '../../src/connections/database/postgres/postgres-connection';
import type { ServerConnection } from '../../src/connections/database/server/server-connection';
import { conformance } from '../../src/testing/conformance';
import type { ConformanceHarness } from '../../src/testing/conformance';
import { startPostgresServer } from '../support/postgres-server';
import type { PostgresServer } from '../support/postgres-server';

const silent = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };

let server: PostgresServer;
let stores = 0;

beforeAll(async () => {
  server = await startPostgresServer();
}, 60_000);

afterAll(() => server.stop());

/** Each case has tables of its own, and moves the server's time by an offset that the statements add to it. */
async function openPostgres(): Promise<ConformanceHarness> {
  stores += 1;
  let offset = 0;
  const context = {
    name: 'database',
    clock: systemClock,
    logger: silent,
    deadline: 5,
    offset: () => offset,
    table: `store_${stores}`,
  };
  const connections: ServerConnection[] = [];
  const connect = (): ServerConnection => {
    const connection = connectPostgres({ driver: 'database', url: server.url }, context);
    connections.push(connection);
    return connection;
  };
  const connection = connect();
  await connection.migrations.run();
  return {
    connection,
    second: connect,
    advance: (seconds) => void (offset += seconds),
    dispose: async () => void (await Promise.all(connections.map((one) => one.close()))),
  };
}

describe('the database driver on PostgreSQL', () => {
  it.each(conformance(openPostgres))('$name', async ({ run }) => {
    await expect(run()).resolves.toBeUndefined();
  });
});
