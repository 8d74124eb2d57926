/** Tests of outages and lost answers for each database server. */
import { sendAll } from '../../../../src/dispatch/send';
import type { EncodedJob } from '../../../../src/dispatch/job-encoder';
import type { SqlConnection } from '../../../../src/connections/sql/connection';
import type { Reservation } from '../../../../src/connections/contract';
import { eventually } from '../../../support/eventually';
import { meantToPass } from '../../../support/meant-to-pass';
import { idOf, payload, reserve } from '../open-database';
import type { ServerWorld } from './server-world';
import { reserveFrom, settleIn, waitOn } from '../../../support/exchange';

const completed = (reservation: Reservation) => ({ outcome: 'completed', reservation }) as const;

/** What waits behind a call is measured by the clock of the machine. */
const SHORT = meantToPass(1);

const nothing = { ready: 0, delayed: 0, reserved: 0 };

const following = (...ids: readonly string[]) =>
  ids.map((id) => ({ queue: 'default', entry: { payload: payload(id) } }));

export interface AfterLoss {
  /** Reserves until the jobs of a lost answer are handed out again. */
  readonly reserveAgain: (connection: SqlConnection) => Promise<readonly Reservation[]>;
  /** The free releases of a job whose reservation was lost. */
  readonly releases: unknown;
}

export function describeLostAnswers(world: ServerWorld, { reserveAgain, releases }: AfterLoss): void {
  describe(`a lost answer of ${world.name}`, () => {
    it('to a push leaves the job queued once', async () => {
      const { connection, proxy } = await world.openThrough('push');
      proxy.loseReplies(2);
      await connection.push('default', [{ payload: payload('a') }]);
      await connection.push('default', [{ payload: payload('b') }]);
      expect((await reserve(connection)).map(idOf)).toEqual(['a', 'b']);
    });

    it('to a reserve lets its jobs be handed out again without costing a try or counting a crash', async () => {
      const { connection, proxy } = await world.openThrough('exchange');
      await connection.push('default', [{ payload: payload('a') }, { payload: payload('b') }]);
      proxy.loseReplies();
      const reservations = await reserveAgain(connection);
      expect(reservations.map(idOf)).toEqual(['a', 'b']);
      expect(reservations[0]!.counters).toEqual({ attempts: 1, crashes: 0, exceptions: 0, timeouts: 0, releases });
      expect(await connection.queues.counts('default')).toEqual({ ready: 0, delayed: 0, reserved: 2 });
    });

    it('to each of several simultaneous reserves is undone by later calls', async () => {
      const { connection, proxy } = await world.openThrough('exchange');
      await connection.push('default', [{ payload: payload('a') }, { payload: payload('b') }]);
      const both = () => [reserve(connection, { limit: 1 }), reserve(connection, { limit: 1 })];
      await world.inVain(proxy, () => Promise.allSettled(both()), 2);
      const reservations = [...(await reserveAgain(connection))];
      if (reservations.length === 1) reservations.push(...(await reserveAgain(connection)));
      expect(reservations.map(idOf).toSorted()).toEqual(['a', 'b']);
      expect(await connection.queues.counts('default')).toEqual({ ready: 0, delayed: 0, reserved: 2 });
    });

    it('to a settle is recovered: each outcome is reported as settled or lost as it was', async () => {
      const { connection, proxy } = await world.openThrough('exchange');
      await connection.push(
        'default',
        ['a', 'b', 'c', 'd'].map((id) => ({ payload: payload(id) })),
      );
      const [a, b, c, d] = (await reserve(connection)) as [Reservation, Reservation, Reservation, Reservation];
      await settleIn(connection, [completed(c)]);
      proxy.loseReplies(2);
      const released = { outcome: 'released', reservation: b, delay: 60, counters: b.counters } as const;
      const failure = { id: 'd', name: 'Probe', exception: 'Error' };
      const failed = { outcome: 'failed', reservation: d, counters: d.counters, failure } as const;
      expect(await settleIn(connection, [completed(a), released, completed(c), failed])).toEqual([
        'settled',
        'settled',
        'lost',
        'settled',
      ]);
      expect(await connection.queues.counts('default')).toEqual({ ready: 0, delayed: 1, reserved: 0 });
      expect(await connection.failed.count()).toBe(1);
    });

    it('to outcomes pushes their following jobs once, and none for a lost outcome', async () => {
      const { connection, proxy } = await world.openThrough('exchange');
      await connection.push(
        'default',
        ['a', 'b', 'c'].map((id) => ({ payload: payload(id) })),
      );
      const [a, b, c] = (await reserve(connection)) as [Reservation, Reservation, Reservation];
      await settleIn(connection, [completed(c)]);
      proxy.loseReplies(2);
      const failure = { id: 'b', name: 'Probe', exception: 'Error' };
      const failed = { outcome: 'failed', reservation: b, counters: b.counters, failure } as const;
      const ends = [
        { ...completed(a), next: following('a2', 'a3') },
        { ...failed, next: following('b2') },
        { ...completed(c), next: [...following('c2'), ...following('c3').map((one) => ({ ...one, queue: 'lost' }))] },
      ];
      expect(await settleIn(connection, ends)).toEqual(['settled', 'settled', 'lost']);
      expect((await reserve(connection)).map(idOf)).toEqual(['a2', 'a3', 'b2']);
      expect([await connection.queues.counts('lost'), await connection.queues.names()]).toEqual([nothing, ['default']]);
    });

    it('to an outcome that is settled again later pushes its following jobs once', async () => {
      const { connection, proxy } = await world.openThrough('exchange');
      await connection.push('default', [{ payload: payload('a') }]);
      const [a] = (await reserve(connection)) as [Reservation];
      const end = { ...completed(a), next: following('a2') };
      const settling = world.inVain(proxy, () => settleIn(connection, [end]));
      await expect(settling).rejects.toMatchObject({ code: 'E_QUEUE_UNAVAILABLE' });
      expect(await settleIn(connection, [end])).toEqual(['settled']);
      expect((await reserve(connection)).map(idOf)).toEqual(['a2']);
      expect(await connection.queues.counts('default')).toEqual({ ...nothing, reserved: 1 });
    });

    it('to a settle is recovered even after another call', async () => {
      const { connection, proxy } = await world.openThrough('exchange');
      await connection.push('default', [{ payload: payload('a') }, { payload: payload('b') }]);
      const [a, b] = (await reserve(connection)) as [Reservation, Reservation];
      const uncertain = {
        status: 'rejected',
        reason: expect.objectContaining({ code: 'E_QUEUE_UNAVAILABLE' }) as Error,
      };
      const both = () => Promise.allSettled([a, b].map((job) => settleIn(connection, [completed(job)])));
      expect(await world.inVain(proxy, both, 2)).toEqual([uncertain, uncertain]);
      expect(await reserve(connection)).toEqual([]);
      expect(await settleIn(connection, [completed(a), completed(b)])).toEqual(['settled', 'settled']);
      expect(await settleIn(connection, [completed(a)])).toEqual(['lost']);
    });

    it('to a settle is recovered even by a call that sets an unreadable payload aside', async () => {
      const { connection, proxy } = await world.openThrough('exchange');
      await connection.push('default', [{ payload: payload('a') }, { payload: payload('b') }]);
      const [a, b] = (await reserve(connection)) as [Reservation, Reservation];
      await connection.push('default', [{ payload: 'no JSON' }]);
      await world.inVain(
        proxy,
        () => Promise.allSettled([a, b].map((job) => settleIn(connection, [completed(job)]))),
        2,
      );
      const { setAside } = await reserveFrom(connection, { queues: ['default'], limit: 1, lease: 60 });
      expect(setAside).toHaveLength(1);
      expect(await settleIn(connection, [completed(a), completed(b)])).toEqual(['settled', 'settled']);
    });

    it('to one push is not mistaken for that to the next', async () => {
      const { connection, proxy } = await world.openThrough('push');
      const pushing = world.inVain(proxy, () => connection.push('default', [{ payload: payload('a') }]));
      await expect(pushing).rejects.toMatchObject({ facts: { uncertain: true } });
      await connection.push('default', [{ payload: payload('b') }]);
      expect((await reserve(connection)).map(idOf)).toEqual(['a', 'b']);
    });

    it('to a reserve is reported as uncertain at the deadline and undone by the next call', async () => {
      const { connection, proxy } = await world.openThrough('exchange');
      await connection.push('default', [{ payload: payload('a') }]);
      await expect(world.inVain(proxy, () => reserve(connection))).rejects.toMatchObject({
        code: 'E_QUEUE_UNAVAILABLE',
        facts: { uncertain: true, deadline: 60, consequence: 'no job was reserved' },
      });
      const [reservation] = await reserveAgain(connection);
      expect(reservation!.counters).toMatchObject({ attempts: 1, crashes: 0 });
    });
  });
}

/** An address that the server refuses, and its words. Passwords in it are `hunter2` or `secret`. */
export type Refusal = readonly [what: string, address: string, words: RegExp];

/** @param store the name of the store in errors */
export function describeOutages(world: ServerWorld, store: string, refusals: readonly Refusal[]): void {
  describe(`a ${world.name} that is away`, () => {
    it('fails a push at its deadline, with certainty that it was not queued', async () => {
      const { connection, proxy } = await world.openThrough('push');
      await connection.push('default', [{ payload: payload('a') }]);
      const { port } = world.server;
      proxy.retarget(1);
      proxy.cut();
      // This one may have been sent before the end of its connection was noticed.
      await expect(world.clock.passing(connection.push('default', [{ payload: payload('b') }]))).rejects.toMatchObject({
        code: 'E_QUEUE_UNAVAILABLE',
      });
      const pushing = world.clock.passing(connection.push('default', [{ payload: payload('c') }]));
      await expect(pushing).rejects.toMatchObject({
        code: 'E_QUEUE_UNAVAILABLE',
        facts: { deadline: 60, store, consequence: 'the job was not queued' },
      });
      proxy.retarget(port);
      await expect(pushing).rejects.not.toThrow(/unless only its answer was lost/);
    });

    it('is used again when it is back, even by waiting workers, and has lost nothing', async () => {
      const connection = await world.open();
      await connection.push('default', [{ payload: payload('a') }]);
      await waitOn(connection, ['default'], 10, new AbortController().signal);
      const wait = waitOn(connection, ['default'], 3600, new AbortController().signal);
      await world.server.kill();
      const pushing = connection.push('default', [{ payload: payload('b') }]);
      await world.server.startAgain();
      await pushing;
      await wait;
      expect((await reserve(connection)).map(idOf)).toEqual(['a', 'b']);
      const again = waitOn(connection, ['default'], 3600, new AbortController().signal);
      await connection.push('default', [{ payload: payload('c') }]);
      await expect(again).resolves.toMatchObject({ reservations: [] });
    });

    it('that accepts everything and answers nothing is tried on a new connection', async () => {
      // The new connection is tried after half of the deadline.
      const { connection, proxy } = await world.openThrough('push');
      await connection.push('default', [{ payload: payload('a') }]);
      proxy.goHalfOpen();
      const { requests } = proxy;
      const pushing = connection.push('default', [{ payload: payload('b') }]);
      await eventually(() => proxy.requests > requests, { of: 'the unanswered call' });
      world.clock.advance(30);
      await pushing;
      expect((await reserve(connection)).map(idOf)).toEqual(['a', 'b']);
    });

    it('fails a bulk of several calls at one deadline, and only the first call is uncertain', async () => {
      const [{ connection, proxy }, other] = [
        await world.openThrough('push', SHORT),
        await world.openThrough('push', SHORT),
      ];
      const pushOne = (one: SqlConnection) => one.push('default', [{ payload: payload('a') }]);
      for (const one of [connection, other.connection]) await eventually(() => pushOne(one).then(() => true));
      const jobs = Array.from({ length: 450 }, (_, at) => ({
        ...{ connection: 'database', queue: 'default', id: `job ${at}` },
        entry: { payload: payload(`job ${at}`) },
      })) as unknown as readonly EncodedJob[];
      const refusals: unknown[] = [];
      const ended: string[] = [];
      proxy.goSilent();
      other.proxy.goSilent();
      await Promise.all([
        sendAll(
          jobs,
          () => connection,
          () => undefined,
          ({ error }) => refusals.push(error),
        ).then(() => ended.push('the bulk')),
        // Two deadlines are longer than one, however slow this machine is.
        pushOne(other.connection)
          .catch(() => pushOne(other.connection))
          .catch(() => ended.push('two pushes, one after another')),
      ]);

      expect(ended).toEqual(['the bulk', 'two pushes, one after another']);
      const [first, ...others] = refusals;
      expect(first).toMatchObject({ facts: { uncertain: true } });
      for (const other of others) expect(other).toMatchObject({ facts: { uncertain: false } });
    });

    it('does not hold up a close', async () => {
      const { connection, proxy } = await world.openThrough('push');
      await connection.push('default', [{ payload: payload('a') }]);
      await waitOn(connection, ['default'], 10, new AbortController().signal);
      proxy.goSilent();
      const pushing = connection.push('default', [{ payload: payload('b') }]).catch((error: unknown) => error);
      await world.clock.passing(connection.close());
      expect(await pushing).toMatchObject({ facts: { uncertain: true } });
    });

    it.each(refusals)('that refuses %s is reported at once, without a password', async (_what, address, words) => {
      const connection = world.connect({ url: `${address}:${world.server.port}/nowhere` });
      const pushing = connection.push('default', [{ payload: payload('a') }]);
      await expect(pushing).rejects.toThrow(words);
      await expect(pushing).rejects.not.toThrow(/hunter2|secret/);
      expect(connection.address).not.toMatch(/hunter2|secret/);
    });
  });
}
