import { conformance } from '../../src/testing/conformance';
import type { ConformanceHarness } from '../../src/testing/conformance';
import { TestClock } from '../../src/testing/test-clock';
import { TemporaryDatabase } from '../connections/sql/open-database';

async function openSqliteFile(): Promise<ConformanceHarness> {
  const clock = new TestClock();
  const database = new TemporaryDatabase();
  return {
    connection: database.connect({}, { clock }),
    second: () => database.connect({}, { clock }),
    advance: (seconds) => clock.advance(seconds),
    dispose: () => database.dispose(),
  };
}

describe('the database driver on SQLite', () => {
  it.each(conformance(openSqliteFile, { recordWake: false }))('$name', async ({ run }) => {
    await expect(run()).resolves.toBeUndefined();
  });
});
