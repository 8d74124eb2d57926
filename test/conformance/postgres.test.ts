import { conformance } from '../../src/testing/conformance';
import type { ConformanceHarness } from '../../src/testing/conformance';
import { PostgresWorld } from '../connections/sql/postgres/open-postgres';

const world = new PostgresWorld().forTests({ sameTables: true });

beforeAll(async () => {
  world.fresh();
  await world.open();
});

/** Each case moves the time by an offset that the statements add to the server's clock. */
async function openPostgres(): Promise<ConformanceHarness> {
  return {
    connection: world.connect(),
    second: () => world.connect(),
    advance: (seconds) => void (world.offset += seconds),
    // The world empties the tables and closes what was opened.
    dispose: async () => undefined,
  };
}

describe('the database driver on PostgreSQL', () => {
  it.each(conformance(openPostgres, {}))('$name', async ({ run }) => {
    await expect(run()).resolves.toBeUndefined();
  });
});
