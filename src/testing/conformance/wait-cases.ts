/** Idle workers wake for new work, and never miss it. */
import assert from 'node:assert/strict';
import { cases, type CaseDefinition } from './cases';
import { idOf, idsOf, probe, released } from './world';
import type { World } from './world';

/** Seconds. Longer than a case may take, so that a wait that nobody ends fails it. */
const LONG = 30;

const never = (): AbortSignal => new AbortController().signal;

/** Reserves like a worker: while there is no job, it waits as long as the store says. */
async function firstJob(world: World, queues = [world.queue]) {
  const waiter = world.connection.waiter(queues);
  for (;;) {
    const { reservations, nextIn } = await world.reserve({ queues });
    if (reservations[0] !== undefined) return reservations[0];
    await waiter.wait(Math.min(nextIn, LONG), never());
  }
}

export const waitCases: readonly CaseDefinition[] = [
  ...cases(['reserve', 'wake'], {
    async 'a waiting worker wakes when another client pushes to any of its queues'(world) {
      const job = firstJob(world, world.queues);
      await world.other.push(world.secondQueue, [{ payload: probe('a') }]);
      assert.equal(idOf(await world.soon(job, 'a wake-up by a push to the second queue')), 'a');
    },
    async 'a push between the last reserve and the wait ends the wait'(world) {
      const waiter = world.connection.waiter([world.queue]);
      await world.handsOut();
      await world.otherPushes('a');
      await world.soon(waiter.wait(LONG, never()), 'a wait that starts after the push');
      await world.handsOut('a');
    },
    async 'each of two waiting workers gets one of two jobs'(world) {
      const jobs = Promise.all([firstJob(world), firstJob(world)]);
      await world.otherPushes('a', 'b');
      const ids = idsOf(await world.soon(jobs, 'a wake-up of both'));
      assert.deepEqual(new Set(ids), new Set(['a', 'b']));
    },
    async 'a waiting worker wakes when another worker gives a job back'(world) {
      const reservation = await world.hold('a');
      const waiter = world.connection.waiter([world.queue]);
      const wait = waiter.wait(LONG, never());
      await world.other.settle([released(reservation)]);
      await world.soon(wait, 'a wake-up by a release');
      await world.handsOut('a');
    },
    async 'a waiter can wait again after it was aborted'(world) {
      const abort = new AbortController();
      const waiter = world.connection.waiter([world.queue]);
      const first = waiter.wait(LONG, abort.signal);
      abort.abort();
      await first;
      const second = waiter.wait(LONG, never());
      await world.otherPushes('a');
      await world.soon(second, 'a wake-up after an aborted wait');
    },
  }),
  ...cases(['reserve', 'wake', 'delay'], {
    async 'a waiting worker wakes when a delayed job that another client pushed during the wait becomes due'(world) {
      const job = firstJob(world);
      await world.other.push(world.queue, [{ payload: probe('a'), delay: 0.1 }]);
      await world.advance(0.1);
      assert.equal(idOf(await world.soon(job, 'a wake-up for a delayed job')), 'a');
    },
  }),
  ...cases(['reserve', 'wake', 'failed'], {
    async 'a waiting worker wakes when a failed job is retried'(world) {
      const entry = await world.failProbe('a');
      const job = firstJob(world);
      assert.equal(await world.failedStore.retry(entry, Buffer.from(probe('again'))), true);
      assert.equal(idOf(await world.soon(job, 'a wake-up by a retry')), 'again');
    },
  }),
  ...cases(['reserve'], {
    async 'a wait ends when its time is over'(world) {
      const wait = world.connection.waiter([world.queue]).wait(0.05, never());
      await world.advance(0.05);
      await world.soon(wait, 'the end of a wait of 50 ms');
    },
    async 'a wait ends at once when it is aborted, or was aborted before it began'(world) {
      const abort = new AbortController();
      const waiter = world.connection.waiter([world.queue]);
      const wait = waiter.wait(LONG, abort.signal);
      abort.abort();
      await world.soon(wait, 'the end of an aborted wait');
      await world.soon(waiter.wait(LONG, abort.signal), 'the end of a wait that was aborted before');
    },
    async 'closing a waiter ends its wait, and it can be closed again'(world) {
      const waiter = world.connection.waiter([world.queue]);
      const wait = waiter.wait(LONG, never());
      await world.soon(Promise.all([waiter.close(), waiter.close()]), 'the close of a waiter');
      await world.soon(wait, 'the end of a wait whose waiter was closed');
      await waiter.close();
    },
  }),
];
