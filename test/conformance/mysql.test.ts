import { conformance } from '../../src/testing/conformance';
import type { ConformanceHarness } from '../../src/testing/conformance';
import { MysqlWorld } from '../connections/sql/mysql/open-mysql';

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
  'jobs_lanes',
];

const world = new MysqlWorld().forTests();

beforeAll(async () => {
  world.table = 'jobs';
  await world.open();
});

/** Each case leaves the tables empty and moves the time by an offset that the statements add to the server's clock. */
async function openMysql(): Promise<ConformanceHarness> {
  world.table = 'jobs';
  return {
    connection: world.connect(),
    second: () => world.connect(),
    advance: (seconds) => void (world.offset += seconds),
    dispose: async () => {
      await world.closeAll();
      await world.rows(TABLES.map((table) => `DELETE FROM ${table}`).join(';'));
    },
  };
}

describe('the database driver on MariaDB', () => {
  it.each(conformance(openMysql, { recordWake: false }))('$name', async ({ run }) => {
    await expect(run()).resolves.toBeUndefined();
  });
});
