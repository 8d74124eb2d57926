/** Tests of the tables for each database server. */
import { JobBus } from '../../../../src/dispatch/bus';
import { builtInConnectors } from '../../../../src/connections/built-in';
import { Job } from '../../../../src/job/job';
import { QueueManager } from '../../../../src/application/queue-manager';
import { Worker } from '../../../../src/worker/worker';
import { RecordingLogger } from '../../../support/application';
import { eventually } from '../../../support/eventually';
import { idOf, payload, reserve } from '../open-database';
import type { ServerWorld } from './server-world';

@Job()
class Probe extends Job {
  handle(): void {}
}

/** @param version matches the version in a diagnosis of the server */
export function describeMigrations(world: ServerWorld, version: RegExp): void {
  describe(`the tables of ${world.name}`, () => {
    it('are missed with an error that names the command to make them', async () => {
      const connection = world.connect();
      const pushing = connection.push('default', [{ payload: payload('a') }]);
      await expect(pushing).rejects.toMatchObject({ code: 'E_DATABASE_NOT_MIGRATED' });
      await expect(pushing).rejects.toThrow(/the job was not queued\. Run: npx onqueue migrate --connection=database/);
      await expect(connection.queues.counts('default')).rejects.toMatchObject({ code: 'E_DATABASE_NOT_MIGRATED' });

      await connection.migrations.run();

      await connection.push('default', [{ payload: payload('a') }]);
      expect((await reserve(connection)).map(idOf)).toEqual(['a']);
    });

    it('are missed with the same error if they were dropped later', async () => {
      const connection = await world.open();
      await connection.push('default', []);
      await connection.queues.counts('default');
      await world.rows(`DROP TABLE ${world.table} CASCADE`);
      await expect(connection.queues.counts('default')).rejects.toMatchObject({ code: 'E_DATABASE_NOT_MIGRATED' });
    });

    it('are made once, however many clients make them at once', async () => {
      const connections = [world.connect(), world.connect(), world.connect(), world.connect()];
      const runs = await Promise.all(connections.map(({ migrations }) => migrations.run()));
      expect(runs.filter(({ from }) => from === 0)).toHaveLength(1);
      const { version: known } = connections[0]!.migrations;
      expect(await connections[0]!.migrations.run()).toEqual({ from: known, to: known });
    });

    it('are made by the printed statements, which can be run again', async () => {
      const connection = world.connect();
      const client = await world.client();
      const [tables, indexes = ''] = connection.migrations.sql().split(/^-- Part 2.*$/m);
      const statements = [tables!, ...indexes.split(/;$/m).filter((text) => text.trim() !== '')];
      for (const statement of [...statements, ...statements]) await client.query(statement);
      const { version: known } = connection.migrations;
      expect(await connection.migrations.run()).toEqual({ from: known, to: known });
      await connection.push('default', [{ payload: payload('a') }]);
      expect(await connection.queues.counts('default')).toEqual({ ready: 1, delayed: 0, reserved: 0 });
    });

    it('are left unchanged if a later version has made them', async () => {
      const connection = await world.open();
      await world.rows('UPDATE onqueue_versions SET version = 99 WHERE name LIKE ?', [`${world.table}%`]);
      await expect(connection.migrations.run()).rejects.toMatchObject({ code: 'E_DATABASE_NEWER_TABLES' });
      const later = world.connect();
      await expect(later.push('default', [{ payload: payload('a') }])).rejects.toMatchObject({
        code: 'E_DATABASE_NEWER_TABLES',
      });
      expect(await connection.diagnose()).toContainEqual(
        expect.objectContaining({ level: 'error', subject: 'tables' }),
      );
    });

    it('of a later version that only adds to them let a program of before start, so that a deploy can be rolled back', async () => {
      const { version: known } = (await world.open()).migrations;
      await world.rows('UPDATE onqueue_versions SET version = 99 WHERE name = ?', [world.table]);
      await world.rows('UPDATE onqueue_versions SET version = ? WHERE name = ?', [known, `${world.table} since`]);
      const connection = world.connect();
      await connection.push('default', [{ payload: payload('a') }]);
      expect(await connection.queues.counts('default')).toEqual({ ready: 1, delayed: 0, reserved: 0 });
      expect(await connection.migrations.run()).toEqual({ from: 99, to: 99 });
      expect(await connection.diagnose()).toContainEqual({
        level: 'warning',
        subject: 'tables',
        message: `version 99, and this Onqueue knows ${known}, which still works. Update onqueue here as well.`,
      });
    });

    it('keep a worker from starting if a later version has made them', async () => {
      await world.open();
      await world.rows('UPDATE onqueue_versions SET version = 99 WHERE name LIKE ?', [`${world.table}%`]);
      const log = new RecordingLogger();
      const main = { driver: 'database' as const, url: world.server.url, table: world.table };
      const manager = new QueueManager(
        { connectors: builtInConnectors, logger: log },
        { connections: { main }, default: 'main' },
      );
      await expect(new Worker({}, manager).run()).rejects.toThrow(/have version 99; this Onqueue knows \d+\. Update/);
      await expect(new JobBus(() => manager).dispatch(new Probe())).rejects.toMatchObject({
        code: 'E_DATABASE_NEWER_TABLES',
      });
      await manager.close();
    });

    it('are awaited by a worker, which logs the command to make them', async () => {
      const log = new RecordingLogger();
      const main = { driver: 'database' as const, url: world.server.url, table: world.table };
      const manager = new QueueManager(
        { connectors: builtInConnectors, logger: log },
        { connections: { main }, default: 'main' },
      );
      const worker = new Worker({}, manager);
      const ended = worker.run();
      await eventually(() => log.messages('error').length > 0);
      expect(log.messages('error')).toEqual([expect.stringContaining('Run: npx onqueue migrate --connection=main')]);

      await world.open();
      await eventually(() => worker.health().ready);
      await worker.stop();
      await ended;
      await manager.close();
    });

    it('can have an SQL keyword or capitals as their name', async () => {
      for (const table of ['Order', 'user']) {
        const connection = await world.open({}, { table });
        await connection.push('default', [{ payload: payload('a') }]);
        expect((await reserve(connection)).map(idOf)).toEqual(['a']);
      }
    });

    it('are diagnosed with a transaction that has been open for long', async () => {
      const connection = await world.open();
      const client = await world.client();
      await client.query('START TRANSACTION');
      await client.query(`INSERT INTO ${world.table}_queues (name) VALUES ('forgotten')`);
      // A busy machine has a slow round trip.
      const warnings = async () =>
        (await connection.diagnose()).filter(({ level, subject }) => level === 'warning' && subject !== 'latency');
      expect(await warnings()).toEqual([]);
      world.offset = 300;
      await eventually(async () => (await warnings()).length > 0);
      expect(await warnings()).toEqual([
        {
          ...{ level: 'warning', subject: 'transactions' },
          message: expect.stringMatching(
            /^a transaction of 5 min keeps the server from cleaning up .*: (pid|thread) \d+/,
          ) as string,
        },
      ]);
      await client.query('ROLLBACK');
    });

    it('are diagnosed with their version, that of the server, and the latency', async () => {
      const connection = world.connect();
      expect(await connection.diagnose()).toContainEqual({
        level: 'error',
        subject: 'tables',
        message: 'not there. Run: onqueue migrate',
      });
      await connection.migrations.run();
      expect(await connection.diagnose()).toEqual([
        { level: 'ok', subject: 'version', message: expect.stringMatching(version) as string },
        { level: 'ok', subject: 'tables', message: `version ${connection.migrations.version}` },
        expect.objectContaining({ subject: 'latency' }),
      ]);
    });
  });
}
