import { TemporaryDatabase } from '../open-database';
import { expectAllAccounted, type Value, workOff } from '../row-fuzz';

interface Engine {
  prepare(text: string): {
    run(values: readonly unknown[]): unknown;
    raw(): { all(values: readonly unknown[]): readonly (readonly unknown[])[] };
  };
  close(): void;
}

let database: TemporaryDatabase;
let engine: Engine;

beforeEach(async () => {
  database = new TemporaryDatabase();
  await database.connect().queues.counts('default');
  const Libsql = require('libsql') as new (file: string, options: object) => Engine;
  engine = new Libsql(database.file, { timeout: 60_000 });
});

afterEach(async () => {
  engine.close();
  await database.dispose();
});

const literal = (value: Value): string => {
  if (value === null) return 'NULL';
  if (Buffer.isBuffer(value)) return `X'${value.toString('hex')}'`;
  return typeof value === 'string' ? `CAST(X'${Buffer.from(value).toString('hex')}' AS TEXT)` : String(value);
};

it('every row of a file, whatever its contents, runs, fails or waits, and holds up no other', async () => {
  const columns = engine.prepare("SELECT CAST(name AS BLOB) FROM pragma_table_info('jobs')").raw().all([]).map(String);
  const account = await workOff({
    configuration: {
      connections: { main: { driver: 'database', url: `sqlite:${database.file}` } },
      default: 'main',
    },
    columns,
    insert: async (row) => {
      const names = Object.keys(row);
      engine
        .prepare(`INSERT INTO jobs (${names.join()}) VALUES (${names.map((name) => literal(row[name]!)).join()})`)
        .run([]);
    },
  });
  expectAllAccounted(account);
}, 180_000);
