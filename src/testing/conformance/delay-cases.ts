/** Jobs that wait for a moment: never early, then in order. */
import assert from 'node:assert/strict';
import type { CaseDefinition } from './harness';
import type { Settlement } from '../../connections/contract';
import { completed, idOf, idsOf, probe, probes, rejectsWithCode, released } from './world';

/** How many of them a page of one call cannot move alone. */
const MANY = 230;

export const delayCases: readonly CaseDefinition[] = [
  {
    name: 'a delayed job is not handed out before its moment, and says when to look again',
    requires: ['reserve', 'delay'],
    async run(world) {
      await world.pushLater(probe('a'), 600);
      await world.advance(500);
      const { reservations, nextIn } = await world.reserve();
      assert.deepEqual(reservations, []);
      assert(nextIn > 80 && nextIn <= 100, `it is due in 100 s, not in ${nextIn} s`);
    },
  },
  {
    name: 'a delayed job is handed out from its moment on',
    requires: ['reserve', 'delay'],
    async run(world) {
      await world.pushLater(probe('a'), 600);
      await world.advance(601);
      assert.equal(idOf(await world.reserveOne()), 'a');
      assert.deepEqual(await world.reserveAll(), []);
    },
  },
  {
    name: 'the moment to look again is the earliest of all queues that were asked for',
    requires: ['reserve', 'delay', 'renew'],
    async run(world) {
      const queues = ['first', 'second', 'third'];
      await world.connection.push('first', [{ payload: probe('a'), delay: 600 }]);
      await world.connection.push('second', [{ payload: probe('b'), delay: 300 }]);
      await world.pushTo('third', [probe('c')]);
      await world.reserveOne({ queues: ['third'], lease: 450 });
      const { nextIn } = await world.reserve({ queues });
      assert(nextIn > 280 && nextIn <= 300, `the second queue has a job in 300 s, not in ${nextIn} s`);
      await world.advance(301);
      await world.reserveOne({ queues });
      const later = await world.reserve({ queues });
      assert(later.nextIn > 130 && later.nextIn <= 149, `a lease ends in 149 s, not in ${later.nextIn} s`);
    },
  },
  {
    name: 'a fraction of a second is part of a delay',
    requires: ['reserve', 'delay', 'peek'],
    async run(world) {
      const entries = [100.25, 100.75].map((delay) => ({ payload: probe(`in-${delay}-s`), delay }));
      await world.connection.push(world.queue, entries);
      const [first, second] = await world.connection.peek(world.queue, 'delayed', 2);
      const apart = second!.at! - first!.at!;
      assert(apart >= 499 && apart <= 501, `they are due 500 ms apart, not ${apart}`);
    },
  },
  {
    name: 'a moment is judged by the clock of the store, not by that of who pushes: never before it, and from it on',
    requires: ['reserve', 'moments'],
    async run(world) {
      const now = await world.now();
      await world.connection.push(world.queue, [{ payload: probe('a'), dueAt: now + 600_000 }]);
      await world.advance(500);
      const { reservations, nextIn } = await world.reserve();
      assert.deepEqual(reservations, []);
      assert(nextIn > 80 && nextIn <= 100.01, `it is due in 100 s, not in ${nextIn} s`);
      await world.advance(101);
      assert.equal(idOf(await world.reserveOne()), 'a');
    },
  },
  {
    name: 'a moment is kept to the millisecond, and one that has passed makes a job ready at once',
    requires: ['reserve', 'moments', 'peek'],
    async run(world) {
      const now = Math.round(await world.now());
      const moments = [now + 600_250, now + 600_750];
      const entries = moments.map((dueAt) => ({ payload: probe(`at-${dueAt}`), dueAt }));
      await world.connection.push(world.queue, [...entries, { payload: probe('passed'), dueAt: now - 3_600_000 }]);
      const waiting = await world.connection.peek(world.queue, 'delayed', 10);
      assert.deepEqual(
        waiting.filter(({ at }) => at! > now).map(({ at }) => at),
        moments,
      );
      assert.deepEqual(idsOf(await world.reserveAll()), ['passed']);
    },
  },
  {
    name: 'a job that is given back until a moment comes up at that moment, by the clock of the store',
    requires: ['reserve', 'moments'],
    async run(world) {
      await world.push(probe('a'));
      const dueAt = (await world.now()) + 600_000;
      // What a holder makes of it by a clock that is off.
      const given: Settlement = Object.assign(released(await world.reserveOne(), 5), { dueAt });
      assert.deepEqual(await world.settle([given]), ['settled']);
      await world.advance(599);
      assert.deepEqual(await world.reserveAll(), []);
      await world.advance(1.5);
      assert.equal(idOf(await world.reserveOne()), 'a');
    },
  },
  {
    name: 'a reply says what time it is for the store',
    requires: ['reserve', 'moments'],
    async run(world) {
      await world.push(probe('a'));
      const before = await world.now();
      const told = (await world.reserve()).now!;
      await world.advance(600);
      const later = (await world.settleAndReserve([], 1)).reply.now!;
      assert(told >= before - 1000 && told < before + 20_000, `it was ${before}, and the reply says ${told}`);
      assert(later - told >= 600_000 && later - told < 620_000, `600 s later it says ${later - told} ms later`);
    },
  },
  {
    name: 'a delay of 0 or less is none',
    requires: ['reserve', 'delay'],
    async run(world) {
      await world.pushLater(probe('a'), 0);
      await world.pushLater(probe('b'), -5);
      world.handedOut(await world.reserveAll(), ['a', 'b']);
    },
  },
  {
    name: 'delayed jobs come up in the order of their moments',
    requires: ['reserve', 'delay', 'requeue'],
    async run(world) {
      await world.pushLater(probe('third'), 300);
      await world.pushLater(probe('first'), 100);
      await world.pushLater(probe('second'), 200);
      await world.advance(400);
      assert.deepEqual(idsOf(await world.reserveAll()), ['first', 'second', 'third']);
    },
  },
  {
    name: 'jobs that one push delays alike come up in the order in which they were pushed',
    requires: ['reserve', 'delay', 'order'],
    async run(world) {
      const entries = ['c', 'a', 'b'].map((id) => ({ payload: probe(id), delay: 60 }));
      await world.connection.push(world.queue, entries);
      await world.advance(61);
      assert.deepEqual(idsOf(await world.reserveAll()), ['c', 'a', 'b']);
    },
  },
  {
    name: 'one push may hold jobs that are ready and jobs that wait',
    requires: ['reserve', 'delay'],
    async run(world) {
      const entries = [{ payload: probe('a'), delay: 60 }, { payload: probe('b') }, { payload: probe('c') }];
      await world.connection.push(world.queue, entries);
      world.handedOut(await world.reserveAll(), ['b', 'c']);
      await world.advance(61);
      assert.deepEqual(idsOf(await world.reserveAll()), ['a']);
    },
  },
  {
    name: 'a job that becomes due stands behind those that are ready already',
    requires: ['reserve', 'delay', 'requeue'],
    async run(world) {
      await world.pushLater(probe('late'), 60);
      await world.push(probe('a'), probe('b'));
      await world.advance(61);
      assert.deepEqual(idsOf(await world.reserveAll()), ['a', 'b', 'late']);
    },
  },
  {
    name: 'of many jobs due at once each is handed out, once',
    requires: ['reserve', 'delay'],
    async run(world) {
      const entries = probes(MANY).map((payload) => ({ payload, delay: 60 }));
      await world.connection.push(world.queue, entries);
      await world.advance(61);
      const ids = idsOf(await world.reserveAll());
      assert.equal(ids.length, MANY);
      assert.equal(new Set(ids).size, MANY);
    },
  },
  {
    name: 'a delayed job of a lower queue becomes ready although higher queues are never empty',
    requires: ['reserve', 'delay', 'exactCounts', 'order'],
    async run(world) {
      await world.connection.push(world.secondQueue, [{ payload: probe('low'), delay: 60 }]);
      await world.push(...probes(5));
      await world.advance(61);
      const { reservations } = await world.reserve({ queues: [world.queue, world.secondQueue] });
      assert.deepEqual(idsOf(reservations), ['probe-1']);
      assert.deepEqual(await world.connection.counts(world.secondQueue), { ready: 1, delayed: 0, reserved: 0 });
    },
  },
  {
    name: 'a text that must be unique is refused while it waits as delayed, and nothing changes',
    requires: ['reserve', 'delay'],
    async run(world) {
      await world.pushLater(probe('a'), 60, { unique: true });
      const before = await world.state();
      await rejectsWithCode(
        () => world.pushLater(probe('a'), 900, { unique: true }),
        'E_DUPLICATE_PAYLOAD',
        'a text that waits already',
      );
      assert.deepEqual(await world.state(), before);
      await world.advance(61);
      assert.deepEqual(idsOf(await world.reserveAll()), ['a']);
    },
  },
  {
    name: 'a text that must be unique may wait again once the first has become ready',
    requires: ['reserve', 'delay'],
    async run(world) {
      await world.pushLater(probe('a'), 60, { unique: true });
      await world.advance(61);
      await world.settle([completed(await world.reserveOne())]);
      await world.pushLater(probe('a'), 60, { unique: true });
      await world.advance(61);
      assert.equal(idOf(await world.reserveOne()), 'a');
    },
  },
  {
    name: 'a job released with a delay waits for it',
    requires: ['reserve', 'delay'],
    async run(world) {
      await world.push(probe('a'));
      await world.settle([released(await world.reserveOne(), 600)]);
      await world.advance(500);
      assert.deepEqual((await world.reserve()).reservations, []);
      await world.advance(101);
      assert.equal(idOf(await world.reserveOne()), 'a');
    },
  },
];
