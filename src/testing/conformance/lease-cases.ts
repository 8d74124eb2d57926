/** What happens to the jobs of a worker that goes silent, and what it can still do when it comes back. */
import assert from 'node:assert/strict';
import type { CaseDefinition } from './harness';
import { answered, completed, failed, idOf, idsOf, probe, released, releasedForFree } from './world';

export const leaseCases: readonly CaseDefinition[] = [
  {
    name: 'a job is not handed to another worker before its lease has ended, and says when to look again',
    requires: ['reserve', 'renew'],
    async run(world) {
      await world.push(probe('a'));
      await world.reserveOne({ lease: 600 });
      await world.advance(500);
      const { reservations, nextIn } = await world.reserve({}, world.other);
      assert.deepEqual(reservations, []);
      assert(nextIn > 80 && nextIn <= 100, `its lease ends in 100 s, not in ${nextIn} s`);
    },
  },
  {
    name: 'a job whose lease has ended is handed out again: the crash is counted and costs no try',
    requires: ['reserve', 'renew'],
    async run(world) {
      await world.push(probe('a'));
      await world.reserveOne({ lease: 60 });
      await world.advance(61);
      const again = await world.reserveOne({ lease: 60 });
      assert.deepEqual(again.counters, { attempts: 1, crashes: 1, exceptions: 0, timeouts: 0, releases: 0 });
      assert.equal(again.payload.toString(), probe('a').replace('"attempts":0', '"crashes":1,"attempts":1'));
      await world.advance(61);
      assert.deepEqual((await world.reserveOne()).counters, {
        attempts: 1,
        crashes: 2,
        exceptions: 0,
        timeouts: 0,
        releases: 0,
      });
    },
  },
  {
    name: 'jobs whose leases have ended go to the head, in the order of the ends',
    requires: ['reserve', 'renew', 'requeue'],
    async run(world) {
      await world.push(probe('c'), probe('a'), probe('b'), probe('waiting'));
      for (const id of ['c', 'a', 'b']) assert.equal(idOf(await world.reserveOne({ lease: 60 })), id);
      await world.advance(61);
      assert.deepEqual(idsOf(await world.reserveAll()), ['c', 'a', 'b', 'waiting']);
    },
  },
  {
    name: 'jobs reserved together are all reclaimed, ahead of what waits and of what became due',
    requires: ['reserve', 'renew', 'delay', 'requeue'],
    async run(world) {
      await world.push(probe('a'), probe('b'));
      await world.reserveAll({ lease: 60 });
      await world.push(probe('waiting'));
      await world.pushLater(probe('due'), 30);
      await world.advance(61);
      const ids = idsOf(await world.reserveAll());
      assert.deepEqual(new Set(ids.slice(0, 2)), new Set(['a', 'b']));
      assert.deepEqual(ids.slice(2), ['waiting', 'due']);
    },
  },
  {
    name: 'a holder that was too late cannot complete, release, fail or renew the job that another has now',
    requires: ['reserve', 'renew', 'failed'],
    async run(world) {
      await world.push(probe('a'));
      const stale = await world.reserveOne({ lease: 60 });
      await world.advance(61);
      const holder = await world.reserveOne({ lease: 600 });
      const before = await world.state();
      for (const settlement of [completed(stale), released(stale), releasedForFree(stale), failed(stale)]) {
        assert.deepEqual(await answered(world.other.settle([settlement])), ['lost'], settlement.outcome);
      }
      assert.deepEqual(await answered(world.other.renew([stale], 600)), ['lost']);
      assert.deepEqual(await world.state(), before);
      assert.deepEqual(await world.settle([completed(holder)]), ['settled']);
    },
  },
  {
    name: 'a holder that was too late cannot touch the job while it waits to be handed out again',
    requires: ['reserve', 'renew'],
    async run(world) {
      await world.push(probe('a'), probe('b'));
      const both = [await world.reserveOne({ lease: 60 }), await world.reserveOne({ lease: 60 })];
      await world.advance(61);
      const again = idOf(await world.reserveOne());
      const stale = both.find((reservation) => idOf(reservation) !== again)!;
      assert.deepEqual(await world.settle([completed(stale)]), ['lost']);
      assert.deepEqual(await world.renew([stale], 600), ['lost']);
    },
  },
  {
    name: 'a lease that has ended is still its holder’s until the job is handed on: it can be renewed',
    requires: ['reserve', 'renew'],
    async run(world) {
      await world.push(probe('a'));
      const reservation = await world.reserveOne({ lease: 60 });
      await world.advance(61);
      assert.deepEqual(await world.renew([reservation], 600), ['renewed']);
      assert.deepEqual((await world.reserve()).reservations, []);
      assert.deepEqual(await world.settle([completed(reservation)]), ['settled']);
    },
  },
  {
    name: 'a lease that has ended is still its holder’s until the job is handed on: it can be settled',
    requires: ['reserve', 'renew'],
    async run(world) {
      await world.push(probe('a'), probe('b'));
      const [a, b] = await world.reserveAll({ lease: 60 });
      assert(a !== undefined && b !== undefined, 'both are handed out');
      await world.advance(61);
      assert.deepEqual(await world.settle([completed(a), releasedForFree(b)]), ['settled', 'settled']);
      const [again, ...more] = await world.reserveAll();
      assert.deepEqual(more, []);
      assert.deepEqual(again?.counters, { attempts: 1, crashes: 0, exceptions: 0, timeouts: 0, releases: 1 });
    },
  },
  {
    name: 'a renewed lease starts anew: the job stays with its holder past the first end, and no further than the new',
    requires: ['reserve', 'renew'],
    async run(world) {
      await world.push(probe('a'));
      const reservation = await world.reserveOne({ lease: 600 });
      await world.advance(500);
      assert.deepEqual(await world.renew([reservation], 600), ['renewed']);
      await world.advance(500);
      assert.deepEqual((await world.reserve()).reservations, []);
      await world.advance(101);
      assert.deepEqual((await world.reserveOne()).counters, {
        attempts: 1,
        crashes: 1,
        exceptions: 0,
        timeouts: 0,
        releases: 0,
      });
    },
  },
  {
    name: 'a renewal changes neither the text nor the counters',
    requires: ['reserve', 'renew', 'peek'],
    async run(world) {
      await world.push(probe('a'));
      const reservation = await world.reserveOne();
      await world.renew([reservation], 900);
      const [peeked] = await world.connection.peek(world.queue, 'reserved', 1);
      assert.deepEqual(peeked?.payload, reservation.payload);
    },
  },
  {
    name: 'a call renews many leases of several queues, and answers for each in its place',
    requires: ['reserve', 'renew'],
    async run(world) {
      await world.push(probe('a'), probe('b'), probe('c'));
      await world.pushTo(world.secondQueue, [probe('d')]);
      const [a, b, c] = await world.reserveAll();
      const d = await world.reserveOne({ queues: [world.secondQueue] });
      assert(a && b && c, 'three jobs are handed out');
      await world.settle([completed(b)]);
      assert.deepEqual(await world.renew([a, b, d, c], 60), ['renewed', 'lost', 'renewed', 'renewed']);
    },
  },
  {
    name: 'nothing to renew is renewed at once',
    requires: ['reserve', 'renew'],
    async run(world) {
      assert.deepEqual(await world.renew([], 60), []);
    },
  },
];
