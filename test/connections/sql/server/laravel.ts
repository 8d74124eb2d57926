/** Tests of tables that Laravel has made and both use, for each database server. */
import { idOf, payload, reserve } from '../open-database';
import type { ServerWorld } from './server-world';
import { settleIn } from '../../../support/exchange';

const laravelsPayload = (uuid: string): string =>
  `{"uuid":"${uuid}","displayName":"App\\\\Jobs\\\\Report","job":"App\\\\Jobs\\\\Report@handle","maxTries":null,"data":{"n":"é"}}`;

export interface LaravelsTables {
  /** The statements of Laravel 12's migrations for a table of jobs with this name. */
  readonly migrations: (jobs: string) => string;
  /** An expression that writes a UTC time as Laravel does. */
  readonly utc: (moment: string) => string;
}

export function describeLaravelsTables(world: ServerWorld, { migrations, utc }: LaravelsTables): void {
  beforeEach(async () => {
    await world.rows(migrations(world.table));
  });

  /** Pushes a job like Laravel's DatabaseQueue. */
  async function laravelPushes(uuid: string, delay = 0): Promise<void> {
    const now = Math.floor(Date.now() / 1000);
    await world.rows(
      `insert into ${world.table} (queue, attempts, reserved_at, available_at, created_at, payload) values (?, 0, null, ?, ?, ?)`,
      ['default', now + delay, now, laravelsPayload(uuid)],
    );
  }

  /** The next job that a Laravel worker would take. */
  const laravelTakes = () =>
    world.rows(
      `select * from ${world.table} where queue = ? and ((reserved_at is null and available_at <= ?) or reserved_at <= ?)
       order by id asc limit 1 FOR UPDATE SKIP LOCKED`,
      ['default', Math.floor(Date.now() / 1000), Math.floor(Date.now() / 1000) - 90],
    );

  describe('tables that Laravel has made', () => {
    it('get the missing columns and keep their jobs', async () => {
      await laravelPushes('before');
      const connection = await world.open();

      const [reservation] = await reserve(connection);

      expect(JSON.parse(reservation!.payload.toString())).toMatchObject({
        uuid: 'before',
        data: { n: 'é' },
        attempts: 1,
      });
      expect(typeof idOf(reservation!)).toBe('string');
      expect(await settleIn(connection, [{ outcome: 'completed', reservation: reservation! }])).toEqual(['settled']);
      expect(await world.rows(`select * from ${world.table}`)).toEqual([]);
    });

    it('contain jobs that run in the order of their due times and keep the ids that they get', async () => {
      const connection = await world.open();
      await laravelPushes('later', 60);
      await laravelPushes('first');
      await laravelPushes('second');

      const [first, ...others] = await reserve(connection);
      expect(first!.payload.toString()).toContain('"uuid":"first"');
      expect(others.map((job) => JSON.parse(job.payload.toString()) as object)).toMatchObject([{ uuid: 'second' }]);
      expect(await connection.queues.counts('default')).toEqual({ ready: 0, delayed: 1, reserved: 2 });
      world.offset = 61;
      const again = await reserve(connection);
      expect(again.map(({ counters }) => counters.crashes)).toEqual([1, 1, 0]);
      expect(idOf(again[0]!)).toBe(idOf(first!));
    });

    it('contain jobs that can be cancelled by their own ids', async () => {
      const connection = await world.open();
      await world.rows(
        `insert into ${world.table} (queue, attempts, available_at, created_at, payload) values ('default', 0, 0, 0, ?)`,
        [payload('theirs')],
      );
      expect(await connection.control.cancel('another')).toBe('unknown');
      expect(await connection.control.cancel('theirs')).toBe('removed');
    });

    it('contain our jobs in a form that Laravel reads: ready ones at once, delayed ones not too early', async () => {
      const connection = await world.open();
      await connection.push('default', [{ payload: payload('delayed'), delay: 1.5 }]);
      const [delayed] = await world.rows(`select * from ${world.table}`);
      expect(await laravelTakes()).toEqual([]);
      await connection.push('default', [{ payload: payload('ready') }]);

      const [taken] = await laravelTakes();

      expect(String(taken!['payload'])).toBe(payload('ready'));
      expect({ ...taken, attempts: Number(taken!['attempts']) }).toMatchObject({
        attempts: 0,
        reserved_at: null,
        queue: 'default',
      });
      expect(delayed!['available_at']).toBeGreaterThanOrEqual(Number(delayed!['created_at']) + 2);
      expect(await laravelTakes()).toHaveLength(1);
      await reserve(connection);
      expect(await laravelTakes()).toEqual([]);
    });

    it('contain failed jobs that both sides read', async () => {
      const connection = await world.open();
      await connection.push('default', [{ payload: payload('ours') }]);
      const [reservation] = await reserve(connection);
      const failure = { id: 'ours', name: 'Probe', exception: 'Error: probe' };
      await settleIn(connection, [
        { outcome: 'failed', reservation: reservation!, counters: reservation!.counters, failure },
      ]);
      await world.rows(
        `insert into failed_${world.table} (uuid, connection, queue, payload, exception, failed_at)
         values ('theirs', 'database', 'default', ?, 'Exception: theirs', ${utc('2026-11-20 10:00:00')})`,
        [laravelsPayload('theirs')],
      );

      const [theirs, ours] = await connection.failed.list({ limit: 10 });

      expect(theirs).toMatchObject({ id: 'theirs', name: 'App\\Jobs\\Report', failedAt: Date.UTC(2026, 10, 20, 10) });
      expect(ours).toMatchObject({ id: 'ours', exception: 'Error: probe' });
      const search = { name: 'App\\Jobs\\Report' };
      expect(await connection.failed.list({ limit: 10, search })).toEqual([theirs]);
      const [row] = await world.rows(
        `select connection, failed_at > now() - interval '1' day as recent from failed_${world.table} where uuid = 'ours'`,
      );
      // MySQL returns 1 for true.
      expect({ ...row, recent: Number(row!['recent']) }).toEqual({ connection: 'database', recent: 1 });
      expect(await connection.failed.retry(theirs!, theirs!.payload)).toBe(true);
      expect((await reserve(connection))[0]!.payload.toString()).toContain('"uuid":"theirs"');
    });

    it('allow more tries than their columns could count, and long names', async () => {
      await laravelPushes('tried');
      await world.rows(`update ${world.table} set attempts = 126`);
      const connection = await world.open();
      await world.rows(`update ${world.table} set attempts = 40000`);
      await connection.push('default', [{ payload: payload('other') }]);

      const [other, tried] = await reserve(connection);
      expect(tried!.counters.attempts).toBe(40_001);
      const failure = { id: 'x'.repeat(400), name: 'Probe', exception: 'Error: probe' };
      const settled = await settleIn(connection, [
        { outcome: 'failed', reservation: tried!, counters: tried!.counters, failure },
        { outcome: 'completed', reservation: other! },
      ]);

      expect(settled).toEqual(['settled', 'settled']);
      expect(await connection.failed.list({ limit: 1 })).toMatchObject([{ attempts: 40_001 }]);
    });

    it('are recognised as too narrow or without our columns, whatever their version says, and mended', async () => {
      const mending = (await world.open()).migrations;
      const narrow = { level: 'error', subject: 'tables' };
      for (const [change, flaw] of [
        [
          `alter table ${world.table} ${world.name === 'PostgreSQL' ? 'alter attempts type smallint' : 'modify attempts tinyint unsigned'}`,
          'attempts is',
        ],
        [
          `drop table ${world.table} cascade; drop table failed_${world.table}; ${migrations(world.table)}`,
          'lease_until is missing',
        ],
        [`alter table ${world.table} drop column cancel_reason`, 'cancel_reason is missing'],
      ] as const) {
        await world.rows(change);
        const connection = world.connect();
        await expect(connection.push('default', [{ payload: '{}' }])).rejects.toMatchObject({
          code: 'E_DATABASE_NOT_MIGRATED',
          message: expect.stringContaining(flaw) as string,
        });
        expect(await connection.diagnose()).toContainEqual(
          expect.objectContaining({ ...narrow, message: expect.stringContaining(flaw) as string }),
        );
        expect(await mending.run()).toMatchObject({ mended: expect.stringContaining(flaw) as string });
        await connection.push('default', [{ payload: '{}' }]);
        expect(await reserve(connection)).toHaveLength(1);
      }
    });

    it('release a job that a Laravel worker has left when Laravel would', async () => {
      await laravelPushes('left');
      await world.rows(`update ${world.table} set attempts = 1, reserved_at = ?`, [Math.floor(Date.now() / 1000)]);
      const connection = await world.open();
      expect(await reserve(connection)).toEqual([]);
      world.offset = 91;
      expect((await reserve(connection)).map(({ counters }) => counters)).toMatchObject([{ attempts: 1, crashes: 1 }]);
    });

    it('also release a job that was left after the migration, once a worker starts', async () => {
      const connection = await world.open();
      await laravelPushes('left');
      await world.rows(`update ${world.table} set attempts = 1, reserved_at = ?`, [Math.floor(Date.now() / 1000)]);
      await connection.migrations.check?.();
      world.offset = 91;
      expect((await reserve(connection)).map(({ counters }) => counters)).toMatchObject([{ attempts: 1, crashes: 1 }]);
    });

    it('are left unchanged if they are of another kind', async () => {
      await world.rows(`drop table ${world.table}; create table ${world.table} (id int, title text)`);
      await expect(world.open()).rejects.toMatchObject({ code: 'E_DATABASE_FOREIGN_TABLE' });
      const columns = 'select column_name from information_schema.columns where table_name = ?';
      expect(await world.rows(columns, [world.table])).toHaveLength(2);
    });
  });
}
