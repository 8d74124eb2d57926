import { connectMemory, type MemoryConnection } from '../../../src/connections/memory/connection';
import { NOT_AN_OBJECT } from '../../../src/payload/counters';
import { TestClock } from '../../../src/testing/test-clock';
import { reserveFrom, settleIn } from '../../support/exchange';

const START = 1_700_000_000;
const text = (id: string, counters = '"attempts":0'): string => `{"job":"probe","id":"${id}",${counters}}`;

let clock: TestClock;
let connection: MemoryConnection;

beforeEach(() => {
  clock = new TestClock(START * 1000);
  connection = connectMemory({ driver: 'memory' }, { name: 'memory', clock });
});

afterEach(() => connection.close());

const push = (ids: readonly string[], delay = 0) =>
  connection.push(
    'mail',
    ids.map((id) => ({ payload: text(id), delay })),
  );

const reserve = (limit = 1000, lease = 60) => reserveFrom(connection, { queues: ['mail'], limit, lease });

const numbered = (count: number) => Array.from({ length: count }, (_, index) => `${index}`);

describe('the memory connection', () => {
  it('shows its whole state: payloads, scores and failed jobs', async () => {
    await push(['a', 'b', 'c']);
    await push(['d'], 1.5);
    const { reservations } = await reserve(2);
    const failure = { id: 'b', name: 'Probe', exception: 'Error' };
    for (const reservation of reservations.slice(1)) {
      await settleIn(connection, [{ outcome: 'failed', reservation, counters: reservation.counters, failure }]);
    }
    expect(connection.snapshot()).toEqual({
      queues: new Map([
        [
          'mail',
          {
            ready: [Buffer.from(text('c'))],
            delayed: [[Buffer.from(text('d')), START + 1.5]],
            reserved: [[Buffer.from(text('a', '"attempts":1')), START + 60]],
          },
        ],
      ]),
      locks: new Map(),
      unique: new Map(),
      batches: new Map(),
      failed: [
        {
          ...failure,
          connection: 'memory',
          queue: 'mail',
          payload: Buffer.from(text('b', '"attempts":1')),
          attempts: 1,
          failedAt: START * 1000,
        },
      ],
    });
  });

  it('hands out 100 jobs in one call and reports that more are left', async () => {
    await push(numbered(101));
    const { reservations, nextIn } = await reserve();
    expect(reservations).toHaveLength(100);
    expect(nextIn).toBe(0);
    expect((await reserve()).reservations).toHaveLength(1);
  });

  it('promotes 100 due jobs in one call', async () => {
    await push(numbered(101), 10);
    await clock.advance(10);
    await reserve(1);
    expect(await connection.queues.counts('mail')).toEqual({ ready: 99, delayed: 1, reserved: 1 });
  });

  it('reclaims 100 jobs in one call', async () => {
    await push(numbered(101));
    await reserve();
    await reserve();
    await clock.advance(60);
    await reserve(1);
    expect(await connection.queues.counts('mail')).toEqual({ ready: 99, delayed: 0, reserved: 2 });
  });

  it('hands out 1 MiB of payloads in one call, but always at least one job', async () => {
    const long = (id: string, bytes: number) => ({ payload: text(id, `"long":"${'x'.repeat(bytes)}","attempts":0`) });
    await connection.push('mail', [long('a', 2_000_000), long('b', 600_000), long('c', 600_000)]);
    const taken = [await reserve(), await reserve(), await reserve()];
    expect(taken.map(({ reservations }) => reservations.length)).toEqual([1, 1, 1]);
  });

  it('keeps jobs with equal delays in the order of their pushes even within one millisecond', async () => {
    for (const id of ['c', 'a', 'b']) await push([id], 10);
    await clock.advance(10);
    const { reservations } = await reserve();
    expect(reservations.map(({ payload }) => payload.toString())).toEqual(
      ['c', 'a', 'b'].map((id) => text(id, '"attempts":1')),
    );
  });

  it('makes a delayed job due exactly at its time, despite rounding of seconds', async () => {
    await clock.advance('123ms');
    await push(['a'], 0.7);
    await clock.advance('699ms');
    expect((await reserve()).reservations).toHaveLength(0);
    await clock.advance('1ms');
    expect((await reserve()).reservations).toHaveLength(1);
  });

  it('pushes all entries except the one that already waits', async () => {
    await push(['a'], 10);
    const entries = ['a', 'b'].map((id) => ({ payload: text(id), delay: 10, distinct: true }));
    await expect(connection.push('mail', entries)).rejects.toMatchObject({ code: 'E_DUPLICATE_PAYLOAD' });
    expect(await connection.queues.counts('mail')).toEqual({ ready: 0, delayed: 2, reserved: 0 });
  });

  it('sets a payload aside that ends like ours but is not JSON', async () => {
    await connection.push('mail', [{ payload: '{"broken,"attempts":0}' }]);
    const { reservations, setAside } = await reserve();
    expect(reservations).toEqual([]);
    expect(setAside).toMatchObject([{ queue: 'mail', reason: NOT_AN_OBJECT }]);
    expect((await connection.failed.list({ limit: 1 }))[0]).toMatchObject({ attempts: 0, name: '(unreadable)' });
  });

  it('has a store of its own with each connect', async () => {
    await push(['a']);
    const stranger = connectMemory({ driver: 'memory' }, { name: 'memory', clock });
    expect(await stranger.queues.counts('mail')).toEqual({ ready: 0, delayed: 0, reserved: 0 });
  });

  it('warns that jobs are lost with the process', async () => {
    expect(await connection.diagnose()).toEqual([
      { level: 'warning', subject: 'memory', message: 'Jobs are lost when the process ends.' },
    ]);
  });

  it('forgets locks that have ended', async () => {
    for (const name of ['a', 'b']) await connection.locks.acquire(name, 'dead', 1);
    await clock.advance(2);
    await connection.locks.acquire('c', 'mine', 60);
    expect([...connection.snapshot().locks.keys()]).toEqual(['c']);
  });
});
