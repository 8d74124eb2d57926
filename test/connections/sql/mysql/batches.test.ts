/** Batches in MySQL: rows that are locked by the packet that pushes or settles jobs. */
import { callbackPayload, type BatchCallback } from '../../../../src/connections/batch-store';
import type { Entry, Reservation, Settlement } from '../../../../src/connections/contract';
import type { SqlConnection } from '../../../../src/connections/sql/connection';
import { uniqueKey, withTies, type Ties } from '../../../../src/payload/ties';
import { TestClock } from '../../../../src/testing/test-clock';
import { idOf, payload, reserve } from '../open-database';
import { begin, completed, counted, describeBatches, failed, member, newBatch } from '../server/batches';
import { MysqlWorld } from './open-mysql';
import { settleIn, waitOn } from '../../../support/exchange';

const world = new MysqlWorld().forTests({ sameTables: true });

describeBatches(world);

describe('batches in MariaDB', () => {
  it.each([
    [
      'its last job ends',
      async (connection: SqlConnection) => settleIn(connection, (await reserve(connection)).map(completed)),
    ],
    ['it begins without jobs', (connection: SqlConnection) => begin(connection, [], newBatch('empty'))],
  ])('wake waiters of their process for the callbacks when %s', async (_, end) => {
    // Its clock stands still, so that no waiter polls.
    const connection = await world.open({}, { clock: new TestClock() });
    await begin(connection, ['a']);
    const wait = waitOn(connection, ['callbacks'], 60, new AbortController().signal);
    await Promise.all([wait, end(connection)]);
    expect((await reserve(connection, { queues: ['callbacks'] })).length).toBe(3);
    expect(await connection.queues.names()).toEqual(['callbacks', 'default']);
  });

  it('send callbacks unchanged, with a cause of any characters', async () => {
    const connection = await world.open();
    const head = `{"job":"prüfe","data":{"a":"\\"\\\\\\u0000\\ud800 ? $1 '","b":"日本 😀"},`;
    const callback: BatchCallback = { on: 'catch', queue: 'anrüfe 😀', head, id: 'told' };
    await begin(connection, ['a'], newBatch('batch', { callbacks: [callback] }));
    const [job] = (await reserve(connection)) as [Reservation];
    const cause = { id: 'a', name: 'Ünfit', message: `'"\\\n\u0000\ud800 😀 ${'ü'.repeat(70_000)}` };
    await settleIn(connection, [{ ...(failed(job) as Extract<Settlement, { outcome: 'failed' }>), cause }]);
    const [sent] = await connection.queues.peek('anrüfe 😀', 'ready', 1);
    expect(sent!.payload.toString()).toBe(callbackPayload(callback, cause));
    const [told] = await reserve(connection, { queues: ['anrüfe 😀'] });
    expect(JSON.parse(told!.payload.toString())).toMatchObject({ cause });
  });

  it('send callbacks that are delayed, and ones whose time has passed', async () => {
    const connection = await world.open();
    const callback = (id: string, when: object): BatchCallback => ({
      on: 'then',
      queue: 'q',
      head: '{"a":1,',
      id,
      ...when,
    });
    const callbacks = [
      callback('a', { delay: 60 }),
      callback('b', { dueAt: 1000 }),
      callback('c', { dueAt: Date.now() + 1e6 }),
    ];
    await begin(connection, [], newBatch('batch', { callbacks: [...callbacks, callback('d', {})] }));
    expect(await connection.queues.counts('q')).toEqual({ ready: 1, delayed: 3, reserved: 0 });
    expect((await reserve(connection, { queues: ['q'] })).map(idOf)).toEqual(['d', 'b']);
    const [first, second] = await connection.queues.peek('q', 'delayed', 2);
    expect(Math.round((second!.at! - first!.at!) / 10_000)).toBe(94);
  });

  it('accept a job whose unique key is free and none whose key is held, even if the answer is lost', async () => {
    const { connection, proxy } = await world.openThrough('push');
    const ties = {
      unique: { key: uniqueKey('Probe', 'one'), until: 'end' as const },
      batch: { id: 'batch', weight: 3 },
    };
    const entry = (id: string) => ({ payload: withTies(payload(id), ties), ties });
    await begin(connection, ['open']);
    proxy.loseReplies(2);
    expect(await connection.push('default', [entry('a'), member('b'), entry('c')])).toEqual([
      'queued',
      'queued',
      { duplicate: 'a' },
    ]);
    expect(await counted(connection)).toEqual([5, 0, 0, 0]);
  });

  it('that take no more jobs say so even if the answer is lost, and leave the unique key of the job free', async () => {
    const { connection, proxy } = await world.openThrough('push');
    await begin(connection, []);
    const unique = { key: uniqueKey('Probe', 'one'), until: 'end' as const };
    const entry = (id: string, ties: Ties): Entry => ({ payload: withTies(payload(id), ties), ties });
    proxy.loseReplies(2);
    const pushing = connection.push('default', [entry('a', { unique, batch: { id: 'batch', weight: 1 } })]);
    await expect(pushing).rejects.toMatchObject({ code: 'E_BATCH_ENDED', facts: { end: 'finished' } });
    expect((await connection.push('default', [entry('b', { unique })])) ?? []).toEqual([]);
    expect((await reserve(connection)).map(idOf)).toEqual(['b']);
  });
});
