/** Idle workers wake for new work, and never sleep over it. */
import assert from 'node:assert/strict';
import type { CaseDefinition } from './harness';
import { idOf, idsOf, probe, released } from './world';
import type { World } from './world';

/** Longer than a case may take: a wait that is not woken fails it. */
const LONG = 30;

const never = (): AbortSignal => new AbortController().signal;

/** What a worker does: reserve, and while there is nothing, wait as long as the store says. */
async function firstJob(world: World, queues = [world.queue]) {
  const waiter = world.connection.waiter(queues);
  for (;;) {
    const { reservations, nextIn } = await world.reserve({ queues });
    if (reservations[0] !== undefined) return reservations[0];
    await waiter.wait(Math.min(nextIn, LONG), never());
  }
}

export const waitCases: readonly CaseDefinition[] = [
  {
    name: 'a waiting worker wakes when another client pushes',
    requires: ['reserve', 'wake'],
    async run(world) {
      const job = firstJob(world);
      await world.other.push(world.queue, [{ payload: probe('a') }]);
      assert.equal(idOf(await world.soon(job, 'a wake-up by a push')), 'a');
    },
  },
  {
    name: 'a waiting worker wakes for any of its queues',
    requires: ['reserve', 'wake'],
    async run(world) {
      const job = firstJob(world, [world.queue, world.secondQueue]);
      await world.other.push(world.secondQueue, [{ payload: probe('a') }]);
      assert.equal(idOf(await world.soon(job, 'a wake-up by a push to the second queue')), 'a');
    },
  },
  {
    name: 'a push between the last reserve and the wait is not missed',
    requires: ['reserve', 'wake'],
    async run(world) {
      const waiter = world.connection.waiter([world.queue]);
      assert.deepEqual((await world.reserve()).reservations, []);
      await world.other.push(world.queue, [{ payload: probe('a') }]);
      await world.soon(waiter.wait(LONG, never()), 'a wait that starts after the push');
      assert.equal(idOf(await world.reserveOne()), 'a');
    },
  },
  {
    name: 'each of two waiting workers gets one of two jobs',
    requires: ['reserve', 'wake'],
    async run(world) {
      const jobs = Promise.all([firstJob(world), firstJob(world)]);
      await world.other.push(world.queue, [{ payload: probe('a') }, { payload: probe('b') }]);
      const ids = idsOf(await world.soon(jobs, 'a wake-up of both'));
      assert.deepEqual(new Set(ids), new Set(['a', 'b']));
    },
  },
  {
    name: 'a waiting worker wakes for a delayed job that another client pushed meanwhile, once it is due',
    requires: ['reserve', 'wake', 'delay'],
    async run(world) {
      const job = firstJob(world);
      await world.other.push(world.queue, [{ payload: probe('a'), delay: 0.1 }]);
      await world.advance(0.1);
      assert.equal(idOf(await world.soon(job, 'a wake-up for a delayed job')), 'a');
    },
  },
  {
    name: 'a waiting worker wakes for a job that another gives back',
    requires: ['reserve', 'wake'],
    async run(world) {
      await world.push(probe('a'));
      const reservation = await world.reserveOne();
      const waiter = world.connection.waiter([world.queue]);
      const wait = waiter.wait(LONG, never());
      await world.other.settle([released(reservation)]);
      await world.soon(wait, 'a wake-up by a release');
      assert.equal(idOf(await world.reserveOne()), 'a');
    },
  },
  {
    name: 'a waiting worker wakes for a failed job that is retried',
    requires: ['reserve', 'wake', 'failed'],
    async run(world) {
      const entry = await world.failProbe('a');
      const job = firstJob(world);
      assert.equal(await world.failedStore.retry(entry, Buffer.from(probe('again'))), true);
      assert.equal(idOf(await world.soon(job, 'a wake-up by a retry')), 'again');
    },
  },
  {
    name: 'a wait ends when its time is over',
    requires: ['reserve'],
    async run(world) {
      const wait = world.connection.waiter([world.queue]).wait(0.05, never());
      await world.advance(0.05);
      await world.soon(wait, 'the end of a wait of 50 ms');
    },
  },
  {
    name: 'a wait ends at once when it is aborted, and is not begun when it was aborted before',
    requires: ['reserve'],
    async run(world) {
      const abort = new AbortController();
      const waiter = world.connection.waiter([world.queue]);
      const wait = waiter.wait(LONG, abort.signal);
      abort.abort();
      await world.soon(wait, 'the end of an aborted wait');
      await world.soon(waiter.wait(LONG, abort.signal), 'the end of a wait that was aborted before');
    },
  },
  {
    name: 'a waiter can wait again after it was aborted',
    requires: ['reserve', 'wake'],
    async run(world) {
      const abort = new AbortController();
      const waiter = world.connection.waiter([world.queue]);
      const first = waiter.wait(LONG, abort.signal);
      abort.abort();
      await first;
      const second = waiter.wait(LONG, never());
      await world.other.push(world.queue, [{ payload: probe('a') }]);
      await world.soon(second, 'a wake-up after an aborted wait');
    },
  },
  {
    name: 'closing a waiter ends its wait, and may be repeated',
    requires: ['reserve'],
    async run(world) {
      const waiter = world.connection.waiter([world.queue]);
      const wait = waiter.wait(LONG, never());
      await world.soon(Promise.all([waiter.close(), waiter.close()]), 'the close of a waiter');
      await world.soon(wait, 'the end of a wait whose waiter was closed');
      await waiter.close();
    },
  },
];
