import { identifiers } from '../../../../src/connections/sql/postgres/names';
import { postgresSchema } from '../../../../src/connections/sql/postgres/schema';
import { perform, type SqlSession } from '../../../../src/connections/sql/statement';
import { tableNames } from '../../../../src/connections/sql/address';
import { RecordingLogger } from '../../../support/application';
import { eventually } from '../../../support/eventually';
import { meantToPass } from '../../../support/meant-to-pass';
import { payload } from '../open-database';
import { begin, counted } from '../server/batches';
import { firstPostgresTables } from '../server/first-tables';
import { describeLivingMigrations } from '../server/living-migrations';
import { describeMigrations } from '../server/migrations';
import { completeAll, pushes, tied } from '../server/unique-keys';
import { PostgresWorld } from './open-postgres';
import { soakSize } from '../../../support/soak-size';

const world = new PostgresWorld().forTests();

describeMigrations(world, /^PostgreSQL \d+/);

describe('the tables of PostgreSQL', () => {
  it('of the previous version must be migrated, and keep the function that its processes still call', async () => {
    const connection = await world.open();
    const { table } = world;
    await connection.push('default', [{ payload: payload('a') }]);
    await world.rows(`ALTER FUNCTION "${table}_exchange_v10" RENAME TO "${table}_exchange_v4"`);
    await world.rows(`ALTER TABLE "${table}_calls" DROP COLUMN held`);
    await world.rows(`ALTER TABLE "${table}_orders" DROP COLUMN amount`);
    await world.rows(`DROP TABLE "${table}_batches", "${table}_records", "${table}_sums"`);
    const columns = ['unique_key', 'unique_until', 'start_key', 'start_for'].map((name) => `DROP COLUMN ${name}`);
    await world.rows(`ALTER TABLE "${table}" ${columns.join(', ')}`);
    await world.rows('UPDATE onqueue_versions SET version = 4 WHERE name = ?', [table]);
    const pushing = world.connect().push('default', [{ payload: payload('b') }]);
    await expect(pushing).rejects.toMatchObject({ code: 'E_DATABASE_NOT_MIGRATED' });
    expect(await connection.migrations.run()).toEqual({ from: 4, to: 10 });
    const functions = `SELECT proname::text AS name FROM pg_proc WHERE proname LIKE ? ORDER BY proname`;
    expect(await world.rows(functions, [`${table}_exchange_%`])).toEqual([
      { name: `${table}_exchange_v10` },
      { name: `${table}_exchange_v4` },
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
  await world.rows(`ALTER FUNCTION "${table}_push_v10" RENAME TO "${table}_push_v3"`);
  await world.rows('UPDATE onqueue_versions SET version = 7 WHERE name = ?', [table]);

  expect(await connection.migrations.run()).toEqual({ from: 7, to: 10 });

  const functions = `SELECT proname::text AS name FROM pg_proc WHERE proname LIKE ? ORDER BY proname`;
  expect(await world.rows(functions, [`${table}_push_v%`])).toEqual([
    { name: `${table}_push_v10` },
    { name: `${table}_push_v3` },
  ]);
  await connection.push('default', [{ payload: payload('a') }]);
  expect(await completeAll(connection)).toEqual(['a']);
});

describeLivingMigrations(world, {
  first: firstPostgresTables,
  lacked: (table) => ({
    2: [`DROP INDEX "${table}_texts"`],
    3: [],
    4: [
      `ALTER TABLE "${table}" DROP COLUMN unique_key, DROP COLUMN unique_until, DROP COLUMN start_key, DROP COLUMN start_for`,
      `ALTER TABLE "${table}_calls" DROP COLUMN held`,
    ],
    5: [`DROP TABLE "${table}_batches"`],
    6: [`DROP TABLE "${table}_records", "${table}_sums"`],
    7: [`DROP FUNCTION "${table}_push_v10"`],
    9: [
      `DROP TABLE "${table}_lanes"`,
      `ALTER TABLE "${table}" DROP COLUMN lane, DROP COLUMN lane_limit, DROP COLUMN lane_order`,
    ],
  }),
  dropIndex: (table) => `DROP INDEX "${table}_uuid"`,
  snapshot: 'BEGIN ISOLATION LEVEL REPEATABLE READ',
  insert: (table, id) =>
    `SET statement_timeout = '60s';
     INSERT INTO ${table} (queue, payload, attempts, available_at, created_at) VALUES ('default', '${payload(id)}', 0, 2000000000, 1)`,
});

describe('a migration of a PostgreSQL with many jobs', () => {
  const fill = (count: number): Promise<unknown> =>
    world.rows(`INSERT INTO ${world.table} (queue, payload, attempts, available_at, created_at, uuid, due_at)
      SELECT 'default', '${payload('many')}', 0, 2000000000, 1, n::text, 2e9 FROM generate_series(1, ${count}) AS n`);
  const isValid = async (index: string): Promise<unknown> =>
    (await world.rows(`SELECT indisvalid FROM pg_index WHERE indexrelid = to_regclass('${world.table}_${index}')`))[0];

  it('builds anew an index whose building was interrupted, once a backup has ended', async () => {
    const logger = new RecordingLogger();
    const url = `${world.server.url}?options=${encodeURIComponent('-c statement_timeout=2s -c lock_timeout=100ms')}`;
    const connection = await world.open({ url }, { logger });
    await fill(10_000);
    await world.rows(`UPDATE pg_index SET indisvalid = false WHERE indexrelid = '${world.table}_uuid'::regclass`);
    const backup = await world.client();
    await backup.query('BEGIN ISOLATION LEVEL REPEATABLE READ');
    await backup.query('SELECT 1');
    world.offset = 240;
    const run = connection.migrations.run();
    await eventually(() => logger.messages('info').length > 0);
    expect(logger.messages('info')).toEqual([
      expect.stringMatching(/^The index jobs_\d+_uuid is being built; .* It waits for a transaction of 4 min: pid \d+/),
    ]);
    await connection.push('default', [{ payload: payload('a') }]);
    expect(await isValid('uuid')).toEqual({ indisvalid: false });
    const waits = `SELECT FROM pg_stat_activity WHERE query LIKE 'CREATE INDEX CONCURRENTLY%' AND now() - query_start > '3s'`;
    await eventually(async () => (await world.rows(waits)).length > 0);

    await backup.query('COMMIT');
    const to = connection.migrations.version;
    expect(await run).toEqual({ from: to, to, mended: `the index ${world.table}_uuid is invalid` });
    expect(await isValid('uuid')).toEqual({ indisvalid: true });
  });

  it('ends beside dispatches, without a deadlock, when two make it at once', async () => {
    const connection = await world.open();
    await connection.queues.counts('mail');
    await world.rows(`DROP INDEX "${world.table}_uuid", "${world.table}_delayed"`);
    await world.rows('UPDATE onqueue_versions SET version = 7 WHERE name = ?', [world.table]);
    await fill(soakSize(30_000));
    const deadlocks =
      'SELECT pg_stat_clear_snapshot(), deadlocks::int FROM pg_stat_database WHERE datname = current_database()';
    const [before] = await world.rows(deadlocks);

    let isOver = false;
    let sent = 0;
    const dispatching = (async () => {
      for (; !isOver; sent += 1) await connection.push('mail', [{ payload: payload(`mail-${sent}`) }]);
    })();
    const runs = await Promise.all([world.connect().migrations.run(), world.connect().migrations.run()]);
    isOver = true;
    await dispatching;

    expect(runs.map(({ from }) => from).toSorted()).toEqual([10, 7]);
    expect([await isValid('uuid'), await isValid('delayed')]).toEqual([{ indisvalid: true }, { indisvalid: true }]);
    expect(await connection.queues.counts('mail')).toMatchObject({ ready: sent });
    expect((await world.rows(deadlocks))[0]!['deadlocks']).toBe(before!['deadlocks']);
  });
});

describe('a PostgreSQL that is not as it should be', () => {
  it('is told apart: one that only reads, though it is no standby', async () => {
    const ready = await world.open();
    const url = `${world.server.url}?options=${encodeURIComponent('-c default_transaction_read_only=on')}`;
    const hasty = world.connect({ url }, { deadline: meantToPass(1) });
    const failure = () => hasty.push('default', [{ payload: payload('a') }]).then(() => '', String);
    const told = /read-only transaction.*switch off default_transaction_read_only/s;
    await eventually(async () => told.test(await failure()), { of: 'a push that the server refuses' });
    expect(await world.connect({ url }).diagnose()).toContainEqual({
      ...{ level: 'error', subject: 'writes' },
      message: expect.stringMatching(/^default_transaction_read_only is on/) as string,
    });
    expect((await ready.diagnose()).filter(({ subject }) => subject === 'writes')).toEqual([]);
  });

  it.each(['repeatable read', 'serializable'])('is told apart: one whose default isolation is %s', async (level) => {
    await world.open();
    const setting = `-c default_transaction_isolation=${level.replace(' ', '\\ ')}`;
    const connection = world.connect({ url: `${world.server.url}?options=${encodeURIComponent(setting)}` });

    const refused = { code: 'E_DATABASE_ISOLATION', message: expect.stringContaining(`is '${level}'`) as string };
    await expect(connection.push('default', [{ payload: payload('a') }])).rejects.toMatchObject(refused);
    expect(await connection.diagnose()).toContainEqual(
      expect.objectContaining({ level: 'error', subject: 'isolation' }),
    );
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
    const schema = postgresSchema(identifiers(tableNames('jobs', 'database')));
    expect(await perform(old, schema.server())).toEqual({ server: 'PostgreSQL 9.6.24', needed: 'PostgreSQL 12' });
  });
});
