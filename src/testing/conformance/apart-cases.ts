/** A job that may kill its process takes no neighbour with it: it is handed out alone, to a worker that runs nothing. */
import assert from 'node:assert/strict';
import type { Reservation, ReserveRequest } from '../../queue/connection';
import type { CaseDefinition } from './harness';
import { completed, idsOf, probe, releasedForFree } from './world';
import type { World } from './world';

const CRASHES = 2;
const BUSY = { apart: { crashes: CRASHES, alone: false }, limit: 10 };
const ALONE = { apart: { crashes: CRASHES, alone: true }, limit: 10 };

/** Has jobs wait in this order, with so many leases behind them that ended. The queue was empty. */
async function lineUp(world: World, jobs: Readonly<Record<string, number>>, queue = world.queue): Promise<void> {
  const held = new Map<string, Reservation>();
  for (const [id, crashes] of Object.entries(jobs).filter((job) => job[1] > 0)) {
    await world.pushTo(queue, [probe(id)]);
    for (let crash = 0; crash < crashes; crash += 1) {
      await world.reserveOne({ queues: [queue], lease: 60 });
      await world.advance(61);
    }
    held.set(id, await world.reserveOne({ queues: [queue], lease: 6_000 }));
  }
  for (const id of Object.keys(jobs)) {
    const reservation = held.get(id);
    if (reservation === undefined) await world.pushTo(queue, [probe(id)]);
    else await world.settle([releasedForFree(reservation)]);
  }
}

/** Jobs as one worker gets them that runs nothing, call by call. */
async function takeAlone(world: World) {
  const calls: (readonly Reservation[])[] = [];
  for (;;) {
    const { reservations } = await world.reserve(ALONE);
    if (reservations.length === 0) return calls;
    calls.push(reservations);
  }
}

/** What a worker gets that never is alone, however few a call hands out. */
async function takeBusy(world: World, request: Partial<ReserveRequest> = {}) {
  const ids: unknown[] = [];
  for (;;) {
    const reply = await world.reserve({ ...BUSY, ...request });
    ids.push(...idsOf(reply.reservations));
    if (reply.apart === true || reply.reservations.length === 0) return { ids, apart: reply.apart ?? false };
  }
}

export const apartCases: readonly CaseDefinition[] = [
  {
    name: 'of jobs in any order, no worker that runs others gets the one that is to run apart',
    requires: ['reserve', 'renew'],
    async run(world) {
      await lineUp(world, { a: 0, risky: CRASHES + 1, c: 0 });
      const busy = await takeBusy(world);
      assert.equal(busy.apart, true);
      const calls = await takeAlone(world);
      const risky = calls.find((taken) => idsOf(taken).includes('risky'));
      assert.equal(risky?.[0]?.counters.crashes, CRASHES + 1);
      assert.equal(risky.length, 1, 'nothing is handed out with it');
      assert.equal(busy.ids.length + calls.flat().length, 3);
      assert.deepEqual(new Set([...busy.ids, ...idsOf(calls.flat())]), new Set(['a', 'risky', 'c']));
    },
  },
  {
    name: 'a job that is to run apart stays where it is, with all behind it, while its worker runs others',
    requires: ['reserve', 'renew', 'requeue'],
    async run(world) {
      await lineUp(world, { a: 0, b: 1, risky: CRASHES, c: 0 });
      assert.deepEqual(await takeBusy(world), { ids: ['a', 'b'], apart: true });
      assert.deepEqual(await takeBusy(world), { ids: [], apart: true });
      assert.deepEqual(idsOf(await world.reserveAll()), ['risky', 'c']);
    },
  },
  {
    name: 'a job that is to run apart holds up later queues, not those before its own',
    requires: ['reserve', 'renew'],
    async run(world) {
      await lineUp(world, { risky: CRASHES });
      await world.pushTo(world.secondQueue, [probe('other')]);
      const queues = [world.queue, world.secondQueue];
      assert.deepEqual(await takeBusy(world, { queues }), { ids: [], apart: true });
      assert.deepEqual(await takeBusy(world, { queues: queues.toReversed() }), { ids: ['other'], apart: true });
    },
  },
  {
    name: 'a worker that runs nothing gets a job that is to run apart, and nothing with it',
    requires: ['reserve', 'renew'],
    async run(world) {
      await lineUp(world, { risky: CRASHES });
      await world.pushTo(world.secondQueue, [probe('other')]);
      const queues = [world.queue, world.secondQueue];
      const { reservations, apart } = await world.reserve({ ...ALONE, queues });
      assert.deepEqual(idsOf(reservations), ['risky']);
      assert.equal(apart ?? false, false);
      assert.deepEqual(idsOf(await world.reserveAll({ queues })), ['other']);
    },
  },
  {
    name: 'a worker that runs nothing gets the jobs before one that is to run apart, and not that one with them',
    requires: ['reserve', 'renew', 'requeue'],
    async run(world) {
      await lineUp(world, { a: 0, risky: CRASHES });
      const first = await world.reserve(ALONE);
      assert.deepEqual(idsOf(first.reservations), ['a']);
      assert.deepEqual(await takeBusy(world), { ids: [], apart: true });
      assert.deepEqual(idsOf((await world.reserve(ALONE)).reservations), ['risky']);
    },
  },
  {
    name: 'jobs whose leases ended together are handed out apart from each other',
    requires: ['reserve', 'renew'],
    async run(world) {
      await world.push(probe('a'), probe('b'));
      await world.reserveAll({ lease: 60 });
      await world.advance(61);
      const request = { limit: 10, apart: { crashes: 1, alone: true } };
      const [first, second] = [await world.reserve(request), await world.reserve(request)];
      assert.deepEqual([first.reservations.length, second.reservations.length], [1, 1]);
      assert.deepEqual(
        new Set(idsOf([...first.reservations, ...second.reservations])),
        new Set(['a', 'b']),
        'each is handed out',
      );
    },
  },
  {
    name: 'a worker that ends its last job by the same call gets the one that is to run apart',
    requires: ['reserve', 'renew'],
    async run(world) {
      await lineUp(world, { risky: CRASHES });
      await world.pushTo(world.secondQueue, [probe('a')]);
      const last = await world.reserveOne({ queues: [world.secondQueue] });
      const request = { queues: [world.queue], lease: 600, ...ALONE };
      const reply = await world.settleAndReserve([completed(last)], request);
      assert.deepEqual(reply.results, ['settled']);
      assert.deepEqual(idsOf(reply.reply.reservations), ['risky']);
    },
  },
  {
    name: 'jobs with fewer crashes run with others, and so do all where nothing is asked to run apart',
    requires: ['reserve', 'renew'],
    async run(world) {
      await lineUp(world, { a: 0, b: CRASHES - 1, c: 0 });
      const { ids, apart } = await takeBusy(world);
      assert.equal(apart, false);
      assert.deepEqual(new Set(ids), new Set(['a', 'b', 'c']));
      await lineUp(world, { d: 0, e: CRASHES, f: 0 }, world.secondQueue);
      const others = idsOf(await world.reserveAll({ queues: [world.secondQueue] }));
      assert.deepEqual(new Set(others), new Set(['d', 'e', 'f']));
    },
  },
];
