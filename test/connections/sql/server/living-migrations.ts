/** Tests of a migration beside readers, writers and other migrations, for each database server. */
import type { SqlConnection } from '../../../../src/connections/sql/connection';
import { RecordingLogger } from '../../../support/application';
import { eventually } from '../../../support/eventually';
import { payload } from '../open-database';
import type { ServerWorld } from './server-world';

export interface Living {
  /** The statements that make the tables of 0.1.0. */
  readonly first: (table: string) => string;
  /** What a version lacked of the tables of the next one, by version, oldest first. */
  readonly lacked: (table: string) => Readonly<Record<number, readonly string[]>>;
  /** Removes an index of the jobs table. */
  readonly dropIndex: (table: string) => string;
  /** Starts a transaction that sees the data of now for as long as it lasts, as a backup does. */
  readonly snapshot: string;
  /** A job as another program inserts it. */
  readonly insert: (table: string, id: string) => string;
}

export function describeLivingMigrations(
  world: ServerWorld,
  { first, lacked, dropIndex, snapshot, insert }: Living,
): void {
  const versions = Object.keys(lacked('jobs')).map(Number);

  const migrating = (logger: RecordingLogger): SqlConnection => world.connect({}, { logger });

  async function makeOlder(version: number): Promise<void> {
    const steps = lacked(world.table);
    for (const older of versions.toReversed().filter((each) => each >= version)) {
      for (const statement of steps[older]!) await world.rows(statement);
    }
    await world.rows('UPDATE onqueue_versions SET version = ? WHERE name = ?', [version, world.table]);
  }

  describe(`a migration of ${world.name}`, () => {
    it.each(versions)('from version %d keeps the jobs', async (version) => {
      const before = await world.open();
      await before.push('default', [{ payload: payload('a') }]);
      await makeOlder(version);
      const connection = world.connect();
      expect(await connection.migrations.run()).toEqual({ from: version, to: connection.migrations.version });
      expect(await connection.queues.counts('default')).toEqual({ ready: 1, delayed: 0, reserved: 0 });
      expect((await connection.diagnose()).filter(({ level }) => level !== 'ok')).toEqual([]);
    });

    it('that has nothing to change ends although somebody reads the tables', async () => {
      const connection = await world.open();
      await world.rows('UPDATE onqueue_versions SET version = version - 1 WHERE name = ?', [world.table]);
      const reader = await world.client();
      await reader.query(snapshot);
      await reader.query(`SELECT count(*) FROM ${world.table}`);
      const to = connection.migrations.version;
      expect(await world.connect().migrations.run()).toEqual({ from: to - 1, to });
      await reader.query('COMMIT');
    });

    it('that somebody holds up holds up nobody, and says who it is', async () => {
      await world.open();
      await world.rows(dropIndex(world.table));
      await makeOlder(versions[0]!);
      const [reader, writer] = [await world.client(), await world.client()];
      await reader.query(snapshot);
      await reader.query(`SELECT count(*) FROM ${world.table}`);
      const logger = new RecordingLogger();
      const connection = migrating(logger);
      const run = connection.migrations.run();

      await eventually(() => logger.messages('warn').length > 0);
      expect(logger.messages('warn')[0]).toMatch(
        /^A transaction of \d+ s holds jobs_\d+( or another table)?: (pid|thread) \d+.*workers and dispatches go on/,
      );
      await writer.query(insert(world.table, 'a'));

      await reader.query('COMMIT');
      expect(await run).toEqual({ from: versions[0], to: connection.migrations.version });
      expect(await connection.queues.counts('default')).toMatchObject({ delayed: 1 });
      expect((await connection.diagnose()).filter(({ level }) => level === 'error')).toEqual([]);
    });

    it('of the tables of 0.1.0 waits for a backup of them all, beside which its programs go on', async () => {
      const { table } = world;
      await world.rows(first(table));
      const [backup, program] = [await world.client(), await world.client()];
      await program.query(insert(table, 'before'));
      await backup.query(snapshot);
      for (const name of [table, ...['queues', 'locks', 'orders', 'calls'].map((part) => `${table}_${part}`)]) {
        await backup.query(`SELECT count(*) FROM ${name}`);
      }
      await backup.query(`SELECT count(*) FROM failed_${table}`);
      const logger = new RecordingLogger();
      const connection = migrating(logger);
      const run = connection.migrations.run();

      await eventually(() => logger.messages('warn').length > 0);
      for (const id of ['a', 'b', 'c']) await program.query(insert(table, id));
      await backup.query('COMMIT');

      expect(await run).toEqual({ from: 1, to: connection.migrations.version });
      await program.query(insert(table, 'after'));
      expect(await connection.queues.counts('default')).toEqual({ ready: 0, delayed: 5, reserved: 0 });
      const found = await connection.diagnose();
      expect(found.filter(({ level, subject }) => level !== 'ok' && subject !== 'latency')).toEqual([]);
    });

    it('makes an index again that is gone from tables of the right version', async () => {
      const connection = await world.open();
      await world.rows(dropIndex(world.table));
      expect(await connection.diagnose()).toContainEqual(
        expect.objectContaining({
          level: 'warning',
          message: expect.stringMatching(/^the index .* is missing/) as string,
        }),
      );
      const { version: to } = connection.migrations;
      const mended = expect.stringMatching(/^the index .* is missing$/) as string;
      expect(await connection.migrations.run()).toEqual({ from: to, to, mended });
      expect((await connection.diagnose()).filter(({ level }) => level !== 'ok')).toEqual([]);
    });
  });
}
