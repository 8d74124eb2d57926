import { expectAllAccounted, type Value, workOff } from '../row-fuzz';
import { PostgresWorld } from './open-postgres';

const world = new PostgresWorld().forTests();

const literal = (value: Value): string => {
  if (value === null) return 'NULL';
  if (Buffer.isBuffer(value)) return `convert_from('\\x${value.toString('hex')}', 'UTF8')`;
  return typeof value === 'string' ? `'${value.replaceAll("'", "''")}'` : `'${value}'`;
};

it('every row of a table, whatever its contents, runs, fails or waits, and holds up no other', async () => {
  await world.open();
  const columns = await world.rows('SELECT column_name FROM information_schema.columns WHERE table_name = ?', [
    world.table,
  ]);
  const client = await world.client();
  const account = await workOff({
    configuration: {
      connections: { main: { driver: 'database', url: world.server.url, table: world.table } },
      default: 'main',
    },
    columns: columns.map(({ column_name: name }) => String(name)),
    insert: async (row) => {
      const names = Object.keys(row);
      const values = names.map((name) => literal(row[name]!));
      return client.query(`INSERT INTO ${world.table} (${names.join()}) VALUES (${values.join()})`);
    },
  });
  expectAllAccounted(account);
}, 180_000);
