/** Looking at a queue is exact and changes nothing; clearing it takes what waits and runs, and no failed job. */
import assert from 'node:assert/strict';
import type { CaseDefinition } from './harness';
import { completed, idsOf, probe, probes, STATES } from './world';
import type { World } from './world';

/** Two ready, one delayed, one reserved for ten minutes. */
async function fill(world: World) {
  await world.push(probe('running'), probe('a'), probe('b'));
  await world.pushLater(probe('later'), 300);
  return world.reserveOne({ lease: 600 });
}

export const inspectionCases: readonly CaseDefinition[] = [
  {
    name: 'the jobs of a queue are counted by state',
    requires: ['reserve', 'exactCounts', 'delay'],
    async run(world) {
      await fill(world);
      await world.pushTo(world.secondQueue, probes(3));
      assert.deepEqual(await world.connection.counts(world.queue), { ready: 2, delayed: 1, reserved: 1 });
      assert.deepEqual(await world.other.counts(world.secondQueue), { ready: 3, delayed: 0, reserved: 0 });
    },
  },
  {
    name: 'a queue that nobody used is empty',
    requires: ['counts'],
    async run(world) {
      assert.deepEqual(await world.connection.counts('unused'), { ready: 0, delayed: 0, reserved: 0 });
    },
  },
  {
    name: 'estimates of the jobs of a queue are numbers from 0 on',
    requires: ['counts'],
    lacks: ['exactCounts'],
    async run(world) {
      await world.push(probe('a'));
      const counts = await world.connection.counts(world.queue);
      for (const state of STATES) assert(Number.isInteger(counts[state]) && counts[state] >= 0, `${state} is a number`);
    },
  },
  {
    name: 'a driver that hands out no jobs keeps none waiting',
    requires: ['exactCounts'],
    lacks: ['reserve'],
    async run(world) {
      await world.push(probe('a'));
      assert.deepEqual(await world.connection.counts(world.queue), { ready: 0, delayed: 0, reserved: 0 });
    },
  },
  {
    name: 'a peek shows the jobs of a state in the order in which they come up, and when',
    requires: ['reserve', 'peek', 'delay', 'order'],
    async run(world) {
      const { connection, queue } = world;
      await fill(world);
      await world.pushLater(probe('sooner'), 100);
      const [ready, delayed, reserved] = await Promise.all(STATES.map((state) => connection.peek(queue, state, 10)));
      assert.deepEqual(idsOf(ready!), ['a', 'b']);
      assert.deepEqual(idsOf(delayed!), ['sooner', 'later']);
      assert.deepEqual(idsOf(reserved!), ['running']);
      const [sooner, later] = delayed!;
      const apart = later!.at! - sooner!.at!;
      assert(apart > 180_000 && apart <= 200_100, `they are due 200 s apart, not ${apart} ms`);
      const leaseAfter = reserved![0]!.at! - later!.at!;
      assert(leaseAfter > 280_000 && leaseAfter < 320_000, `the lease ends 300 s later, not ${leaseAfter} ms`);
    },
  },
  {
    name: 'a peek shows no more than its limit',
    requires: ['reserve', 'peek', 'order'],
    async run(world) {
      await world.push(...probes(5));
      assert.deepEqual(idsOf(await world.connection.peek(world.queue, 'ready', 2)), ['probe-1', 'probe-2']);
    },
  },
  {
    name: 'looking changes nothing',
    requires: ['reserve', 'peek', 'exactCounts', 'delay'],
    async run(world) {
      const reservation = await fill(world);
      const before = await world.state();
      assert.deepEqual(await world.state(), before);
      assert.deepEqual(await world.settle([completed(reservation)]), ['settled']);
      world.handedOut(await world.reserveAll(), ['a', 'b']);
    },
  },
  {
    name: 'a peek shows nothing of a queue that nobody used',
    requires: ['peek'],
    async run(world) {
      for (const state of STATES) assert.deepEqual(await world.connection.peek('unused', state, 10), []);
    },
  },
  {
    name: 'clearing removes what is ready, delayed and reserved, and says how many',
    requires: ['reserve', 'clear', 'delay'],
    async run(world) {
      const reservation = await fill(world);
      await world.pushTo(world.secondQueue, probes(1));
      assert.equal(await world.connection.clear(world.queue), 4);
      assert.equal(await world.connection.clear(world.queue), 0);
      assert.deepEqual(await world.settle([completed(reservation)]), ['lost']);
      await world.advance(601);
      assert.deepEqual(await world.reserveAll(), []);
      assert.equal((await world.reserveAll({ queues: [world.secondQueue] })).length, 1);
    },
  },
  {
    name: 'clearing leaves the failed jobs',
    requires: ['reserve', 'clear', 'failed'],
    async run(world) {
      await world.failProbe('a');
      assert.equal(await world.connection.clear(world.queue), 0);
      assert.equal(await world.failedStore.count(world.queue), 1);
    },
  },
  {
    name: 'clearing removes also what takes several calls',
    requires: ['reserve', 'clear'],
    async run(world) {
      await world.push(...probes(230));
      assert.equal(await world.connection.clear(world.queue), 230);
      assert.deepEqual(await world.reserveAll(), []);
    },
  },
  {
    name: 'a cleared queue can be used again',
    requires: ['reserve', 'clear'],
    async run(world) {
      await world.push(probe('a'));
      await world.connection.clear(world.queue);
      await world.push(probe('b'));
      assert.deepEqual(idsOf(await world.reserveAll()), ['b']);
    },
  },
  {
    name: 'the queues that were pushed to are known, to every client',
    requires: ['reserve', 'delay'],
    async run(world) {
      await world.push(probe('a'));
      await world.connection.push(world.secondQueue, [{ payload: probe('b'), delay: 60 }]);
      await world.reserve({ queues: ['only-looked-at'] });
      const known = (await world.other.queues()).toSorted();
      assert.deepEqual(known, [world.secondQueue, world.queue].toSorted());
    },
  },
  {
    name: 'a diagnosis is some lines for people',
    requires: [],
    async run(world) {
      for (const { level, subject, message } of await world.connection.diagnose()) {
        assert(['ok', 'warning', 'error'].includes(level), `${level} is a level`);
        assert(subject.length > 0 && message.length > 0, 'a line has a subject and a message');
      }
    },
  },
];
