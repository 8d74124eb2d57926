/** Reservations end once and by their holder, whether one or many are settled in a call. */
import assert from 'node:assert/strict';
import type { Entry, FollowUp, Reservation, Settlement } from '../../connections/contract';
import { cases, type CaseDefinition } from './cases';
import type { Capability } from './harness';
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
} from './world';
import type { Way } from './world';

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
        const { capabilities } = world.connection;
        for (const again of ENDINGS.filter((ending) => ending.requires.every((needed) => capabilities[needed]))) {
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

export const settleCases: readonly CaseDefinition[] = [
  ...settledBy('alone'),
  ...settledBy('with a reserve'),
  ...cases(['reserve'], {
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
];
