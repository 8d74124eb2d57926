/** Tests of debounced jobs for each database server, with many clients and lost answers. */
import type { Entry } from '../../../../src/connections/contract';
import { debounceKey, withTies } from '../../../../src/payload/ties';
import { idOf, payload, reserve } from '../open-database';
import type { ServerWorld } from './server-world';
import { back, completeAll, pushes, tied } from './unique-keys';
import { soakSize } from '../../../support/soak-size';
import { settleIn } from '../../../support/exchange';

export function debounced(
  id: string,
  key = 'one',
  { delay = 60, longest }: { delay?: number; longest?: number } = {},
): Entry {
  const ties = { debounce: { key: debounceKey('Probe', key, 'default'), longest } };
  return { payload: withTies(payload(id), ties), ties, delay };
}

const KEYS = ['one', 'two', 'three', 'four', 'five'];

export function describeDebouncedJobs(world: ServerWorld): void {
  describe(`a push to ${world.name} of debounced jobs`, () => {
    it.each([1, 2, 3])(
      'whose answer is lost %d times in a row replaces once and returns the same results',
      async (lost) => {
        const { connection, proxy } = await world.openThrough('push');
        await pushes(connection, debounced('a'), tied('held', 'x'));
        const entries = [
          debounced('b'),
          tied('c', 'x'),
          debounced('d'),
          { payload: payload('e') },
          debounced('f', 'two'),
        ];
        proxy.loseReplies(lost);
        const results = await pushes(connection, ...entries);
        expect(results).toEqual([{ replaced: 'a' }, { duplicate: 'held' }, { replaced: 'b' }, 'queued', 'queued']);
        expect(await pushes(connection, debounced('g'))).toEqual([{ replaced: 'd' }]);
        expect(await completeAll(connection)).toEqual(['held', 'e']);
        world.offset = 61;
        expect((await completeAll(connection)).toSorted()).toEqual(['f', 'g']);
      },
    );

    it('in several pages returns the results in the order of the jobs', async () => {
      const connection = await world.open();
      const entries = Array.from({ length: 250 }, (_, at) => debounced(`job-${at}`, String(at % 240)));
      const results = await pushes(connection, ...entries);
      expect(results.slice(0, 240)).toEqual(Array.from({ length: 240 }, () => 'queued'));
      expect(results.slice(240)).toEqual(Array.from({ length: 10 }, (_, at) => ({ replaced: `job-${at}` })));
      expect(await connection.queues.counts('default')).toMatchObject({ delayed: 240 });
    });

    it('from eight connections at once leaves one waiting job per key, in whatever order the keys come', async () => {
      const first = await world.open();
      const connections = [first, ...Array.from({ length: 7 }, () => world.connect())];
      const gone: string[] = [];
      const rounds = soakSize(3);
      for (let round = 0; round < rounds; round += 1) {
        const pushing = connections.map((connection, at) => {
          const order = at % 2 === 0 ? KEYS : KEYS.toReversed();
          return pushes(connection, ...order.map((key) => debounced(`${key}-${round}-${at}`, key)));
        });
        for (const result of (await Promise.all(pushing)).flat())
          if (typeof result === 'object' && 'replaced' in result) gone.push(result.replaced);
        expect(await first.queues.counts('default')).toMatchObject({ delayed: KEYS.length, ready: 0 });
      }
      expect([gone.length, new Set(gone).size]).toEqual([rounds * 8 * 5 - 5, rounds * 8 * 5 - 5]);
    });

    it('loses no job and replaces no reserved job while workers take due ones', async () => {
      const connection = await world.open();
      const others = [world.connect(), world.connect()];
      const [gone, ran]: [string[], unknown[]] = [[], []];
      const ids = Array.from({ length: 60 }, (_, at) => `job-${at}`);
      const pushing = (async () => {
        for (const id of ids) {
          const [result] = await pushes(connection, debounced(id, 'one', { delay: 0.004 }));
          if (typeof result === 'object' && 'replaced' in result) gone.push(result.replaced);
        }
      })();
      let isOver = false;
      const working = others.map(async (other) => {
        while (!isOver) ran.push(...(await completeAll(other)));
      });
      await pushing;
      isOver = true;
      await Promise.all(working);
      world.offset = 10;
      ran.push(...(await completeAll(connection)));
      expect([...gone, ...ran].toSorted()).toEqual(ids.toSorted());
    });
  });

  describe(`a user transaction on ${world.name}`, () => {
    it('replaces debounced jobs, which are restored if it is rolled back', async () => {
      const connection = await world.open();
      await pushes(connection, debounced('a'));
      const client = await world.client();
      await client.query('BEGIN');
      const within = connection.within(client)!;
      expect(await pushes(within, debounced('b'), debounced('c'))).toEqual([{ replaced: 'a' }, { replaced: 'b' }]);
      await client.query('ROLLBACK');
      expect(await pushes(connection, debounced('d'))).toEqual([{ replaced: 'a' }]);
      expect(await connection.queues.counts('default')).toMatchObject({ delayed: 1 });
    });

    it('that has pushed a debounced job does not hold up a worker that runs the previous one', async () => {
      const connection = await world.open();
      await pushes(connection, debounced('a'));
      world.offset = 61;
      const [a] = await reserve(connection);
      const client = await world.client();
      await client.query('BEGIN');
      expect(await pushes(connection.within(client)!, debounced('b'))).toEqual(['queued']);
      expect(await settleIn(connection, [{ outcome: 'completed', reservation: a! }])).toEqual(['settled']);
      await client.query('COMMIT');
      expect(await pushes(connection, debounced('c'))).toEqual([{ replaced: 'b' }]);
    });
  });

  it(`a debounced job in ${world.name} that was handed out is not replaced, even if the clock of the server goes back`, async () => {
    const connection = await world.open();
    await pushes(connection, debounced('a'));
    world.offset = 61;
    const [a] = await reserve(connection);
    await settleIn(connection, [{ ...back(a!), delay: 60 }]);
    world.offset = 0;
    expect(await pushes(connection, debounced('b'))).toEqual(['queued']);
    expect(await connection.queues.counts('default')).toMatchObject({ delayed: 2 });
  });

  it(`a debounced job in ${world.name} whose worker died, or whose reservation was never received, does not get its key again`, async () => {
    const { connection, proxy } = await world.openThrough('exchange');
    await pushes(connection, debounced('a', 'one', { delay: 1 }), debounced('b', 'two', { delay: 1 }));
    world.offset = 2;
    expect((await reserve(connection, { lease: 30, limit: 1 })).map(idOf)).toEqual(['a']);
    const given = world.inVain(proxy, () => reserve(connection));
    await expect(given).rejects.toMatchObject({ code: 'E_QUEUE_UNAVAILABLE' });
    world.offset = 40;
    await reserve(connection, { limit: 0 });
    expect(await pushes(connection, debounced('c'), debounced('d', 'two'))).toEqual(['queued', 'queued']);
    expect(await pushes(connection, debounced('e'), debounced('f', 'two'))).toEqual([
      { replaced: 'c' },
      { replaced: 'd' },
    ]);
    expect((await completeAll(connection)).toSorted()).toEqual(['a', 'b']);
  });
}
