/** A call that waits is answered when there is work, and never misses it. */
import assert from 'node:assert/strict';
import { cases, type CaseDefinition } from './cases';
import { idOf, idsOf, probe, released } from './world';
import type { World } from './world';

/** Reserves like a worker: while there is no job, it waits as long as the store says. */
async function firstJob(world: World, queues = [world.queue]) {
  let within: number | undefined;
  for (;;) {
    const { reservations, nextIn } = await world.reserve({ queues, within });
    if (reservations[0] !== undefined) return reservations[0];
    within = Math.min(nextIn, 30);
  }
}

export const waitCases: readonly CaseDefinition[] = [
  ...cases(['reserve'], {
    async 'a waiting call brings the job that another client pushes to any of its queues'(world) {
      const job = firstJob(world, world.queues);
      await world.other.push(world.secondQueue, [{ payload: probe('a') }]);
      assert.equal(idOf(await world.soon(job, 'a job that was pushed to the second queue')), 'a');
    },
    async 'a push between the last reserve and the wait ends the wait'(world) {
      await world.handsOut();
      await world.otherPushes('a');
      await world.soon(world.wait(), 'a wait that starts after the push');
      await world.handsOut('a');
    },
    async 'a call that only waits hands out nothing'(world) {
      await world.push('a');
      const { reservations } = await world.soon(world.wait(), 'a wait while a job is ready');
      assert.deepEqual(reservations, []);
      await world.handsOut('a');
    },
    async 'each of two waiting workers gets one of two jobs'(world) {
      const jobs = Promise.all([firstJob(world), firstJob(world)]);
      await world.otherPushes('a', 'b');
      const ids = idsOf(await world.soon(jobs, 'a job for both'));
      assert.deepEqual(new Set(ids), new Set(['a', 'b']));
    },
    async 'a wait ends when another worker gives a job back'(world) {
      const reservation = await world.hold('a');
      const job = firstJob(world);
      await world.settle([released(reservation)], 'alone', world.other);
      assert.equal(idOf(await world.soon(job, 'a job that was released')), 'a');
    },
    async 'a wait goes well after one that was aborted'(world) {
      const abort = new AbortController();
      const first = world.wait({ signal: abort.signal });
      abort.abort();
      await first;
      const job = firstJob(world);
      await world.otherPushes('a');
      assert.equal(idOf(await world.soon(job, 'a job after an aborted wait')), 'a');
    },
    async 'a wait ends when its time is over'(world) {
      const wait = world.wait({ within: 0.05 });
      await world.advance(0.05);
      await world.soon(wait, 'the end of a wait of 50 ms');
    },
    async 'a wait ends at once when it is aborted, or was aborted before it began'(world) {
      const abort = new AbortController();
      const wait = world.wait({ signal: abort.signal });
      abort.abort();
      await world.soon(wait, 'the end of an aborted wait');
      await world.soon(world.wait({ signal: abort.signal }), 'the end of a wait that was aborted before');
    },
    async 'a job that comes while a wait is aborted is handed out, by the wait or later'(world) {
      const abort = new AbortController();
      const wait = world.wait({ limit: 1, signal: abort.signal });
      await world.otherPushes('a');
      abort.abort();
      const { reservations } = await world.soon(wait, 'the end of an aborted wait');
      const job = reservations[0] ?? (await world.soon(firstJob(world), 'a job that the wait did not bring'));
      assert.equal(idOf(job), 'a');
    },
  }),
  ...cases(['reserve', 'delay'], {
    async 'a waiting call brings a delayed job that another client pushed during the wait'(world) {
      const job = firstJob(world);
      await world.other.push(world.queue, [{ payload: probe('a'), delay: 0.1 }]);
      await world.advance(0.1);
      assert.equal(idOf(await world.soon(job, 'a delayed job')), 'a');
    },
  }),
  ...cases(['reserve', 'failed'], {
    async 'a waiting call brings a failed job that is retried'(world) {
      const entry = await world.failProbe('a');
      const job = firstJob(world);
      assert.equal(await world.failedStore.retry(entry, Buffer.from(probe('again'))), true);
      assert.equal(idOf(await world.soon(job, 'a retried job')), 'again');
    },
  }),
];
