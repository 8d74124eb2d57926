/** What happens to the jobs of a worker that goes silent, and what it can still do when it comes back. */
import assert from 'node:assert/strict';
import { cases, type CaseDefinition } from './cases';
import { completed, counted, failed, idOf, idsOf, probeWith, released, releasedForFree } from './world';

export const leaseCases: readonly CaseDefinition[] = [
  ...cases(['reserve', 'renew'], {
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
      assert.deepEqual(await world.connection.renew([stale], 600), ['lost']);
    },
    async 'an expired lease can still be renewed and settled until the job is handed to another worker'(world) {
      const [a, b, c] = await world.holdAll(['a', 'b', 'c'], 60);
      await world.advance(61);
      assert.deepEqual(await world.connection.renew([a], 600), ['renewed']);
      await world.settles(completed(b), releasedForFree(c));
      const [again, ...more] = await world.reserveAll();
      assert.deepEqual(more, []);
      counted(again, { releases: 1 });
      await world.settles(completed(a));
    },
    async 'a renewed lease lasts past its first end, and no longer than the new one'(world) {
      const reservation = await world.hold('a');
      await world.advance(500);
      assert.deepEqual(await world.connection.renew([reservation], 600), ['renewed']);
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
      assert.deepEqual(await world.connection.renew([a, b, d, c], 60), ['renewed', 'lost', 'renewed', 'renewed']);
    },
    async 'renewing nothing returns an empty list'(world) {
      assert.deepEqual(await world.connection.renew([], 60), []);
    },
  }),
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
      assert.deepEqual(await world.other.renew([stale], 600), ['lost']);
      assert.deepEqual(await world.state(), before);
      await world.settles(completed(holder));
    },
  }),
];
