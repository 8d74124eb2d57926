import { postgresSchema } from '../../../../src/connections/sql/postgres/postgres-schema';
import { perform, type SqlSession } from '../../../../src/connections/sql/statement';
import { tableNames } from '../../../../src/connections/sql/table-names';
import { payload } from '../open-database';
import { begin, counted } from '../server/batches';
import { describeMigrations } from '../server/migrations';
import { completeAll, pushes, tied } from '../server/unique-keys';
import { PostgresWorld } from './open-postgres';

const world = new PostgresWorld().forTests();

describeMigrations(world, /^PostgreSQL \d+/);

describe('the tables of PostgreSQL', () => {
  it('of the previous version must be migrated, and keep the function that its processes still call', async () => {
    const connection = await world.open();
    const { table } = world;
    await connection.push('default', [{ payload: payload('a') }]);
    await world.rows(`ALTER FUNCTION "${table}_exchange_v6" RENAME TO "${table}_exchange_v4"`);
    await world.rows(`ALTER TABLE "${table}_calls" DROP COLUMN held`);
    await world.rows(`DROP TABLE "${table}_batches", "${table}_records", "${table}_sums"`);
    const columns = ['unique_key', 'unique_until', 'start_key', 'start_for'].map((name) => `DROP COLUMN ${name}`);
    await world.rows(`ALTER TABLE "${table}" ${columns.join(', ')}`);
    await world.rows('UPDATE onqueue_versions SET version = 4 WHERE name = ?', [table]);
    const pushing = world.connect().push('default', [{ payload: payload('b') }]);
    await expect(pushing).rejects.toMatchObject({ code: 'E_DATABASE_NOT_MIGRATED' });
    expect(await connection.migrations.run()).toEqual({ from: 4, to: 8 });
    const functions = `SELECT proname::text AS name FROM pg_proc WHERE proname LIKE ? ORDER BY proname`;
    expect(await world.rows(functions, [`${table}_exchange_%`])).toEqual([
      { name: `${table}_exchange_v4` },
      { name: `${table}_exchange_v6` },
    ]);
    expect(await pushes(connection, tied('c'), tied('d'))).toEqual(['queued', { duplicate: 'c' }]);
    expect(await completeAll(connection)).toEqual(['a', 'c']);
    await begin(connection, ['e']);
    expect(await counted(connection)).toEqual([1, 0, 0, 0]);
    expect(await connection.records.replace({ kind: 'probe', id: 'a', value: '1' }, undefined, 60)).toBe(true);
  });
});

it('tables of version 7 keep the function with which its processes still push', async () => {
  const connection = await world.open();
  const { table } = world;
  await world.rows(`ALTER FUNCTION "${table}_push_v8" RENAME TO "${table}_push_v3"`);
  await world.rows('UPDATE onqueue_versions SET version = 7 WHERE name = ?', [table]);

  expect(await connection.migrations.run()).toEqual({ from: 7, to: 8 });

  const functions = `SELECT proname::text AS name FROM pg_proc WHERE proname LIKE ? ORDER BY proname`;
  expect(await world.rows(functions, [`${table}_push_v%`])).toEqual([
    { name: `${table}_push_v3` },
    { name: `${table}_push_v8` },
  ]);
  await connection.push('default', [{ payload: payload('a') }]);
  expect(await completeAll(connection)).toEqual(['a']);
});

describe('a PostgreSQL that is not as it should be', () => {
  it('is told apart: one that only reads, though it is no standby', async () => {
    const ready = await world.open();
    const url = `${world.server.url}?options=${encodeURIComponent('-c default_transaction_read_only=on')}`;
    const connection = world.connect({ url }, { deadline: 0.3 });
    await expect(connection.push('default', [{ payload: payload('a') }])).rejects.toThrow(
      /read-only transaction.*switch off default_transaction_read_only/s,
    );
    expect(await connection.diagnose()).toContainEqual({
      ...{ level: 'error', subject: 'writes' },
      message: expect.stringMatching(/^default_transaction_read_only is on/) as string,
    });
    expect((await ready.diagnose()).filter(({ subject }) => subject === 'writes')).toEqual([]);
  });

  it('is told apart: one whose encoding lacks characters', async () => {
    await world.rows(`CREATE DATABASE latin ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0`);
    const connection = await world.open({ url: world.server.url.replace(/\/postgres$/, '/latin') });
    await connection.push('default', [{ payload: payload('é') }]);
    await expect(connection.push('default', [{ payload: payload('€') }])).rejects.toMatchObject({
      code: 'E_DATABASE_REFUSED',
      message: expect.stringMatching(/has no equivalent in encoding "LATIN1".*ENCODING 'UTF8'\.$/) as string,
    });
    expect(await connection.diagnose()).toContainEqual(
      expect.objectContaining({ level: 'warning', subject: 'encoding' }),
    );
  });
});

describe('the schema that an address names', () => {
  it.each(['queue', 'my "own" \\ schema'])('has the tables, and no other has them: %s', async (schema) => {
    await world.rows(`CREATE SCHEMA IF NOT EXISTS "${schema.replaceAll('"', '""')}"`);
    const url = `${world.server.url}?options=${encodeURIComponent('-c statement_timeout=9s')}&schema=${encodeURIComponent(schema)}`;
    const connection = await world.open({ url });
    await connection.push('default', [{ payload: payload('a') }]);
    expect(await completeAll(connection)).toEqual(['a']);
    const places = 'SELECT schemaname::text AS name FROM pg_tables WHERE tablename = ?';
    expect(await world.rows(places, [world.table])).toEqual([{ name: schema }]);
  });
});

describe('the migrations of PostgreSQL', () => {
  it('need a server of a supported version', async () => {
    const old: SqlSession = { run: async () => [{ rows: [['9.6.24', '90624']], written: 0 }] };
    const schema = postgresSchema(tableNames('jobs', 'database'));
    expect(await perform(old, schema.server())).toEqual({ server: 'PostgreSQL 9.6.24', needed: 'PostgreSQL 12' });
  });
});
