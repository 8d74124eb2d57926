import { MysqlSchema } from '../../../../src/connections/database/mysql/mysql-schema';
import type { SqlSession } from '../../../../src/connections/database/server/sql-session';
import { tableNames } from '../../../../src/connections/database/table-names';
import { idOf, payload } from '../open-database';
import { MysqlWorld, reserve } from './open-mysql';

let world: MysqlWorld;

beforeAll(async () => {
  world = await MysqlWorld.start();
}, 60_000);

beforeEach(() => world.fresh());
afterEach(() => world.closeAll());
afterAll(() => world.stop());

describe('the tables of MariaDB', () => {
  it('are asked for by the command that makes them where they are not there', async () => {
    const connection = world.connect();
    const pushing = connection.push('default', [{ payload: payload('a') }]);
    await expect(pushing).rejects.toMatchObject({ code: 'E_DATABASE_NOT_MIGRATED' });
    await expect(pushing).rejects.toThrow(/the job was not queued\. Run: npx onqueue migrate --connection=database/);
    await expect(connection.counts('default')).rejects.toMatchObject({ code: 'E_DATABASE_NOT_MIGRATED' });

    await connection.migrations.run();

    await connection.push('default', [{ payload: payload('a') }]);
    expect((await reserve(connection)).map(idOf)).toEqual(['a']);
  });

  it('are asked for also where they are gone since', async () => {
    const connection = await world.open();
    await connection.counts('default');
    await world.rows(`DROP TABLE ${world.table}`);
    await expect(connection.counts('default')).rejects.toMatchObject({ code: 'E_DATABASE_NOT_MIGRATED' });
  });

  it('are made once, however many make them at once, and not again', async () => {
    const connections = [world.connect(), world.connect(), world.connect(), world.connect()];
    const runs = await Promise.all(connections.map(({ migrations }) => migrations.run()));
    expect(runs.filter(({ from }) => from === 0)).toHaveLength(1);
    expect(await connections[0]!.migrations.run()).toEqual({ from: 1, to: 1 });
  });

  it('are finished where they were made in part, as by a process that was killed', async () => {
    const connection = await world.open();
    await world.rows(
      `DROP TABLE ${world.table}_orders; ALTER TABLE failed_${world.table} DROP COLUMN failed_ms, DROP COLUMN name,
         DROP COLUMN attempts, DROP INDEX onqueue_uuid, DROP INDEX onqueue_queue;
       DELETE FROM onqueue_versions WHERE name = '${world.table}'`,
    );
    expect(await connection.migrations.run()).toEqual({ from: 0, to: 1 });
    expect(await connection.control.paused()).toEqual([]);
    expect(await connection.failed.list({ limit: 1 })).toEqual([]);
  });

  it('are made by the statements that are printed, which can be read, and may be run again', async () => {
    const connection = world.connect();
    const statements = connection.migrations.sql();
    expect(statements).toContain(`table_name = '${world.table}'`);
    expect(statements).not.toMatch(/X'/);
    const client = await world.client();
    await client.query(statements);
    await client.query(statements);
    expect(await connection.migrations.run()).toEqual({ from: 1, to: 1 });
    await connection.push('default', [{ payload: payload('a') }]);
    expect(await connection.counts('default')).toEqual({ ready: 1, delayed: 0, reserved: 0 });
  });

  it('are left alone where a later version has made them', async () => {
    const connection = await world.open();
    await world.rows('UPDATE onqueue_versions SET version = 99 WHERE name = ?', [world.table]);
    await expect(connection.migrations.run()).rejects.toMatchObject({ code: 'E_DATABASE_NEWER_TABLES' });
    const later = world.connect();
    await expect(later.push('default', [{ payload: payload('a') }])).rejects.toMatchObject({
      code: 'E_DATABASE_NEWER_TABLES',
    });
    expect(await connection.diagnose()).toContainEqual(expect.objectContaining({ level: 'error', subject: 'tables' }));
  });

  it.each([
    ['5.7.44-log', true],
    ['8.0.4-rc-log', true],
    ['8.0.11', false],
    ['9.1.0', false],
    ['10.5.29-MariaDB', true],
    ['10.6.0-MariaDB', false],
    ['11.4.2-MariaDB-ubu2404', false],
    ['5.5.5-10.3.39-MariaDB', true],
  ])('need a server that skips locked rows: %s is too old: %s', async (server, isTooOld) => {
    const session: SqlSession = { query: async () => ({ rows: [[server, 0]], written: 0 }) };
    const { needed } = await new MysqlSchema(tableNames('jobs', 'database'), 'here').look(session);
    expect(needed).toBe(isTooOld ? 'MySQL 8.0.11 or MariaDB 10.6' : undefined);
  });

  it('may be named by a word of SQL, and by capitals', async () => {
    for (const table of ['Order', 'user']) {
      const connection = await world.open({}, { table });
      await connection.push('default', [{ payload: payload('a') }]);
      expect((await reserve(connection)).map(idOf)).toEqual(['a']);
    }
  });

  it('are diagnosed: the version of the server and theirs, and the way there', async () => {
    const connection = world.connect();
    expect(await connection.diagnose()).toContainEqual({
      level: 'error',
      subject: 'tables',
      message: 'not there. Run: onqueue migrate',
    });
    await connection.migrations.run();
    expect(await connection.diagnose()).toEqual([
      { level: 'ok', subject: 'version', message: expect.stringMatching(/^MySQL \d+.*MariaDB/) as string },
      { level: 'ok', subject: 'tables', message: 'version 1' },
      expect.objectContaining({ subject: 'latency' }),
    ]);
  });
});
