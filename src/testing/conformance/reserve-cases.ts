/** Jobs are handed out in order, each to one worker, and end once, by their holder, unless it has gone silent. */
import assert from 'node:assert/strict';
import type { Entry, FollowUp, Reservation, Settlement } from '../../connections/contract';
import { fenceOf } from '../../payload/counters';
import { isAble, type Capability } from '../../connections/driver';
import { type CaseDefinition, cases } from './harness';
import {
  cancelled,
  completed,
  counted,
  failed,
  givenBack,
  idOf,
  idsOf,
  numbered,
  probe,
  probeWith,
  released,
  releasedForFree,
  type Way,
} from './world';

const followUp = (queue: string, id: string, when: Omit<Entry, 'payload'> = {}): FollowUp => ({
  queue,
  entry: { payload: probe(id), ...when },
});

interface Ending {
  readonly name: string;
  readonly requires: readonly Capability[];
  readonly of: (reservation: Reservation) => Settlement;
}

const ENDINGS: readonly Ending[] = [
  { name: 'completed', requires: [], of: completed },
  { name: 'cancelled', requires: ['control'], of: cancelled },
  { name: 'released', requires: [], of: (reservation) => released(reservation) },
  { name: 'released with a delay', requires: ['delay'], of: (reservation) => released(reservation, 60) },
  { name: 'failed', requires: ['failed'], of: failed },
];

/** Promises that hold for both ways to settle. */
const settledBy = (way: Way): readonly CaseDefinition[] => [
  ...ENDINGS.flatMap(({ name, requires, of }) =>
    cases(['reserve', ...requires], {
      async [`a reservation that was ${name} cannot end again, and trying changes nothing (${way})`](world) {
        const reservation = await world.hold('a');
        assert.deepEqual(await world.settle([of(reservation)], way), ['settled']);
        const before = await world.state();
        for (const again of ENDINGS.filter((ending) =>
          ending.requires.every((needed) => isAble(world.connection, needed)),
        )) {
          assert.deepEqual(await world.settle([again.of(reservation)], way), ['lost'], `${again.name} after ${name}`);
        }
        assert.deepEqual(await world.state(), before);
      },
    }),
  ),
  ...cases(['reserve', 'exactCounts'], {
    async [`one settle ends more reservations than one call can move (${way})`](world) {
      await world.push(...numbered(150));
      const results = await world.settle((await world.reserveAll()).map(completed), way);
      assert.deepEqual(new Set(results), new Set(['settled']));
      assert.equal(results.length, 150);
      await world.holds({});
    },
  }),
  ...cases(['reserve', 'requeue'], {
    async [`a job released without a delay goes to the tail of its queue (${way})`](world) {
      await world.push('a', 'b');
      await world.settle([released(await world.reserveOne())], way);
      await world.handsOut('b', 'a');
    },
  }),
  ...cases(['reserve', 'order'], {
    async [`jobs that were not started go back to the head of their queue, in their order (${way})`](world) {
      await world.push(...numbered(6));
      const a = await world.reserveOne();
      const b = await world.reserveOne();
      const c = await world.reserveOne();
      const d = await world.reserveOne();
      const results = await world.settle([givenBack(a), completed(b), givenBack(c), givenBack(d)], way);
      assert.deepEqual(new Set(results), new Set(['settled']));
      const back = await world.reserveAll();
      assert.deepEqual(idsOf(back), ['probe-1', 'probe-3', 'probe-4', 'probe-5', 'probe-6']);
      for (const [index, job] of back.entries()) counted(job, { releases: index < 3 ? 1 : 0 });
    },
  }),
  ...cases(['reserve', 'failed', 'exactCounts'], {
    async [`a failed job moves from its queue to the failed store (${way})`](world) {
      await world.settle([failed(await world.hold('a'))], way);
      await world.holds({});
      const entry = await world.failedEntry('a');
      assert.equal(entry.payload.toString(), probeWith('"exceptions":1,"attempts":1'));
      assert.equal(entry.attempts, 1);
    },
  }),
  ...cases(['reserve', 'delay', 'failed'], {
    async [`one settle returns the results of many reservations in the order of the request (${way})`](world) {
      const [a, b, c, d, e, f] = await world.holdAll(['a', 'b', 'c', 'd', 'e', 'f']);
      await world.pushTo(world.secondQueue, 'other');
      const other = await world.reserveOne({ queues: [world.secondQueue] });
      await world.settle([completed(b), completed(e)]);
      const ends = [completed(a), completed(b), released(c), failed(d)];
      const moreEnds = [completed(other), failed(e), released(f, 60), completed(a)];
      const results = await world.settle([...ends, ...moreEnds], way);
      assert.deepEqual(results, ['settled', 'lost', 'settled', 'settled', 'settled', 'lost', 'settled', 'lost']);
      await world.handsOut('c');
      await world.hasFailed('d');
      await world.advance(61);
      await world.handsOut('f');
    },
  }),
  ...cases(['reserve', 'follows', 'exactCounts'], {
    async [`jobs that follow a success are pushed exactly if the success is written (${way})`](world) {
      const reservation = await world.hold('a');
      // In a cluster another queue may be on another server.
      const other = world.connection.capabilities.follows === 'queue' ? world.queue : world.secondQueue;
      const next = [followUp(world.queue, 'b'), followUp(other, 'd'), followUp(world.queue, 'c')];
      assert.deepEqual(await world.settle([{ ...completed(reservation), next }], way), ['settled']);
      assert.deepEqual(await world.settle([{ ...completed(reservation), next }], way), ['lost']);
      const ids = idsOf(await world.reserveAll({ queues: [...new Set([world.queue, other])], limit: 10 }));
      assert.deepEqual(new Set(ids), new Set(['b', 'c', 'd']));
      assert.equal(ids.length, 3);
    },
  }),
  ...cases(['reserve', 'follows', 'failed', 'exactCounts'], {
    async [`jobs that follow a failure are pushed exactly if the failure is written (${way})`](world) {
      const reservation = await world.hold('a');
      const next = [followUp(world.queue, 'b')];
      assert.deepEqual(await world.settle([{ ...failed(reservation), next }], way), ['settled']);
      await world.hasFailed('a');
      assert.deepEqual(await world.settle([{ ...failed(reservation), next }], way), ['lost']);
      await world.holds({ ready: 1 });
      await world.handsOut('b');
    },
  }),
  ...cases(['reserve', 'follows', 'delay'], {
    async [`a delayed job that follows another waits for the end of its delay (${way})`](world) {
      const next = [followUp(world.queue, 'b', { delay: 60 })];
      await world.settle([{ ...completed(await world.hold('a')), next }], way);
      assert.deepEqual((await world.reserve()).reservations, []);
      await world.advance(61);
      await world.handsOut('b');
    },
  }),
  ...cases(['reserve', 'follows', 'delay', 'exactCounts'], {
    async [`two delayed jobs with equal payloads that follow others both wait (${way})`](world) {
      const next = [followUp(world.queue, 'c', { delay: 60 })];
      const ends = (await world.holdAll(['a', 'b'])).map((reservation) => ({ ...completed(reservation), next }));
      await world.settle(ends, way);
      await world.holds({ delayed: 2 });
    },
  }),
  ...cases(['reserve', 'follows', 'delay', 'moments'], {
    async [`a job that follows another waits for its due time (${way})`](world) {
      const next = [followUp(world.queue, 'b', { dueAt: (await world.now()) + 60_000 })];
      await world.settle([{ ...completed(await world.hold('a')), next }], way);
      assert.deepEqual((await world.reserve()).reservations, []);
      await world.advance(61);
      await world.handsOut('b');
    },
  }),
  ...cases(['reserve', 'follows', 'failed'], {
    async [`each outcome in one call pushes the jobs that follow it (${way})`](world) {
      const [a, b, c] = await world.holdAll(['a', 'b', 'c']);
      const settlements = [
        { ...completed(a), next: [followUp(world.queue, 'a2'), followUp(world.queue, 'a3')] },
        completed(b),
        { ...failed(c), next: [followUp(world.queue, 'c2')] },
        { ...completed(a), next: [followUp(world.queue, 'a4')] },
      ];
      assert.deepEqual(await world.settle(settlements, way), ['settled', 'settled', 'settled', 'lost']);
      await world.handsOut('a2', 'a3', 'c2');
    },
  }),
  ...cases(['reserve'], {
    async [`settling nothing returns an empty list (${way})`](world) {
      assert.deepEqual(await world.settle([], way), []);
    },
  }),
];

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
    async 'a reserve combined with a settle can hand out the jobs that the settle released'(world) {
      await world.push('a', 'b', 'c');
      const [a, b, c, ...more] = await world.reserveAll({ limit: 2 });
      assert(a && b && c && more.length === 0, 'three jobs are handed out');
      const { results, reply } = await world.exchange([released(a), completed(b), releasedForFree(c)], 5);
      assert.deepEqual(results, ['settled', 'settled', 'settled']);
      assert.deepEqual(new Set(idsOf(reply.reservations)), new Set(idsOf([a, c])));
      for (const job of reply.reservations) counted(job, idOf(job) === idOf(a) ? { attempts: 2 } : { releases: 1 });
    },
    async 'a reserve combined with a settle hands out no more than its limit'(world) {
      await world.push(...numbered(4));
      const { results, reply } = await world.exchange([completed(await world.reserveOne())], 2);
      assert.deepEqual(results, ['settled']);
      assert.equal(reply.reservations.length, 2);
      assert.equal(reply.nextIn, 0);
    },
    async 'a reservation that two clients settle at once ends once'(world) {
      const end = [released(await world.hold('a'))];
      const results = await world.atOnce(2, (client) => world.settle(end, 'alone', client));
      assert.deepEqual(results.flat().toSorted(), ['lost', 'settled']);
      assert.equal((await world.reserveAll()).length, 1);
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
    async 'a job is not handed to another worker before its lease ends, and the reply says when to look again'(world) {
      await world.hold('a');
      await world.advance(500);
      const { reservations, nextIn } = await world.reserve({}, world.other);
      assert.deepEqual(reservations, []);
      assert(nextIn > 80 && nextIn <= 100, `its lease ends in 100 s, not in ${nextIn} s`);
    },
    async 'a job whose lease has ended is handed out again, and the crash is counted but costs no try'(world) {
      await world.hold('a', 60);
      await world.advance(61);
      const again = await world.reserveOne({ lease: 60 });
      counted(again, { crashes: 1 });
      assert.equal(again.payload.toString(), probeWith('"crashes":1,"attempts":1'));
      await world.advance(61);
      counted(await world.reserveOne(), { crashes: 2 });
    },
    async 'a holder whose lease ended cannot settle or renew the job while it waits to be handed out again'(world) {
      await world.push('a', 'b');
      const both = [await world.reserveOne({ lease: 60 }), await world.reserveOne({ lease: 60 })];
      await world.advance(61);
      const again = idOf(await world.reserveOne());
      const stale = both.find((reservation) => idOf(reservation) !== again)!;
      await world.loses(completed(stale));
      assert.deepEqual(await world.connection.renew!([stale], 600), ['lost']);
    },
    async 'an expired lease can still be renewed and settled until the job is handed to another worker'(world) {
      const [a, b, c] = await world.holdAll(['a', 'b', 'c'], 60);
      await world.advance(61);
      assert.deepEqual(await world.connection.renew!([a], 600), ['renewed']);
      await world.settles(completed(b), releasedForFree(c));
      const [again, ...more] = await world.reserveAll();
      assert.deepEqual(more, []);
      counted(again, { releases: 1 });
      await world.settles(completed(a));
    },
    async 'a renewed lease lasts past its first end, and no longer than the new one'(world) {
      const reservation = await world.hold('a');
      await world.advance(500);
      assert.deepEqual(await world.connection.renew!([reservation], 600), ['renewed']);
      await world.advance(500);
      await world.handsOut();
      await world.advance(101);
      counted(await world.reserveOne(), { crashes: 1 });
    },
    async 'one call renews leases of several queues and returns the results in the order of the request'(world) {
      const [a, b, c] = await world.holdAll(['a', 'b', 'c']);
      await world.pushTo(world.secondQueue, 'd');
      const d = await world.reserveOne({ queues: [world.secondQueue] });
      await world.settle([completed(b)]);
      assert.deepEqual(await world.connection.renew!([a, b, d, c], 60), ['renewed', 'lost', 'renewed', 'renewed']);
    },
    async 'renewing nothing returns an empty list'(world) {
      assert.deepEqual(await world.connection.renew!([], 60), []);
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
  ...settledBy('alone'),
  ...settledBy('with a reserve'),
  ...cases(['reserve', 'renew', 'requeue'], {
    async 'jobs whose leases have ended go to the head of the queue, in the order in which the leases ended'(world) {
      await world.push('c', 'a', 'b', 'waiting');
      for (const id of ['c', 'a', 'b']) assert.equal(idOf(await world.reserveOne({ lease: 60 })), id);
      await world.advance(61);
      await world.handsOut('c', 'a', 'b', 'waiting');
    },
  }),
  ...cases(['reserve', 'renew', 'delay', 'requeue'], {
    async 'jobs reserved together are all reclaimed, ahead of waiting jobs and of jobs that became due'(world) {
      await world.holdAll(['a', 'b'], 60);
      await world.push('waiting');
      await world.pushLater('due', 30);
      await world.advance(61);
      const ids = idsOf(await world.reserveAll());
      assert.deepEqual(new Set(ids.slice(0, 2)), new Set(['a', 'b']));
      assert.deepEqual(ids.slice(2), ['waiting', 'due']);
    },
  }),
  ...cases(['reserve', 'renew', 'failed'], {
    async 'a holder whose lease ended cannot complete, release, fail or renew a job that another worker now holds'(
      world,
    ) {
      const stale = await world.hold('a', 60);
      await world.advance(61);
      const holder = await world.reserveOne();
      const before = await world.state();
      for (const settlement of [completed(stale), released(stale), releasedForFree(stale), failed(stale)]) {
        assert.deepEqual(await world.settle([settlement], 'alone', world.other), ['lost'], settlement.outcome);
      }
      assert.deepEqual(await world.other.renew!([stale], 600), ['lost']);
      assert.deepEqual(await world.state(), before);
      await world.settles(completed(holder));
    },
  }),
];
