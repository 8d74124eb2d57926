/** The order in which jobs are handed out, and that each is handed to one worker alone. */
import assert from 'node:assert/strict';
import type { CaseDefinition } from './harness';
import { completed, failed, fenceOf, idsOf, probe, probes, released, releasedForFree } from './world';

export const reserveCases: readonly CaseDefinition[] = [
  {
    name: 'jobs come out in the order in which they went in',
    requires: ['reserve', 'order'],
    async run(world) {
      await world.push(probe('a'), probe('b'), probe('c'));
      await world.push(probe('d'));
      await world.push(probe('e'));
      assert.deepEqual(idsOf(await world.reserveAll()), ['a', 'b', 'c', 'd', 'e']);
    },
  },
  {
    name: 'a push of more jobs than one call moves puts in all of them',
    requires: ['reserve'],
    async run(world) {
      await world.push(...probes(250));
      const ids = Array.from({ length: 250 }, (_, index) => `probe-${index + 1}`);
      world.handedOut(await world.reserveAll(), ids);
    },
  },
  {
    name: 'a push of nothing puts in nothing',
    requires: ['reserve'],
    async run(world) {
      await world.push();
      assert.deepEqual(await world.reserveAll(), []);
    },
  },
  {
    name: 'an empty queue gives no job, and no moment to look again',
    requires: ['reserve'],
    async run(world) {
      const { now: _now, ...reply } = await world.reserve();
      assert.deepEqual(reply, { reservations: [], setAside: [], nextIn: Infinity });
    },
  },
  {
    name: 'a reserve hands out no more than its limit, and says that jobs are left',
    requires: ['reserve'],
    async run(world) {
      await world.push(...probes(5));
      const { reservations, nextIn } = await world.reserve({ limit: 3 });
      assert(reservations.length >= 1 && reservations.length <= 3, `${reservations.length} of at most 3`);
      assert.equal(nextIn, 0);
      assert.equal((await world.reserveAll()).length, 5 - reservations.length);
    },
  },
  {
    name: 'several queues are emptied strictly in the order in which they are named',
    requires: ['reserve'],
    async run(world) {
      await world.pushTo(world.secondQueue, probes(3, 'low'));
      await world.pushTo(world.queue, probes(2, 'high'));
      const queues = [world.queue, world.secondQueue];
      const taken = await world.reserveAll({ queues, limit: 1 });
      world.handedOut(taken, ['high-1', 'high-2', 'low-1', 'low-2', 'low-3']);
      assert.deepEqual(
        taken.map(({ queue }) => queue),
        [world.queue, world.queue, world.secondQueue, world.secondQueue, world.secondQueue],
      );
    },
  },
  {
    name: 'one reserve may take from several queues, the first named first',
    requires: ['reserve'],
    async run(world) {
      await world.pushTo(world.secondQueue, probes(3, 'low'));
      await world.pushTo(world.queue, probes(2, 'high'));
      const taken = await world.reserveAll({ queues: [world.queue, world.secondQueue], limit: 4 });
      world.handedOut(taken, ['high-1', 'high-2', 'low-1', 'low-2', 'low-3']);
      assert.deepEqual(new Set(taken.slice(0, 2).map(({ queue }) => queue)), new Set([world.queue]));
    },
  },
  {
    name: 'a queue that was not asked for keeps its jobs',
    requires: ['reserve'],
    async run(world) {
      await world.pushTo(world.secondQueue, probes(1));
      assert.deepEqual(await world.reserveAll(), []);
      assert.equal((await world.reserveAll({ queues: [world.secondQueue] })).length, 1);
    },
  },
  {
    name: 'a reserved job is hidden from every other worker',
    requires: ['reserve'],
    async run(world) {
      await world.push(probe('a'));
      await world.reserveOne();
      const { reservations, nextIn } = await world.reserve({}, world.other);
      assert.deepEqual(reservations, []);
      assert(nextIn > 0, 'nothing can be had now');
    },
  },
  {
    name: 'workers that reserve at the same time share the jobs: each goes to one of them',
    requires: ['reserve'],
    async run(world) {
      await world.push(...probes(60));
      const replies = await Promise.all(
        Array.from({ length: 12 }, (_, index) =>
          world.reserve({ limit: 5 }, index % 2 === 0 ? world.connection : world.other),
        ),
      );
      const rest = await world.reserveAll();
      const ids = idsOf([...replies.flatMap((reply) => reply.reservations), ...rest]);
      assert.equal(ids.length, 60);
      assert.equal(new Set(ids).size, 60);
    },
  },
  {
    name: 'a reservation carries its queue, and its text with this attempt counted',
    requires: ['reserve'],
    async run(world) {
      await world.push(probe('a'));
      const reservation = await world.reserveOne();
      assert.equal(reservation.queue, world.queue);
      assert.deepEqual(reservation.counters, { attempts: 1, crashes: 0, exceptions: 0, timeouts: 0, releases: 0 });
      assert.equal(reservation.payload.toString(), probe('a').replace('"attempts":0', '"attempts":1'));
    },
  },
  {
    name: 'a released job keeps the tries, exceptions and timeouts that it is given back with',
    requires: ['reserve'],
    async run(world) {
      await world.push(probe('a'));
      const first = await world.reserveOne();
      const counters = { ...first.counters, exceptions: 2, timeouts: 1 };
      await world.settle([{ outcome: 'released', reservation: first, delay: 0, counters }]);
      const second = await world.reserveOne();
      assert.deepEqual(second.counters, { attempts: 2, crashes: 0, exceptions: 2, timeouts: 1, releases: 0 });
      const tail = '"exceptions":2,"timeouts":1,"attempts":2';
      assert.equal(second.payload.toString(), probe('a').replace('"attempts":0', tail));
    },
  },
  {
    name: 'a free release gives the try back and is counted apart',
    requires: ['reserve'],
    async run(world) {
      await world.push(probe('a'));
      await world.settle([releasedForFree(await world.reserveOne())]);
      const again = await world.reserveOne();
      assert.deepEqual(again.counters, { attempts: 1, crashes: 0, exceptions: 0, timeouts: 0, releases: 1 });
    },
  },
  {
    name: 'the fence grows by exactly 1 with every reservation, however the one before ended',
    requires: ['reserve', 'renew'],
    async run(world) {
      await world.push(probe('a'));
      const fences: number[] = [];
      const texts = new Set<string>();
      for (const end of ['released', 'free', 'crash', 'released', 'crash', 'free'] as const) {
        const reservation = await world.reserveOne({ lease: 60 });
        fences.push(fenceOf(reservation.counters));
        texts.add(reservation.payload.toString());
        if (end === 'released') await world.settle([released(reservation)]);
        else if (end === 'free') await world.settle([releasedForFree(reservation)]);
        else await world.advance(61);
      }
      assert.deepEqual(fences, [1, 2, 3, 4, 5, 6]);
      assert.equal(texts.size, 6, 'no text of a reservation returns');
    },
  },
  {
    name: 'a job leaves its queue for good once it has completed or failed',
    requires: ['reserve', 'failed'],
    async run(world) {
      await world.push(probe('a'), probe('b'));
      const [first, second] = await world.reserveAll({ lease: 60 });
      assert(first !== undefined && second !== undefined, 'both are handed out');
      await world.settle([completed(first), failed(second)]);
      await world.advance(61);
      assert.deepEqual(await world.reserveAll(), []);
    },
  },
];
