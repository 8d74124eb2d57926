import { describeRefusals } from '../refusals';
import { TemporaryDatabase } from '../open-database';

let database: TemporaryDatabase;

beforeEach(() => {
  database = new TemporaryDatabase();
});

afterEach(() => database.dispose());

/** Raises an error in a trigger, because SQLite cannot add constraints to a table. */
async function forbid(event: string, condition: string): Promise<void> {
  const connection = database.connect();
  await connection.queues.counts('default');
  const Libsql = require('libsql') as new (file: string) => { exec(text: string): void; close(): void };
  const client = new Libsql(database.file);
  client.exec(`CREATE TRIGGER forbidden BEFORE ${event} WHEN ${condition} BEGIN SELECT RAISE(ABORT, 'not here'); END`);
  client.close();
}

describeRefusals(
  async () => ({
    connections: { main: { driver: 'database', url: `sqlite:${database.file}` } },
    default: 'main',
  }),
  {
    longExceptions: () => forbid('INSERT ON failed_jobs', 'length(new.exception) > 1000'),
    delays: () =>
      forbid('UPDATE ON jobs', 'old.reserved_at IS NOT NULL AND new.reserved_at IS NULL AND new.place IS NULL'),
    removals: () => forbid('DELETE ON jobs', `old.payload LIKE '%"stays"%'`),
    additions: () => forbid('INSERT ON jobs', `new.payload LIKE '%"closed"%'`),
  },
);
