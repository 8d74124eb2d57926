/** Tests of calls without anything in them, and of moments that no one expects, for each database. */
import { idOf, payload, reserve } from './open-database';
import type { OperationsStore } from './operations';
import { reserveFrom, settleIn } from '../../support/exchange';

export function describeExtremes(store: Pick<OperationsStore, 'name' | 'open'>): void {
  describe(`an exchange in ${store.name}`, () => {
    it('without queues writes the outcomes, and hands out nothing', async () => {
      const connection = await store.open();
      await connection.push('default', [{ payload: payload('a') }, { payload: payload('b') }]);
      const [first] = await reserve(connection, { limit: 1 });
      const settlement = { outcome: 'completed' as const, reservation: first! };
      const settled = await connection.exchange([settlement], { queues: [], limit: 1, lease: 60 });
      expect(settled).toMatchObject({ results: ['settled'], reply: { reservations: [], nextIn: Infinity } });
      expect(await reserveFrom(connection, { queues: [], limit: 1, lease: 60 })).toMatchObject({ reservations: [] });
      expect(await connection.queues.counts('default')).toEqual({ ready: 1, delayed: 0, reserved: 0 });
    });
  });

  describe(`calls without anything in ${store.name}`, () => {
    it('do nothing', async () => {
      const connection = await store.open();
      await connection.push('default', []);
      expect(await settleIn(connection, [])).toEqual([]);
      expect(await connection.renew([], 60)).toEqual([]);
      expect(await connection.control.cancelled([])).toEqual([]);
      expect(await connection.records.sums([])).toEqual([]);
    });
  });

  describe(`moments before 1970 in ${store.name}`, () => {
    const moments = ['0001-01-01T00:00:00Z', '1930-06-01T00:00:00Z', '1969-12-31T23:59:59Z'].map(Date.parse);

    it('make jobs due at once', async () => {
      const connection = await store.open();
      const entries = moments.map((dueAt, n) => ({ payload: payload(`job-${n}`), dueAt }));
      for (const entry of entries) await connection.push('default', [entry]);
      expect((await reserve(connection)).map(idOf).toSorted()).toEqual(['job-0', 'job-1', 'job-2']);
    });

    it('make released and following jobs due at once', async () => {
      const connection = await store.open();
      await connection.push('default', [{ payload: payload('a') }, { payload: payload('b') }]);
      const [a, b] = await reserve(connection);
      const followed = { queue: 'default', entry: { payload: payload('c'), dueAt: moments[0]! } };
      await settleIn(connection, [
        { outcome: 'released', reservation: a!, delay: 0, dueAt: moments[0]!, counters: a!.counters },
        { outcome: 'completed', reservation: b!, next: [followed] },
      ]);
      expect((await reserve(connection)).map(idOf).toSorted()).toEqual(['a', 'c']);
    });
  });
}
