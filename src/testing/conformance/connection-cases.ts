/** What a connection reports about itself, what it refuses, and how it closes. */
import assert from 'node:assert/strict';
import type { Capabilities, Connection, Reservation } from '../../connections/contract';
import { noCounters } from '../../payload/counters';
import { cases, type CaseDefinition } from './cases';
import type { Capability } from './harness';
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
  (connection) => connection.queues(),
];

/** Calls that need a capability. `wake` has none: without it a wait only sleeps. */
const CALLS: readonly (readonly [capability: Capability, ...calls: readonly Call[]])[] = [
  ['delay', (connection) => connection.push('probes', [{ payload: probe('a'), delay: 60 }])],
  [
    'reserve',
    (connection) => connection.reserve({ queues: ['probes'], limit: 1, lease: 60 }),
    (connection) => connection.settle([completed(NO_RESERVATION)]),
    (connection) => connection.waiter(['probes']).wait(1, new AbortController().signal),
  ],
  ['renew', (connection) => connection.renew([NO_RESERVATION], 60)],
  ['counts', (connection) => connection.counts('probes')],
  ['clear', (connection) => connection.clear('probes')],
  ['peek', (connection) => connection.peek('probes', 'ready', 1)],
];

const refusesClosed = (call: () => unknown): Promise<void> =>
  rejectsWithCode(call, 'E_CONNECTION_CLOSED', 'a closed connection');

/** @param capabilities those that the suite was given */
export const connectionCases = (capabilities: Capabilities): readonly CaseDefinition[] => [
  ...cases([], {
    async 'a connection reports its name, its driver and the address of its store'({ connection }) {
      for (const text of [connection.name, connection.driver, connection.address]) {
        assert(text.length > 0, 'name, driver and address are texts');
      }
    },
    async 'a driver declares the capabilities that the suite was given'({ connection }) {
      assert.deepEqual(
        {
          moments: false,
          follows: false,
          ties: false,
          batches: false,
          operations: false,
          recordWake: false,
          ...connection.capabilities,
        },
        { ...capabilities },
      );
    },
    async 'a driver has a failed store, a lock store, a batch store and a control exactly if it declares them'({
      connection,
    }) {
      for (const part of ['failed', 'locks', 'batches', 'control'] as const) {
        assert.equal(connection[part] !== undefined, capabilities[part] === true, part);
      }
    },
    async 'a driver finds jobs, pushes them once and keeps records exactly if it declares operations'({ connection }) {
      for (const part of ['find', 'pushOnce', 'records'] as const) {
        assert.equal(connection[part] !== undefined, capabilities.operations === true, part);
      }
    },
    async 'a driver can wake listeners for records exactly if it declares `recordWake`'({ connection }) {
      assert.equal(connection.records?.wake !== undefined, capabilities.recordWake === true);
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
      const able = CALLS.flatMap(([capability, ...calls]) => (connection.capabilities[capability] ? calls : []));
      for (const call of [...PLAIN_CALLS, ...able]) await refusesClosed(() => call(connection));
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
  ...cases(['failed', 'locks'], {
    async 'a closed connection refuses to take locks and to count failed jobs'({ connection, failedStore, lockStore }) {
      await connection.close();
      await refusesClosed(() => failedStore.count());
      await refusesClosed(() => lockStore.acquire('l', 'mine', 60));
    },
  }),
  ...cases(['control'], {
    async 'a closed connection refuses to cancel, pause, resume and restart'({ connection, control }) {
      await connection.close();
      await refusesClosed(() => control.cancel('a'));
      await refusesClosed(() => control.pause('probes'));
      await refusesClosed(() => control.resume('probes'));
      await refusesClosed(() => control.paused());
      await refusesClosed(() => control.restart());
    },
  }),
  ...cases(['operations'], {
    async 'a closed connection refuses to find a job, to push a job once, and to read or write a record'(world) {
      const { connection, records } = world;
      const followUp = { queue: world.queue, entry: { payload: probe('a') } };
      const until = (await world.now()) + 60_000;
      const record = { kind: 'probe', id: 'a', value: 'a' };
      await connection.close();
      await refusesClosed(() => connection.find!('a'));
      await refusesClosed(() => connection.pushOnce!(followUp, { key: 'k', until }));
      await refusesClosed(() => records.put([record], 60));
      await refusesClosed(() => records.get('probe', 'a'));
      await refusesClosed(() => records.list('probe', { limit: 1 }));
      await refusesClosed(() => records.replace(record, undefined, 60));
      await refusesClosed(() => records.add([{ name: 's', amounts: { a: 1 }, keep: 60 }], 'source', 1));
      await refusesClosed(() => records.sums(['s']));
    },
  }),
  ...cases(['reserve'], {
    async 'closing a connection ends its waits'(world) {
      const wait = world.connection.waiter([world.queue]).wait(30, new AbortController().signal);
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
];
