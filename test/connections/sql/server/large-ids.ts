/** Tests of rows whose ids are larger than a number can hold, for each database server. */
import type { Settlement, WaitingState } from '../../../../src/connections/contract';
import type { SqlConnection } from '../../../../src/connections/sql/connection';
import { idOf, payload, reserve } from '../open-database';
import { browsed, numbered } from '../operations';
import { begin, completed, counted, failed } from './batches';
import type { ServerWorld } from './server-world';
import { settleIn } from '../../../support/exchange';

/** 2^53 numbers each of the ids like its neighbours. */
export const LARGE = '1000000000000000001';

/** @param enlarge lets the next rows of a table begin at `LARGE` */
export function describeLargeIds(world: ServerWorld, enlarge: (table: string) => string): void {
  async function open(): Promise<SqlConnection> {
    const connection = await world.open();
    for (const table of [world.table, `failed_${world.table}`]) await world.rows(enlarge(table));
    return connection;
  }

  const push = (connection: SqlConnection, ids: readonly string[], delay = 0) =>
    connection.push(
      'default',
      ids.map((id) => ({ payload: payload(id), delay })),
    );

  describe(`rows of ${world.name} with ids above 2^53`, () => {
    it('are reserved, renewed and ended, each once', async () => {
      const connection = await open();
      const ids = numbered(20);
      await push(connection, ids);
      const reservations = await reserve(connection, { limit: 20 });
      expect(reservations.map(idOf)).toEqual(ids);
      expect(await connection.renew(reservations, 60)).toEqual(ids.map(() => 'renewed'));

      const [first, second, third, ...rest] = reservations;
      const next = [{ queue: 'default', entry: { payload: payload('next') } }];
      const settlements: Settlement[] = [
        { outcome: 'released', reservation: first!, delay: 0, counters: first!.counters },
        failed(second!),
        { outcome: 'completed', reservation: third!, next },
        ...rest.map(completed),
      ];
      expect(await settleIn(connection, settlements)).toEqual(ids.map(() => 'settled'));
      expect(await settleIn(connection, settlements)).toEqual(ids.map(() => 'lost'));
      expect((await reserve(connection)).map(idOf)).toEqual(['job-1', 'next']);
    });

    it('are cancelled with their reasons, and found', async () => {
      const connection = await open();
      await push(connection, ['a', 'b', 'c']);
      const reservations = await reserve(connection, { limit: 2 });
      expect(await connection.control.cancel('b', undefined, 'too late')).toBe('signalled');
      expect(await connection.control.cancel('c')).toBe('removed');
      expect(await connection.control.cancelled(reservations)).toEqual([false, 'too late']);
      expect(await connection.renew(reservations, 60)).toEqual(['renewed', 'cancelled']);
      expect(await connection.queues.find('a')).toMatchObject({ state: 'reserved' });
    });

    it.each<[WaitingState, number]>([
      ['ready', 0],
      ['delayed', 60],
    ])('are listed page by page, counted and cleared: %s', async (state, delay) => {
      const connection = await open();
      const ids = numbered(7);
      await push(connection, ids, delay);
      expect(await browsed(connection, state, 3)).toEqual([ids.slice(0, 3), ids.slice(3, 6), ids.slice(6)]);
      expect((await connection.queues.counts('default'))[state]).toBe(7);
      expect(await connection.queues.clear('default')).toBe(7);
      expect(await connection.queues.counts('default')).toEqual({ ready: 0, delayed: 0, reserved: 0 });
    });

    it('are counted and cleared in pieces', async () => {
      const connection = await open();
      const moment = (await connection.now()) + 60_000;
      await connection.push(
        'default',
        numbered(6100).map((id) => ({ payload: payload(id), dueAt: moment })),
      );
      expect(await connection.queues.counts('default')).toEqual({ ready: 0, delayed: 6100, reserved: 0 });
      expect(await connection.queues.clear('default')).toBe(6100);
    });

    it('are failed jobs, which are listed, retried and removed', async () => {
      const connection = await open();
      const ids = numbered(205);
      for (const id of ids) {
        await connection.failed.put({
          ...{ id, connection: 'database', queue: 'default', payload: Buffer.from(payload(id)) },
          ...{ exception: 'Error', name: 'Probe', attempts: 1 },
        });
      }
      const listed = await connection.failed.list({ limit: 300 });
      expect(listed.map(({ id }) => id)).toEqual(ids.toReversed());
      expect((await connection.failed.list({ limit: 2, offset: 3 })).map(({ id }) => id)).toEqual([
        'job-202',
        'job-201',
      ]);
      expect(await connection.failed.retry(listed[0]!, listed[0]!.payload)).toBe(true);
      expect(await connection.failed.prune({ keep: 10 })).toBe(194);
      expect(await connection.failed.count()).toBe(10);
    });

    it('count in their batches', async () => {
      const connection = await open();
      await begin(connection, ['a', 'b']);
      await settleIn(connection, (await reserve(connection)).map(completed));
      expect(await counted(connection)).toEqual([0, 2, 0, 0]);
      expect(await connection.keys.recount({ repair: false })).toEqual([]);
    });

    it('get the ids that their payloads lack', async () => {
      const connection = await open();
      await connection.push('default', [{ payload: '{"job":"probe"}' }, { payload: '{"job":"probe"}' }]);
      const reservations = await reserve(connection);
      expect(new Set(reservations.map(idOf)).size).toBe(2);
      expect(await settleIn(connection, reservations.map(completed))).toEqual(['settled', 'settled']);
    });
  });
}
