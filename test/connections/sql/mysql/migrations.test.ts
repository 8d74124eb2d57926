import { mysqlNames } from '../../../../src/connections/sql/mysql/rows';
import { mysqlSchema } from '../../../../src/connections/sql/mysql/schema';
import { perform, type SqlSession } from '../../../../src/connections/sql/statement';
import { tableNames } from '../../../../src/connections/sql/address';
import { uniqueKey, withTies } from '../../../../src/payload/ties';
import { idOf, payload, reserve } from '../open-database';
import { begin } from '../server/batches';
import { firstMysqlTables } from '../server/first-tables';
import { describeLivingMigrations } from '../server/living-migrations';
import { describeMigrations } from '../server/migrations';
import { MysqlWorld } from './open-mysql';

const world = new MysqlWorld().forTests();

describeMigrations(world, /^MariaDB [\d.]+$/);

describeLivingMigrations(world, {
  first: firstMysqlTables,
  lacked: (table) => ({
    1: [`DROP TABLE ${table}_unique_keys`],
    2: [`DROP TABLE ${table}_batches`],
    3: [`DROP TABLE ${table}_records, ${table}_sums`],
    5: [
      `DROP TABLE ${table}_lanes`,
      `ALTER TABLE ${table} DROP INDEX ${table}_laned, DROP COLUMN lane, DROP COLUMN lane_limit, DROP COLUMN lane_order`,
    ],
  }),
  dropIndex: (table) => `DROP INDEX ${table}_ids ON ${table}`,
  snapshot: 'START TRANSACTION WITH CONSISTENT SNAPSHOT',
  insert: (table, id) =>
    `SET lock_wait_timeout = 60;
     INSERT INTO ${table} (queue, payload, attempts, available_at, created_at) VALUES ('default', '${payload(id)}', 0, 2000000000, 1)`,
});

describe('a migration of a MariaDB with many jobs', () => {
  it('ends beside dispatches when two make it at once', async () => {
    const connection = await world.open();
    await connection.queues.counts('mail');
    await world.rows(`DROP INDEX ${world.table}_ids ON ${world.table}`);
    await world.rows('UPDATE onqueue_versions SET version = 3 WHERE name = ?', [world.table]);
    await world.rows(`INSERT INTO ${world.table} (queue, payload, attempts, available_at, created_at, uuid, due_at)
      SELECT 'default', '${payload('many')}', 0, 2000000000, 1, seq, 2000000000 FROM seq_1_to_300000`);
    let isOver = false;
    let sent = 0;
    const dispatching = (async () => {
      for (; !isOver; sent += 1) await connection.push('mail', [{ payload: payload(`mail-${sent}`) }]);
    })();
    const runs = await Promise.all([world.connect().migrations.run(), world.connect().migrations.run()]);
    isOver = true;
    await dispatching;

    expect(runs.map(({ from }) => from).toSorted()).toEqual([3, 6]);
    expect(await connection.queues.counts('mail')).toMatchObject({ ready: sent });
    // How long a round trip takes is the machine's affair.
    const found = (await connection.diagnose()).filter(({ level, subject }) => level !== 'ok' && subject !== 'latency');
    expect(found).toEqual([]);
  });
});

describe('the tables of MariaDB', () => {
  it('are finished if a killed process made only part of them', async () => {
    const connection = await world.open();
    await world.rows(
      `DROP TABLE ${world.table}_orders; ALTER TABLE failed_${world.table} DROP COLUMN failed_ms, DROP COLUMN name,
         DROP COLUMN attempts, DROP INDEX onqueue_uuid, DROP INDEX onqueue_queue;
       DELETE FROM onqueue_versions WHERE name = '${world.table}'`,
    );
    expect(await connection.migrations.run()).toEqual({ from: 0, to: 6 });
    expect(await connection.control.paused()).toEqual([]);
    expect(await connection.failed.list({ limit: 1 })).toEqual([]);
  });

  it('of the first version get unique keys, batches and records, and keep their jobs', async () => {
    const before = await world.open();
    await before.push('default', [{ payload: payload('a') }]);
    await world.rows(
      `DROP TABLE ${world.table}_unique_keys, ${world.table}_batches, ${world.table}_records, ${world.table}_sums; UPDATE onqueue_versions SET version = 1 WHERE name = '${world.table}'`,
    );
    const connection = world.connect();
    await expect(connection.queues.counts('default')).rejects.toMatchObject({ code: 'E_DATABASE_NOT_MIGRATED' });
    expect(await connection.migrations.run()).toEqual({ from: 1, to: 6 });
    const ties = { unique: { key: uniqueKey('Probe', 'one'), until: 'end' as const } };
    await connection.push('default', [{ payload: withTies(payload('b'), ties), ties }]);
    await begin(connection, ['c']);
    expect(await connection.records.replace({ kind: 'probe', id: 'a', value: '1' }, undefined, 60)).toBe(true);
    expect((await reserve(connection)).map(idOf)).toEqual(['a', 'b', 'c']);
  });

  it('are made by readable statements', () => {
    const statements = world.connect().migrations.sql();
    expect(statements).toContain(`table_name = '${world.table}'`);
    expect(statements).not.toMatch(/X'/);
  });

  it.each([
    ['5.7.44-log', 'MySQL 5.7.44', true],
    ['8.0.4-rc-log', 'MySQL 8.0.4', true],
    ['8.0.11', 'MySQL 8.0.11', false],
    ['9.1.0', 'MySQL 9.1.0', false],
    ['10.5.29-MariaDB', 'MariaDB 10.5.29', true],
    ['10.6.0-MariaDB', 'MariaDB 10.6.0', false],
    ['11.4.2-MariaDB-ubu2404', 'MariaDB 11.4.2', false],
    ['5.5.5-10.3.39-MariaDB', 'MariaDB 10.3.39', true],
  ])('need a server that can skip locked rows: %s is %s, too old: %s', async (words, server, isTooOld) => {
    const session: SqlSession = { run: async () => [{ rows: [[words]], written: 0 }] };
    const found = await perform(session, mysqlSchema(mysqlNames(tableNames('jobs', 'database'))).server());
    expect(found).toEqual({ server, needed: isTooOld ? 'MySQL 8.0.11 or MariaDB 10.6' : undefined });
  });
});
