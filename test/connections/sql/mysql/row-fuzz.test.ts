import { expectAllAccounted, type Value, workOff } from '../row-fuzz';
import { MysqlWorld } from './open-mysql';

const world = new MysqlWorld().forTests();

/** Columns that the server computes. */
const MADE = ['size', 'state', 'turn'];

const literal = (value: Value): string => {
  if (value === null) return 'NULL';
  if (Buffer.isBuffer(value)) return `X'${value.toString('hex')}'`;
  return typeof value === 'string' ? `CONVERT(X'${Buffer.from(value).toString('hex')}' USING utf8mb4)` : String(value);
};

it('every row of a table, whatever its contents, runs, fails or waits, and holds up no other', async () => {
  await world.open();
  const columns = await world.rows('SELECT column_name AS name FROM information_schema.columns WHERE table_name = ?', [
    world.table,
  ]);
  const client = await world.client();
  const account = await workOff({
    configuration: {
      connections: { main: { driver: 'database', url: world.server.url, table: world.table } },
      default: 'main',
    },
    columns: columns.map(({ name }) => String(name)).filter((name) => !MADE.includes(name)),
    insert: async (row) => {
      const names = Object.keys(row);
      const values = names.map((name) => literal(row[name]!));
      return client.query(`INSERT INTO ${world.table} (${names.join()}) VALUES (${values.join()})`);
    },
  });
  expectAllAccounted(account);
}, 180_000);
