/** What a connection reports about itself, what it refuses, how it closes; and locks, which have one owner at a time, and an end. */
import assert from 'node:assert/strict';
import type { Connection, Reservation } from '../../connections/contract';
import { noCounters } from '../../payload/counters';
import { cases, type CaseDefinition } from './harness';
import { ALL_CAPABLE, isAble, JOBS_ALONE, type Capability } from '../../connections/driver';
import { completed, probe, rejectsWithCode } from './world';

type Call = (connection: Connection) => unknown;

/** A reservation of no job in the store: a driver that hands out no jobs refuses it before it looks. */
const NO_RESERVATION: Reservation = {
  queue: 'probes',
  payload: Buffer.from(probe('a')),
  counters: { ...noCounters, attempts: 1 },
  token: undefined,
};

/** Calls that every driver supports. */
const PLAIN_CALLS: readonly Call[] = [
  (connection) => connection.push('probes', [{ payload: probe('b') }]),
  ({ queues }) => queues.names(),
  ({ queues }) => queues.counts('probes'),
];

type CallsByCapability = readonly (readonly [capability: Capability, ...calls: readonly Call[]])[];

const WANTED = { queues: ['probes'], limit: 1, lease: 60 };

/** Calls that a driver without the capability refuses. */
const CALLS: CallsByCapability = [
  ['delay', (connection) => connection.push('probes', [{ payload: probe('a'), delay: 60 }])],
  [
    'reserve',
    (connection) => connection.exchange([], WANTED),
    (connection) => connection.exchange([completed(NO_RESERVATION)]),
    (connection) => connection.exchange([], { ...WANTED, limit: 0, within: 1 }),
  ],
];

const RECORD = { kind: 'probe', id: 'a', value: 'a' };
const ONCE = { key: 'k', until: 1e13 };

/** Calls of members that a connection may lack. */
const MEMBER_CALLS: CallsByCapability = [
  ['renew', (connection) => connection.renew!([NO_RESERVATION], 60)],
  ['clear', ({ queues }) => queues.clear!('probes')],
  ['peek', ({ queues }) => queues.peek!('probes', 'ready', 1)],
  ['find', ({ queues }) => queues.find!('a')],
  ['keys', ({ keys }) => keys!.pushOnce({ queue: 'probes', entries: [{ payload: probe('a') }] }, ONCE)],
  ['failed', ({ failed }) => failed!.count()],
  ['locks', ({ locks }) => locks!.acquire('l', 'mine', 60)],
  [
    'control',
    ({ control }) => control!.cancel('a'),
    ({ control }) => control!.pause('probes'),
    ({ control }) => control!.resume('probes'),
    ({ control }) => control!.paused(),
    ({ control }) => control!.restart(),
  ],
  ['limits', ({ control }) => control!.limit!('probes', 5), ({ control }) => control!.limits!()],
  ['reschedule', ({ control }) => control!.reschedule!('a', { delay: 60 })],
  [
    'records',
    ({ records }) => records!.put([RECORD], 60),
    ({ records }) => records!.get('probe', 'a'),
    ({ records }) => records!.list('probe', { limit: 1 }),
    ({ records }) => records!.replace(RECORD, undefined, 60),
    ({ records }) => records!.add([{ name: 's', amounts: { a: 1 }, keep: 60 }], 'source', 1),
    ({ records }) => records!.sums(['s']),
  ],
];

/** What a driver may lack, except transactions, which the suite does not try. */
const CAPABILITIES = [...Object.keys(ALL_CAPABLE), ...JOBS_ALONE.lacks, 'renew', 'clear'].filter(
  (capability) => capability !== 'transactions',
) as readonly Capability[];

/** @param isGiven whether the suite was told that the driver has it */
export const connectionCases = (isGiven: (capability: Capability) => boolean): readonly CaseDefinition[] => [
  ...cases([], {
    async 'a connection reports its name, its driver and the address of its store'({ connection }) {
      for (const text of [connection.name, connection.driver, connection.address]) {
        assert(text.length > 0, 'name, driver and address are texts');
      }
    },
    async 'a driver has the flags and members that the suite was told, and no others'({ connection }) {
      for (const capability of CAPABILITIES)
        assert.equal(isAble(connection, capability), isGiven(capability), capability);
    },
    async 'a driver that keeps records keeps keys as well, and finds jobs, and one that keeps batches keeps keys'({
      connection: { batches, keys, queues, records },
    }) {
      if (records !== undefined || batches !== undefined) assert(keys !== undefined, 'it has keys');
      if (records !== undefined) assert(queues.find !== undefined, 'it has queues.find');
    },
    async 'a diagnosis is a list of lines with a level, a subject and a message'({ connection }) {
      for (const { level, subject, message } of await connection.diagnose()) {
        assert(['ok', 'warning', 'error'].includes(level), `${level} is a level`);
        assert(subject.length > 0 && message.length > 0, 'a line has a subject and a message');
      }
    },
    async 'a connection can be closed several times, concurrently, and without having been used'(world) {
      const { connection } = world;
      await world.soon(Promise.all([connection.close(), connection.close()]), 'the close of a connection');
      await world.soon(connection.close(), 'the close of a closed connection');
    },
    async 'a closed connection refuses every call'({ connection }) {
      await connection.push('probes', [{ payload: probe('a') }]);
      await connection.close();
      const able = [...CALLS, ...MEMBER_CALLS].filter(([capability]) => isAble(connection, capability));
      for (const call of [...PLAIN_CALLS, ...able.flatMap(([, ...calls]) => calls)]) {
        await rejectsWithCode(() => call(connection), 'E_CONNECTION_CLOSED', 'a closed connection');
      }
    },
  }),
  ...CALLS.flatMap(([capability, ...calls]) => {
    const name = `a driver without the capability '${capability}' refuses calls that need it`;
    const run: CaseDefinition['run'] = async ({ connection }) => {
      for (const call of calls) {
        await rejectsWithCode(() => call(connection), 'E_CAPABILITY', `a driver that cannot ${capability}`);
      }
    };
    return cases([], { [name]: run }, [capability]);
  }),
  ...cases(['reserve'], {
    async 'closing a connection ends its waits'(world) {
      const wait = world.wait();
      await world.soon(world.connection.close(), 'the close of a connection that is waited on');
      await world.soon(wait, 'the end of a wait on a closed connection');
    },
    async 'closing one client affects neither the other clients nor the jobs'(world) {
      if (world.other === world.connection) return;
      await world.otherPushes('a');
      await world.other.close();
      await world.push('b');
      assert.equal((await world.reserveAll()).length, 2);
    },
  }),
  ...cases(['locks'], {
    async 'a lock has one owner at a time, even if two clients ask at once'(world) {
      const results = await world.atOnce(2, ({ locks }, owner) => locks!.acquire('l', owner, 60));
      assert.equal(results.filter(Boolean).length, 1);
    },
    async 'locks with different names are independent'(world) {
      assert.equal(await world.lockStore.acquire('a', 'mine', 60), true);
      assert.equal(await world.lockStore.acquire('b', 'theirs', 60), true);
    },
    async 'an owner that acquires or renews its lock again holds it for the new time'(world) {
      for (const again of ['acquire', 'renew'] as const) {
        await world.lockStore.acquire(again, 'mine', 60);
        await world.advance(50);
        assert.equal(await world.lockStore[again](again, 'mine', 600), true);
        await world.advance(20);
        assert.equal(await world.lockStore.acquire(again, 'theirs', 60), false);
      }
    },
    async 'a lock that is not renewed ends, and another client can acquire it'(world) {
      await world.lockStore.acquire('l', 'mine', 0.2);
      await world.advance(0.2);
      await world.eventually(() => world.lockStore.acquire('l', 'theirs', 60), 'the end of the lock');
      assert.equal(await world.lockStore.renew('l', 'mine', 60), false);
      assert.equal(await world.lockStore.release('l', 'mine'), false);
      assert.equal(await world.lockStore.acquire('l', 'mine', 60), false);
    },
    async 'only its owner can renew or release a lock'(world) {
      await world.lockStore.acquire('l', 'mine', 60);
      assert.equal(await world.lockStore.renew('l', 'theirs', 60), false);
      assert.equal(await world.lockStore.release('l', 'theirs'), false);
      assert.equal(await world.lockStore.acquire('l', 'theirs', 60), false);
    },
    async 'a released lock is free and cannot be renewed or released again'(world) {
      await world.lockStore.acquire('l', 'mine', 60);
      assert.equal(await world.lockStore.release('l', 'mine'), true);
      assert.equal(await world.lockStore.release('l', 'mine'), false);
      assert.equal(await world.lockStore.renew('l', 'mine', 60), false);
      assert.equal(await world.lockStore.acquire('l', 'theirs', 60), true);
    },
  }),
];
