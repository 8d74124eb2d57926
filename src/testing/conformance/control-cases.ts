/** Orders to pause a queue or to restart reach every worker through the store. */
import assert from 'node:assert/strict';
import { cases, type CaseDefinition } from './cases';
import { completed, idsOf, isToRun, released } from './world';

export const controlCases: readonly CaseDefinition[] = [
  ...cases(['reserve', 'delay', 'control'], {
    async 'a paused queue hands out nothing, and after a resume hands out every job'(world) {
      await world.push('a');
      await world.pushLater('later', 60);
      assert.equal(await world.control.pause(world.queue), true);
      await world.push('b');
      await world.advance(61);
      const { reservations, paused } = await world.reserve({ limit: 10 });
      assert.deepEqual([reservations, paused], [[], [world.queue]]);
      assert.equal(await world.control.resume(world.queue), true);
      const ids = idsOf(await world.reserveAll());
      assert.deepEqual(new Set(ids), new Set(['a', 'b', 'later']));
      assert.equal(ids.length, 3);
    },
  }),
  ...cases(['reserve', 'control'], {
    async 'every client sees a pause and a resume in its next reserve'(world) {
      await world.push('a');
      await world.reserve({ queues: [world.secondQueue] }, world.other);
      await world.control.pause(world.queue);
      const reply = await world.reserve({}, world.other);
      assert.deepEqual([reply.reservations, reply.paused], [[], [world.queue]]);
      assert.deepEqual((await world.exchange([], 1)).reply.paused, [world.queue]);
      assert.deepEqual(await world.otherControl.paused(), [{ queue: world.queue }]);
      await world.control.resume(world.queue);
      const after = await world.reserve({}, world.other);
      assert.deepEqual([idsOf(after.reservations), after.paused ?? []], [['a'], []]);
    },
    async 'a reserve still serves the other queues while one of them is paused'(world) {
      await world.push('a');
      await world.pushTo(world.secondQueue, 'b');
      await world.control.pause(world.queue);
      const { reservations, paused, nextIn } = await world.reserve({ queues: world.queues });
      assert.deepEqual([idsOf(reservations), paused], [['b'], [world.queue]]);
      assert.equal(nextIn > 0, true, 'a paused queue is no reason to look again now');
    },
    async 'a job in a paused queue can be cancelled'(world) {
      await world.push('a', 'b');
      await world.control.pause(world.queue);
      assert.match(await world.control.cancel('a'), /^(removed|marked)$/);
      await world.control.resume(world.queue);
      assert.deepEqual(idsOf((await world.reserveAll()).filter(isToRun)), ['b']);
    },
    async 'a timed pause reports its end and ends by itself, even if nobody looks in the meantime'(world) {
      await world.push('a');
      await world.pushTo(world.secondQueue, 'b');
      const began = await world.now();
      assert.equal(await world.control.pause(world.queue, 600), true);
      await world.control.pause(world.secondQueue);
      const [pause] = (await world.otherControl.paused()).filter(({ queue }) => queue === world.queue);
      const seconds = ((pause?.until ?? 0) - began) / 1000;
      assert(seconds > 595 && seconds < 660, `the pause ends in 600 s, not in ${seconds} s`);
      const { reservations, paused, nextIn } = await world.reserve({ queues: world.queues });
      assert.deepEqual([reservations, paused], [[], world.queues]);
      assert(nextIn > 540 && nextIn <= 600, `the time to look again is in 600 s, not in ${nextIn} s`);
      await world.advance(601);
      assert.deepEqual(await world.otherControl.paused(), [{ queue: world.secondQueue }]);
      assert.equal(await world.control.resume(world.queue), false, 'the queue is not paused any more');
      assert.equal(await world.control.pause(world.queue, 600), true);
      await world.advance(601);
      const after = await world.reserve({}, world.other);
      assert.deepEqual([idsOf(after.reservations), after.paused ?? []], [['a'], []]);
      assert.deepEqual(await world.control.paused(), [{ queue: world.secondQueue }]);
    },
    async 'the last call decides how long a queue is paused'(world) {
      const { control, queue } = world;
      await world.push('a');
      await control.pause(queue, 60);
      assert.equal(await control.pause(queue), false);
      await world.advance(61);
      assert.deepEqual(await control.paused(), [{ queue }], 'it stays paused until it is resumed');
      await world.handsOut();
      assert.equal(await control.pause(queue, 60), false);
      await world.advance(30);
      assert.equal(await control.pause(queue, 60), false);
      await world.advance(40);
      assert.deepEqual((await world.reserve()).paused, [queue], 'the second pause extends the first');
      assert.equal(await control.resume(queue), true);
      await control.pause(queue);
      await world.advance(61);
      assert.deepEqual((await world.reserve()).paused, [queue], 'an end from before the resume is forgotten');
      await control.pause(queue, 60);
      await world.advance(61);
      await world.handsOut('a');
    },
    async 'after a restart every reserve of every client reports the same restart, and before the first one none'(
      world,
    ) {
      await world.push('a');
      for (const { restart } of [await world.reserve(), await world.reserve()]) assert.equal(restart, undefined);
      const restarts = async (): Promise<ReadonlySet<string | undefined>> => {
        const empty = await world.reserve({}, world.other);
        await world.push('a');
        const full = await world.reserve();
        const { reply } = await world.exchange(full.reservations.map(completed), 1);
        const again = await world.reserve();
        return new Set([empty.restart, full.restart, reply.restart, again.restart]);
      };
      await world.control.restart();
      const [first, ...others] = await restarts();
      assert.equal(typeof first, 'string');
      assert.deepEqual(others, [], 'all report the same restart');
      await world.otherControl.restart();
      const [second, ...more] = await restarts();
      assert.deepEqual(more, [], 'all report the same restart');
      assert.notEqual(second, first);
    },
  }),
  ...cases(['reserve', 'delay', 'renew', 'control'], {
    async 'jobs in a paused queue do not set a time to look again'(world) {
      await world.push('held', 'ready');
      await world.reserveOne({ lease: 30 });
      await world.pushLater('later', 60);
      await world.pushLater('b', 300, world.secondQueue);
      await world.control.pause(world.queue);
      assert.equal((await world.reserve()).nextIn, Infinity);
      const { nextIn } = await world.reserve({ queues: world.queues });
      assert(nextIn > 280 && nextIn <= 300, `the other queue has a job in 300 s, not in ${nextIn} s`);
    },
  }),
  ...cases(['reserve', 'renew', 'control'], {
    async 'running jobs can be renewed, given back and completed while their queue is paused'(world) {
      const [a, b] = await world.holdAll(['a', 'b']);
      await world.control.pause(world.queue);
      assert.deepEqual(await world.connection.renew([a, b], 600), ['renewed', 'renewed']);
      const { results, reply } = await world.exchange([completed(a), released(b)], 5);
      assert.deepEqual(results, ['settled', 'settled']);
      assert.deepEqual(reply.reservations, []);
      await world.control.resume(world.queue);
      await world.handsOut('b');
    },
    async 'a job whose lease ends in a paused queue is kept, and runs again after the pause'(world) {
      await world.hold('a', 60);
      await world.control.pause(world.queue);
      await world.advance(61);
      await world.handsOut();
      await world.control.resume(world.queue);
      assert.equal((await world.reserveOne()).counters.crashes, 1);
    },
  }),
  ...cases(['control'], {
    async 'pausing and resuming report whether they changed anything, and paused queues are listed in order'(world) {
      const { control } = world;
      assert.deepEqual(await control.paused(), []);
      assert.equal(await control.resume('b'), false);
      for (const queue of ['b', 'c', 'a']) assert.equal(await control.pause(queue), true);
      assert.equal(await control.pause('b'), false);
      assert.deepEqual(await control.paused(), [{ queue: 'a' }, { queue: 'b' }, { queue: 'c' }]);
      assert.equal(await control.resume('b'), true);
      assert.equal(await control.resume('b'), false);
      assert.deepEqual(await control.paused(), [{ queue: 'a' }, { queue: 'c' }]);
    },
    async 'a pause that is over is not listed any more'(world) {
      await world.control.pause('a', 60);
      await world.control.pause('b');
      await world.advance(61);
      assert.deepEqual(await world.control.paused(), [{ queue: 'b' }]);
      assert.deepEqual(await world.control.paused(), [{ queue: 'b' }]);
    },
    async 'pausing a queue does not list it among the queues pushed to'(world) {
      await world.control.pause('never-pushed-to');
      assert.deepEqual(await world.connection.queues(), []);
    },
  }),
  ...cases(['reserve', 'control'], {
    async 'a waiting worker wakes when its queue is resumed by another client'(world) {
      await world.push('a');
      await world.control.pause(world.queue);
      await world.handsOut();
      const wait = world.wait();
      await world.otherControl.resume(world.queue);
      await world.soon(wait, 'a wake-up by a resume');
      await world.handsOut('a');
    },
  }),
];
