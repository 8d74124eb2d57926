/** Jobs are handed out in order, each to one worker. */
import assert from 'node:assert/strict';
import { fenceOf } from '../../payload/counters';
import { cases, type CaseDefinition } from './cases';
import { completed, counted, failed, idsOf, numbered, probeWith, released, releasedForFree } from './world';

export const reserveCases: readonly CaseDefinition[] = [
  ...cases(['reserve', 'order'], {
    async 'jobs are handed out in the order in which they were pushed'(world) {
      await world.push('a', 'b', 'c');
      await world.push('d');
      await world.push('e');
      await world.handsOut('a', 'b', 'c', 'd', 'e');
    },
  }),
  ...cases(['reserve'], {
    async 'a push of more jobs than one call can move pushes all of them'(world) {
      await world.push(...numbered(250));
      world.handedOut(await world.reserveAll(), numbered(250));
    },
    async 'a push of no jobs pushes nothing'(world) {
      await world.push();
      await world.handsOut();
    },
    async 'an empty queue hands out no job and sets no time to look again'(world) {
      const { now: _now, ...reply } = await world.reserve();
      assert.deepEqual(reply, { reservations: [], setAside: [], nextIn: Infinity });
    },
    async 'a reserve hands out no more than its limit and reports that jobs are left'(world) {
      await world.push(...numbered(5));
      const { reservations, nextIn } = await world.reserve({ limit: 3 });
      assert(reservations.length >= 1 && reservations.length <= 3, `${reservations.length} of at most 3`);
      assert.equal(nextIn, 0);
      assert.equal((await world.reserveAll()).length, 5 - reservations.length);
    },
    async 'several queues are emptied strictly in the order in which they are named'(world) {
      for (const limit of [1, 4]) {
        const [high, low] = [numbered(2, `high-${limit}`), numbered(3, `low-${limit}`)];
        await world.pushTo(world.secondQueue, ...low);
        await world.pushTo(world.queue, ...high);
        const taken = await world.reserveAll({ queues: world.queues, limit });
        world.handedOut(taken, [...high, ...low]);
        const from = taken.map(({ queue }) => queue);
        assert.deepEqual(from, [...high.map(() => world.queue), ...low.map(() => world.secondQueue)]);
      }
    },
    async 'a queue that is not in the request keeps its jobs'(world) {
      await world.pushTo(world.secondQueue, ...numbered(1));
      await world.handsOut();
      assert.equal((await world.reserveAll({ queues: [world.secondQueue] })).length, 1);
    },
    async 'workers that reserve at the same time never get the same job'(world) {
      await world.push(...numbered(60));
      const replies = await world.atOnce(12, (client) => world.reserve({ limit: 5 }, client));
      const rest = await world.reserveAll();
      const ids = idsOf([...replies.flatMap((reply) => reply.reservations), ...rest]);
      assert.equal(ids.length, 60);
      assert.equal(new Set(ids).size, 60);
    },
    async 'a reservation has its queue, and its payload counts this attempt'(world) {
      const reservation = await world.hold('a');
      assert.equal(reservation.queue, world.queue);
      counted(reservation, {});
      assert.equal(reservation.payload.toString(), probeWith('"attempts":1'));
    },
    async 'a released job keeps the attempts, exceptions and timeouts that it is given back with'(world) {
      const first = await world.hold('a');
      const counters = { ...first.counters, exceptions: 2, timeouts: 1 };
      await world.settle([{ ...released(first), counters }]);
      const second = await world.reserveOne();
      counted(second, { attempts: 2, exceptions: 2, timeouts: 1 });
      assert.equal(second.payload.toString(), probeWith('"exceptions":2,"timeouts":1,"attempts":2'));
    },
  }),
  ...cases(['reserve', 'renew'], {
    async 'the fence grows by exactly 1 with every reservation, however the previous one ended'(world) {
      await world.push('a');
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
      assert.equal(texts.size, 6, 'no payload of a reservation occurs twice');
    },
  }),
  ...cases(['reserve', 'failed'], {
    async 'a job leaves its queue for good once it has completed or failed'(world) {
      const [first, second] = await world.holdAll(['a', 'b'], 60);
      await world.settle([completed(first), failed(second)]);
      await world.advance(61);
      await world.handsOut();
    },
  }),
];
