/** A connection names itself, and closes as often as one likes. */
import assert from 'node:assert/strict';
import type { Connection } from '../../connections/contract';
import { CALLS } from './capability-cases';
import type { CaseDefinition } from './harness';
import { probe, rejectsWithCode } from './world';

const CLOSED = 'E_CONNECTION_CLOSED';

/** What every driver can do. */
const PLAIN_CALLS: readonly ((connection: Connection) => unknown)[] = [
  (connection) => connection.push('probes', [{ payload: probe('b') }]),
  (connection) => connection.queues(),
];

export const lifecycleCases: readonly CaseDefinition[] = [
  {
    name: 'a connection says its name, its driver and where its store is',
    requires: [],
    async run(world) {
      for (const text of [world.connection.name, world.connection.driver, world.connection.address]) {
        assert(text.length > 0, 'name, driver and address are texts');
      }
    },
  },
  {
    name: 'a connection may be closed any number of times, also at once, also unused',
    requires: [],
    async run(world) {
      const { connection } = world;
      await world.soon(Promise.all([connection.close(), connection.close()]), 'the close of a connection');
      await world.soon(connection.close(), 'the close of a closed connection');
    },
  },
  {
    name: 'a closed connection refuses whatever is asked of it',
    requires: [],
    async run(world) {
      const { connection } = world;
      await world.push(probe('a'));
      await connection.close();
      const able = CALLS.filter(({ capability }) => connection.capabilities[capability]);
      for (const call of [...PLAIN_CALLS, ...able.flatMap(({ calls }) => calls)]) {
        await rejectsWithCode(() => call(connection), CLOSED, 'a closed connection');
      }
    },
  },
  {
    name: 'a closed connection refuses to lock, and to show failed jobs',
    requires: ['failed', 'locks'],
    async run(world) {
      const { failedStore, lockStore } = world;
      await world.connection.close();
      await rejectsWithCode(() => failedStore.count(), CLOSED, 'a closed connection');
      await rejectsWithCode(() => lockStore.acquire('l', 'mine', 60), CLOSED, 'a closed connection');
    },
  },
  {
    name: 'closing a connection ends the waits on it',
    requires: ['reserve'],
    async run(world) {
      const wait = world.connection.waiter([world.queue]).wait(30, new AbortController().signal);
      await world.soon(world.connection.close(), 'the close of a connection that is waited on');
      await world.soon(wait, 'the end of a wait on a closed connection');
    },
  },
  {
    name: 'closing one client leaves the others, and the jobs, as they are',
    requires: ['reserve'],
    async run(world) {
      const { connection, other } = world;
      if (other === connection) return;
      await other.push(world.queue, [{ payload: probe('a') }]);
      await other.close();
      await world.push(probe('b'));
      assert.equal((await world.reserveAll()).length, 2);
    },
  },
];
