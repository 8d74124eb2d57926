/** Looking at a queue is exact and changes nothing. Clearing it removes waiting and running jobs, but no failed ones. */
import assert from 'node:assert/strict';
import { WAITING_STATES, type Reservation } from '../../connections/contract';
import { cases, type CaseDefinition } from './cases';
import { completed, idsOf, numbered, type World } from './world';

/** Two ready jobs, one delayed, and one reserved for ten minutes. */
async function fill(world: World): Promise<Reservation> {
  await world.push('running', 'a', 'b');
  await world.pushLater('later', 300);
  return world.reserveOne();
}

export const inspectionCases: readonly CaseDefinition[] = [
  ...cases(['reserve', 'exactCounts', 'delay'], {
    async 'the jobs of a queue are counted by state'(world) {
      await fill(world);
      await world.pushTo(world.secondQueue, ...numbered(3));
      await world.holds({ ready: 2, delayed: 1, reserved: 1 });
      await world.holds({ ready: 3 }, world.secondQueue, world.other);
    },
  }),
  ...cases(['counts'], {
    async 'an unused queue is empty'(world) {
      await world.holds({}, 'unused');
    },
  }),
  ...cases(
    ['counts'],
    {
      async 'estimated counts are integers of 0 or more'(world) {
        await world.push('a');
        const counts = await world.connection.counts(world.queue);
        for (const state of WAITING_STATES)
          assert(Number.isInteger(counts[state]) && counts[state] >= 0, `${state} is a number`);
      },
    },
    ['exactCounts'],
  ),
  ...cases(
    ['exactCounts'],
    {
      async 'a driver that hands out no jobs keeps none waiting'(world) {
        await world.push('a');
        await world.holds({});
      },
    },
    ['reserve'],
  ),
  ...cases(['reserve', 'peek', 'delay', 'order'], {
    async 'a peek shows the jobs of a state in the order in which they become ready, with their times'(world) {
      await fill(world);
      await world.pushLater('sooner', 100);
      const peeks = WAITING_STATES.map((state) => world.connection.peek(world.queue, state, 10));
      const [ready, delayed, reserved] = await Promise.all(peeks);
      assert.deepEqual(idsOf(ready!), ['a', 'b']);
      assert.deepEqual(idsOf(delayed!), ['sooner', 'later']);
      assert.deepEqual(idsOf(reserved!), ['running']);
      const [sooner, later] = delayed!;
      const apart = later!.at! - sooner!.at!;
      assert(apart > 180_000 && apart <= 200_100, `they are due 200 s apart, not ${apart} ms`);
      const leaseAfter = reserved![0]!.at! - later!.at!;
      assert(leaseAfter > 280_000 && leaseAfter < 320_000, `the lease ends 300 s later, not ${leaseAfter} ms`);
    },
  }),
  ...cases(['reserve', 'peek', 'order'], {
    async 'a peek shows no more than its limit'(world) {
      await world.push(...numbered(5));
      assert.deepEqual(idsOf(await world.connection.peek(world.queue, 'ready', 2)), ['probe-1', 'probe-2']);
    },
  }),
  ...cases(['reserve', 'peek', 'exactCounts', 'delay'], {
    async 'peeking and counting change nothing'(world) {
      const reservation = await fill(world);
      const before = await world.state();
      assert.deepEqual(await world.state(), before);
      await world.settles(completed(reservation));
      world.handedOut(await world.reserveAll(), ['a', 'b']);
    },
  }),
  ...cases(['peek'], {
    async 'a peek at an unused queue shows nothing'(world) {
      for (const state of WAITING_STATES) assert.deepEqual(await world.connection.peek('unused', state, 10), []);
    },
  }),
  ...cases(['reserve', 'clear', 'delay'], {
    async 'clearing removes ready, delayed and reserved jobs and returns their number'(world) {
      const reservation = await fill(world);
      await world.pushTo(world.secondQueue, ...numbered(1));
      assert.equal(await world.connection.clear(world.queue), 4);
      assert.equal(await world.connection.clear(world.queue), 0);
      await world.loses(completed(reservation));
      await world.advance(601);
      await world.handsOut();
      assert.equal((await world.reserveAll({ queues: [world.secondQueue] })).length, 1);
    },
  }),
  ...cases(['reserve', 'clear', 'failed'], {
    async 'clearing a queue keeps its failed jobs'(world) {
      await world.failProbe('a');
      assert.equal(await world.connection.clear(world.queue), 0);
      assert.equal(await world.failedStore.count(world.queue), 1);
    },
  }),
  ...cases(['reserve', 'clear'], {
    async 'clearing removes even more jobs than one call can, and the queue can be used again'(world) {
      await world.push(...numbered(230));
      assert.equal(await world.connection.clear(world.queue), 230);
      await world.push('b');
      await world.handsOut('b');
    },
  }),
  ...cases(['reserve', 'delay'], {
    async 'every client knows the queues that were pushed to'(world) {
      await world.push('a');
      await world.pushLater('b', 60, world.secondQueue);
      await world.reserve({ queues: ['only-looked-at'] });
      assert.deepEqual((await world.other.queues()).toSorted(), world.queues.toSorted());
    },
  }),
  ...cases(['operations', 'failed', 'control'], {
    async 'a queue is forgotten once it has no jobs, and known again after the next push'(world) {
      const { connection, queue } = world;
      if (connection.forget === undefined) return;
      assert.equal(await connection.forget(queue), false);
      await world.pushLater('a', 60);
      assert.equal(await connection.forget(queue), false);
      await world.advance(61);
      await world.failProbe('b');
      await connection.clear(queue);
      assert.equal(await connection.forget(queue), false);
      await world.failedStore.flush(queue);
      await world.control.pause(queue);
      assert.deepEqual(await connection.queues(), [queue]);
      assert.equal(await connection.forget(queue), true);
      assert.equal(await connection.forget(queue), false);
      assert.deepEqual([await world.other.queues(), await world.control.paused()], [[], []]);
      await world.push('c');
      assert.deepEqual(await world.other.queues(), [queue]);
      await world.handsOut('c');
    },
  }),
];
