import { openSqlite } from '../../../../src/connections/sql/sqlite/engine';
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
