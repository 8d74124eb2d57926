/** Tests of unique keys for each database server, with many clients and lost answers. */
import type { Entry, Pushed, Reservation } from '../../../../src/connections/contract';
import type { SqlConnection } from '../../../../src/connections/sql/connection';
import { afterFreeRelease } from '../../../../src/payload/counters';
import { uniqueKey, withTies, type UniqueTie } from '../../../../src/payload/ties';
import { idOf, payload, reserve } from '../open-database';
import type { ServerWorld } from './server-world';
import { soakSize } from '../../../support/soak-size';
import { settleIn } from '../../../support/exchange';

export function tied(id: string, key = 'one', options: Partial<UniqueTie> & Pick<Entry, 'delay'> = {}): Entry {
  const { delay, ...tie } = options;
  const ties = { unique: { key: uniqueKey('Probe', key), until: 'end' as const, ...tie } };
  return { payload: withTies(payload(id), ties), ties, ...(delay !== undefined && { delay }) };
}

export const START = { until: 'start' } as const;

export async function pushes(
  connection: Pick<SqlConnection, 'push'>,
  ...entries: readonly Entry[]
): Promise<readonly Pushed[]> {
  return (await connection.push('default', entries)) ?? entries.map(() => 'queued');
}

/** Completes all jobs and returns their ids, in their order. */
export async function completeAll(connection: SqlConnection): Promise<readonly unknown[]> {
  const reservations = await reserve(connection);
  await settleIn(
    connection,
    reservations.map((reservation) => ({ outcome: 'completed', reservation })),
  );
  return reservations.map(idOf);
}

export const back = (reservation: Reservation) =>
  ({ outcome: 'released', reservation, delay: 0, counters: afterFreeRelease(reservation.counters) }) as const;

export function describeUniqueKeys(world: ServerWorld): void {
  describe(`a push to ${world.name} of jobs with unique keys`, () => {
    it.each([1, 2, 3])(
      'whose answer is lost %d times in a row returns the holders from the first time',
      async (lost) => {
        const { connection, proxy } = await world.openThrough('push');
        await pushes(connection, tied('before'));
        const entries = [tied('a'), tied('b', 'two'), { payload: payload('c') }, tied('d', 'two'), tied('e', 'three')];
        proxy.loseReplies(lost);
        const results = await pushes(connection, ...entries);
        expect(results).toEqual([{ duplicate: 'before' }, 'queued', 'queued', { duplicate: 'b' }, 'queued']);
        expect(await pushes(connection, tied('f', 'two'), tied('g', 'four'))).toEqual([{ duplicate: 'b' }, 'queued']);
        expect(await completeAll(connection)).toEqual(['before', 'b', 'c', 'e', 'g']);
      },
    );

    it('of which some must also be distinct reports both kinds of duplicates', async () => {
      const connection = await world.open();
      const [delayed, twin] = ['a', 'a'].map((id) => ({ payload: payload(id), delay: 60, distinct: true }));
      expect(await pushes(connection, tied('b'), delayed!, tied('c'))).toEqual([
        'queued',
        'queued',
        { duplicate: 'b' },
      ]);
      await expect(pushes(connection, twin!, tied('d', 'two'))).rejects.toMatchObject({ code: 'E_DUPLICATE_PAYLOAD' });
      expect(await pushes(connection, tied('e', 'two'))).toEqual(['queued']);
    });

    it('in several pages returns the results in the order of the jobs', async () => {
      const connection = await world.open();
      const entries = Array.from({ length: 250 }, (_, at) => tied(`job-${at}`, String(at % 240)));
      const results = await pushes(connection, ...entries);
      expect(results.slice(0, 240)).toEqual(Array.from({ length: 240 }, () => 'queued'));
      expect(results.slice(240)).toEqual(Array.from({ length: 10 }, (_, at) => ({ duplicate: `job-${at}` })));
      expect(await connection.queues.counts('default')).toMatchObject({ ready: 240 });
    });

    it('from eight connections at once pushes one job per key, in whatever order the keys come', async () => {
      const first = await world.open();
      const connections = [first, ...Array.from({ length: 7 }, () => world.connect())];
      const keys = ['one', 'two', 'three', 'four', 'five'];
      for (let round = 0; round < soakSize(3); round += 1) {
        const pushing = connections.map((connection, at) => {
          const order = at % 2 === 0 ? keys : keys.toReversed();
          return pushes(connection, ...order.map((key) => tied(`${key}-${at}`, key)));
        });
        const results = (await Promise.all(pushing)).flat();
        const inside = await completeAll(first);
        expect(inside.map((id) => String(id).split('-')[0]).toSorted()).toEqual(keys.toSorted());
        expect(results.filter((result) => result === 'queued')).toHaveLength(keys.length);
        for (const result of results)
          if (result !== 'queued') expect(inside).toContain((result as { duplicate: string }).duplicate);
      }
    });
  });

  describe(`a unique key in ${world.name}`, () => {
    it.each(['DELETE FROM', 'TRUNCATE TABLE'])('is free when its job is removed by hand: %s', async (statement) => {
      const connection = await world.open();
      await pushes(connection, tied('a'));
      await world.rows(`${statement} ${world.table}`);
      await pushes(connection, { payload: payload('b') });
      expect(await pushes(connection, tied('c'))).toEqual(['queued']);
    });

    it('is taken either by a retried failed job or by a job pushed at the same time, and neither job is lost', async () => {
      const connection = await world.open();
      const other = world.connect();
      for (let round = 0; round < soakSize(5); round += 1) {
        const [old, fresh] = [`old-${round}`, `new-${round}`];
        await pushes(connection, tied(old));
        const [reservation] = (await reserve(connection)) as [Reservation];
        const failure = { id: old, name: 'Probe', exception: 'Error' };
        await settleIn(connection, [{ outcome: 'failed', reservation, counters: reservation.counters, failure }]);
        const [entry] = await connection.failed.find(old);
        const [retried, [pushed]] = await Promise.all([
          connection.failed.retry(entry!, entry!.payload),
          pushes(other, tied(fresh)),
        ]);
        const expected = retried === true ? [[old], { duplicate: old }, 0] : [[fresh], 'queued', 1];
        expect([await completeAll(connection), pushed, await connection.failed.count()]).toEqual(expected);
        await connection.failed.flush();
      }
    });

    it('held until the start is held again by a job whose worker died, if no other job has it', async () => {
      const connection = await world.open();
      await pushes(connection, tied('a', 'one', START), tied('b', 'two', START));
      expect((await reserve(connection, { lease: 30 })).map(idOf)).toEqual(['a', 'b']);
      expect(await pushes(connection, tied('c', 'two', START))).toEqual(['queued']);
      world.offset = 31;
      await reserve(connection, { limit: 0 });
      const again = [tied('d', 'one', START), tied('e', 'two', START)];
      expect(await pushes(connection, ...again)).toEqual([{ duplicate: 'a' }, { duplicate: 'c' }]);
    });

    it('held until the start is held again by a job whose reservation was never received', async () => {
      const { connection, proxy } = await world.openThrough('exchange');
      await pushes(connection, tied('a', 'one', START));
      const given = world.inVain(proxy, () => reserve(connection));
      await expect(given).rejects.toMatchObject({ code: 'E_QUEUE_UNAVAILABLE' });
      await reserve(connection, { limit: 0 });
      expect(await pushes(connection, tied('b', 'one', START))).toEqual([{ duplicate: 'a' }]);
    });

    it('held until the start is taken again by the first job that goes back unstarted, even if others had it since', async () => {
      const connection = await world.open();
      const all: Reservation[] = [];
      for (const id of ['a', 'b', 'c']) {
        expect(await pushes(connection, tied(id, 'one', START))).toEqual(['queued']);
        all.push(...(await reserve(connection)));
      }
      const [a, b, c] = all as [Reservation, Reservation, Reservation];
      await settleIn(connection, [{ outcome: 'completed', reservation: a }]);
      expect(await settleIn(connection, [back(a), back(c), back(b)])).toEqual(['lost', 'settled', 'settled']);
      const held = await pushes(connection, tied('d', 'one', START));
      expect(held).toEqual([{ duplicate: expect.stringMatching(/^[bc]$/) as string }]);
    });
  });

  describe(`a user transaction on ${world.name}`, () => {
    it('takes keys, which are free again if it is rolled back', async () => {
      const connection = await world.open();
      await pushes(connection, tied('a'));
      const client = await world.client();
      await client.query('BEGIN');
      const within = connection.within(client)!;
      const entries = [tied('b'), tied('c', 'two'), tied('d', 'two')];
      expect(await pushes(within, ...entries)).toEqual([{ duplicate: 'a' }, 'queued', { duplicate: 'c' }]);
      expect(await pushes(within, tied('e', 'two'), tied('f', 'three'))).toEqual([{ duplicate: 'c' }, 'queued']);
      await client.query('ROLLBACK');
      expect(await pushes(connection, tied('g', 'two'), tied('h', 'three'))).toEqual(['queued', 'queued']);
      expect(await completeAll(connection)).toEqual(['a', 'g', 'h']);
    });

    it('whose job was refused holds up neither the holder of the key nor other pushes', async () => {
      const connection = await world.open();
      await pushes(connection, tied('a'));
      const client = await world.client();
      await client.query('BEGIN');
      expect(await pushes(connection.within(client)!, tied('b'))).toEqual([{ duplicate: 'a' }]);
      expect(await pushes(connection, tied('c'))).toEqual([{ duplicate: 'a' }]);
      expect(await completeAll(connection)).toEqual(['a']);
      expect(await pushes(connection, tied('d'))).toEqual(['queued']);
      await client.query('ROLLBACK');
    });
  });
}
