/** How reservations end: each once, by its holder, and together in one call as well as alone. */
import assert from 'node:assert/strict';
import type { Reservation, Settlement } from '../../connections/contract';
import type { CaseDefinition, Capability } from './harness';
import {
  answered,
  cancelled,
  completed,
  failed,
  givenBack,
  idOf,
  idsOf,
  probe,
  probes,
  released,
  releasedForFree,
} from './world';
import type { Way } from './world';

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

/** Every promise holds whichever way a driver's settlements travel. */
const WAYS: readonly Way[] = ['settle', 'settleAndReserve'];

const everyWay = (definition: (way: Way) => CaseDefinition): readonly CaseDefinition[] =>
  WAYS.map(definition).map((made, index) => ({ ...made, name: `${made.name} (by ${WAYS[index]})` }));

export const settleCases: readonly CaseDefinition[] = [
  ...ENDINGS.flatMap(({ name, requires, of }) =>
    everyWay((way) => ({
      name: `a reservation that was ${name} cannot end a second time, and trying changes nothing`,
      requires: ['reserve', ...requires],
      async run(world) {
        await world.push(probe('a'));
        const reservation = await world.reserveOne();
        assert.deepEqual(await world.settle([of(reservation)], way), ['settled']);
        const before = await world.state();
        for (const again of ENDINGS.filter((ending) =>
          ending.requires.every((c) => world.connection.capabilities[c]),
        )) {
          assert.deepEqual(await world.settle([again.of(reservation)], way), ['lost'], `${again.name} after ${name}`);
        }
        assert.deepEqual(await world.state(), before);
      },
    })),
  ),
  ...everyWay((way) => ({
    name: 'a completed job is gone',
    requires: ['reserve', 'exactCounts'],
    async run(world) {
      await world.push(probe('a'));
      await world.settle([completed(await world.reserveOne())], way);
      assert.deepEqual(await world.connection.counts(world.queue), { ready: 0, delayed: 0, reserved: 0 });
    },
  })),
  ...everyWay((way) => ({
    name: 'a job released without a delay goes to the tail',
    requires: ['reserve', 'requeue'],
    async run(world) {
      await world.push(probe('a'), probe('b'));
      await world.settle([released(await world.reserveOne())], way);
      assert.deepEqual(idsOf(await world.reserveAll()), ['b', 'a']);
    },
  })),
  ...everyWay((way) => ({
    name: 'what was not started goes back to the head, in its order',
    requires: ['reserve', 'order'],
    async run(world) {
      await world.push(...probes(6));
      const a = await world.reserveOne();
      const b = await world.reserveOne();
      const c = await world.reserveOne();
      const d = await world.reserveOne();
      const results = await world.settle([givenBack(a), completed(b), givenBack(c), givenBack(d)], way);
      assert.deepEqual(new Set(results), new Set(['settled']));
      const back = await world.reserveAll();
      assert.deepEqual(idsOf(back), ['probe-1', 'probe-3', 'probe-4', 'probe-5', 'probe-6']);
      assert.deepEqual(
        back.map(({ counters }) => [counters.attempts, counters.releases]),
        [...Array.from({ length: 3 }, () => [1, 1]), [1, 0], [1, 0]],
      );
    },
  })),
  ...everyWay((way) => ({
    name: 'a failed job moves from its queue to the failed store',
    requires: ['reserve', 'failed', 'exactCounts'],
    async run(world) {
      await world.push(probe('a'));
      await world.settle([failed(await world.reserveOne())], way);
      assert.deepEqual(await world.connection.counts(world.queue), { ready: 0, delayed: 0, reserved: 0 });
      const entry = await world.failedEntry('a');
      assert.equal(entry.payload.toString(), probe('a').replace('"attempts":0', '"exceptions":1,"attempts":1'));
      assert.equal(entry.attempts, 1);
    },
  })),
  ...everyWay((way) => ({
    name: 'a call settles many reservations, and answers for each in its place',
    requires: ['reserve', 'delay', 'failed'],
    async run(world) {
      await world.push(...probes(6));
      await world.pushTo(world.secondQueue, probes(1, 'other'));
      const [a, b, c, d, e, f] = await world.reserveAll();
      const other = await world.reserveOne({ queues: [world.secondQueue] });
      assert(a && b && c && d && e && f, 'six jobs are handed out');
      await world.settle([completed(b), completed(e)]);
      const results = await world.settle(
        [
          completed(a),
          completed(b),
          released(c),
          failed(d),
          completed(other),
          failed(e),
          released(f, 60),
          completed(a),
        ],
        way,
      );
      assert.deepEqual(results, ['settled', 'lost', 'settled', 'settled', 'settled', 'lost', 'settled', 'lost']);
      assert.deepEqual(idsOf(await world.reserveAll()), ['probe-3']);
      assert.deepEqual(idsOf(await world.failedStore.list({ limit: 10 })), ['probe-4']);
      await world.advance(61);
      assert.deepEqual(idsOf(await world.reserveAll()), ['probe-6']);
    },
  })),
  ...everyWay((way) => ({
    name: 'more reservations than one call moves are settled by one',
    requires: ['reserve', 'exactCounts'],
    async run(world) {
      await world.push(...probes(150));
      const reservations = await world.reserveAll();
      const results = await world.settle(reservations.map(completed), way);
      assert.deepEqual(new Set(results), new Set(['settled']));
      assert.equal(results.length, 150);
      assert.deepEqual(await world.connection.counts(world.queue), { ready: 0, delayed: 0, reserved: 0 });
    },
  })),
  ...everyWay((way) => ({
    name: 'nothing to settle is settled at once',
    requires: ['reserve'],
    async run(world) {
      assert.deepEqual(await world.settle([], way), []);
    },
  })),
  {
    name: 'a settle and the reserve after it see one another: what was released can be had again',
    requires: ['reserve'],
    async run(world) {
      await world.push(probe('a'), probe('b'), probe('c'));
      const first = await world.reserveAll({ limit: 2 });
      assert.equal(first.length, 3);
      const { results, reply } = await world.settleAndReserve(
        [released(first[0]!), completed(first[1]!), releasedForFree(first[2]!)],
        5,
      );
      assert.deepEqual(results, ['settled', 'settled', 'settled']);
      const back = new Map(reply.reservations.map((reservation) => [idOf(reservation), reservation.counters]));
      assert.deepEqual(
        back,
        new Map([
          [idOf(first[0]!), { attempts: 2, crashes: 0, exceptions: 0, timeouts: 0, releases: 0 }],
          [idOf(first[2]!), { attempts: 1, crashes: 0, exceptions: 0, timeouts: 0, releases: 1 }],
        ]),
      );
    },
  },
  {
    name: 'a settle with a reserve hands out no more than the limit',
    requires: ['reserve'],
    async run(world) {
      await world.push(...probes(4));
      const { results, reply } = await world.settleAndReserve([completed(await world.reserveOne())], 2);
      assert.deepEqual(results, ['settled']);
      assert.equal(reply.reservations.length, 2);
      assert.equal(reply.nextIn, 0);
    },
  },
  {
    name: 'the same reservation settled by two clients at once ends once',
    requires: ['reserve'],
    async run(world) {
      await world.push(probe('a'));
      const reservation = await world.reserveOne();
      const results = await Promise.all([
        world.settle([released(reservation)]),
        answered(world.other.settle([released(reservation)])),
      ]);
      assert.deepEqual(results.flat().toSorted(), ['lost', 'settled']);
      assert.equal((await world.reserveAll()).length, 1);
    },
  },
];
