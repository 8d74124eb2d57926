import { Pool } from 'pg';
import { conformance } from '../../src/testing/conformance';
import type { ConformanceHarness } from '../../src/testing/conformance';
import { PostgresWorld } from '../connections/sql/postgres/open-postgres';

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
  'store_lanes',
];

/** Of all cases: a session that has prepared the functions once is spared it in the others. */
let pool: Pool;

// Before the server ends.
afterAll(() => pool.end());

const world = new PostgresWorld().forTests();

beforeAll(async () => {
  world.table = 'store';
  await world.open();
  pool = new Pool({ connectionString: world.server.url, max: 10 });
  pool.on('error', () => undefined);
});

/** Each case leaves the tables empty and moves the time by an offset that the statements add to the server's clock. */
async function openPostgres(): Promise<ConformanceHarness> {
  world.table = 'store';
  return {
    connection: world.connect({ pool }),
    second: () => world.connect({ pool }),
    advance: (seconds) => void (world.offset += seconds),
    dispose: async () => {
      await world.closeAll();
      await pool.query(`WITH ${TABLES.map((table) => `${table}_rows AS (DELETE FROM ${table})`).join(', ')} SELECT`);
    },
  };
}

describe('the database driver on PostgreSQL', () => {
  it.each(conformance(openPostgres, {}))('$name', async ({ run }) => {
    await expect(run()).resolves.toBeUndefined();
  });
});
