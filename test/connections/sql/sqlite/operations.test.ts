import { openSqlite } from '../../../../src/connections/sql/sqlite/sqlite-database';
import { TestClock } from '../../../../src/testing/test-clock';
import { TemporaryDatabase } from '../open-database';
import { describeOperations } from '../operations';

let database: TemporaryDatabase;
let clock: TestClock;

beforeEach(() => {
  database = new TemporaryDatabase();
  clock = new TestClock();
});

afterEach(() => database.dispose());

describeOperations({
  name: 'SQLite',
  table: 'jobs',
  open: async () => {
    const connection = database.connect({}, { clock });
    await connection.migrations.run();
    return connection;
  },
  execute: async (text) => openSqlite(database.file, 1000).exec(text),
  count: async (text) => Number(openSqlite(database.file, 1000).prepare(text).get([])![0]),
  advance: (seconds) => clock.advance(seconds),
});

describe('failed jobs of all queues in SQLite', () => {
  it('are each looked at once, as those of one queue are', async () => {
    const { failed } = database.connect({}, { clock });
    await failed.count();
    openSqlite(database.file, 1000).exec(
      `WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < 40000)
        INSERT INTO failed_jobs (uuid, connection, queue, payload, exception, failed_at)
        SELECT 'job-' || n, 'database', 'default', '{}', printf('%.500c', 'x'), 4e9 FROM numbers`,
    );
    const [ofOne, ofAll] = [Infinity, Infinity].map((spent) => ({ spent }));
    for (let round = 0; round < 3; round += 1) {
      for (const [least, queue] of [
        [ofOne!, 'default'],
        [ofAll!, undefined],
      ] as const) {
        const before = process.cpuUsage();
        expect(await failed.prune({ queue, olderThan: 60 })).toBe(0);
        const { user, system } = process.cpuUsage(before);
        least.spent = Math.min(least.spent, user + system);
      }
    }
    // From the first of all to each page it would be thirty times as much.
    expect(ofAll!.spent).toBeLessThan(4 * ofOne!.spent);
  });
});
