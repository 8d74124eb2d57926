/** A cancelled job ends as cancelled in whatever state it is, and no other job does. */
import assert from 'node:assert/strict';
import type { Reservation } from '../../connections/contract';
import { cases, type CaseDefinition } from './cases';
import { cancelled, completed, failed, idOf, idsOf, isToRun, released, releasedForFree } from './world';
import type { World } from './world';

/** Pushes, reserves and then cancels a job. */
async function holdCancelled(world: World, id: string): Promise<Reservation> {
  const reservation = await world.hold(id);
  assert.equal(await world.control.cancel(id), 'signalled');
  return reservation;
}

/** Cancels a waiting job. A store that only marks the job must later hand it out as cancelled. */
async function endsCancelled(world: World, id: string): Promise<void> {
  const result = await world.control.cancel(id);
  if (result === 'marked') {
    const reservations = await world.reserveAll();
    const met = reservations.find((reservation) => idOf(reservation) === id);
    assert.equal(met?.cancelled, true, 'a job that was marked is handed out as cancelled');
    const ends = reservations.map((each) => (each === met ? cancelled(each) : releasedForFree(each)));
    assert.deepEqual(new Set(await world.settle(ends)), new Set(['settled']));
  } else {
    assert.equal(result, 'removed');
  }
}

/** Asserts that exactly the jobs `ids` can be reserved now, in this order, and that those in `expected` are cancelled. */
async function handsOutCancelled(world: World, ids: readonly string[], expected: readonly string[]) {
  const reservations = await world.reserveAll();
  assert.deepEqual(idsOf(reservations), ids);
  assert.deepEqual(idsOf(reservations.filter((job) => !isToRun(job))), expected);
  return reservations;
}

const ENDS = { cancelled, completed, failed };

export const cancelCases: readonly CaseDefinition[] = [
  ...cases(['reserve', 'control'], {
    async 'a ready job that is cancelled never runs, but its neighbours do'(world) {
      await world.push('a', 'b', 'c');
      await endsCancelled(world, 'b');
      const left = await world.reserveAll();
      assert.deepEqual(new Set(idsOf(left)), new Set(['a', 'c']));
      assert(left.every(isToRun), 'no other job was cancelled');
    },
    async 'cancelling reports `unknown` for an id that was never pushed, has completed, or was already cancelled'(
      world,
    ) {
      assert.equal(await world.control.cancel('nobody'), 'unknown');
      await world.push('done', 'a');
      await world.settle([completed(await world.reserveOne())]);
      assert.equal(await world.control.cancel('done'), 'unknown');
      await endsCancelled(world, 'a');
      assert.equal(await world.control.cancel('a'), 'unknown');
    },
    async 'a job is found by its own id wherever that stands in its text, and by no other id in it'(world) {
      await world.pushText('{"id":"front","data":{"id":"inner","name":"\\"id\\":\\"quoted\\""},"attempts":0}');
      for (const id of ['inner', 'quoted', 'fron']) assert.equal(await world.control.cancel(id), 'unknown', id);
      await endsCancelled(world, 'front');
      await world.handsOut();
    },
    async 'cancelling with a queue looks only in that queue'(world) {
      await world.pushTo(world.secondQueue, 'a');
      await world.push('b');
      assert.equal(await world.control.cancel('a', world.queue), 'unknown');
      assert.equal(await world.control.cancel('a', 'never-pushed-to'), 'unknown');
      assert(isToRun(await world.reserveOne({ queues: [world.secondQueue] })), 'it was not cancelled');
      assert.equal(await world.control.cancel('a', world.secondQueue), 'signalled');
    },
    async 'a holder can ask which of its jobs were cancelled without renewing them'(world) {
      const first = await holdCancelled(world, 'a');
      const second = await world.hold('b');
      assert.deepEqual(await world.control.cancelled?.([second, first, second]), [false, true, false]);
      await world.settle([cancelled(first)]);
      assert.deepEqual(await world.control.cancelled?.([second]), [false]);
    },
    async 'a job that was cancelled while running and then given back is handed out as cancelled'(world) {
      const reservation = await holdCancelled(world, 'a');
      await world.push('b');
      await world.settle([released(reservation)]);
      await handsOutCancelled(world, ['b', 'a'], ['a']);
    },
    async 'a job that was cancelled both while running and while waiting leaves nothing that cancels a later job with its id'(
      world,
    ) {
      await world.settle([released(await holdCancelled(world, 'a'))]);
      await endsCancelled(world, 'a');
      await world.push('a');
      await world.handsOutToRun();
    },
  }),
  ...cases(['reserve', 'delay', 'control'], {
    async 'a delayed job that is cancelled never runs'(world) {
      await world.pushLater('a', 60);
      await world.pushLater('b', 60);
      assert.match(await world.control.cancel('a'), /^(removed|marked)$/);
      await world.advance(61);
      assert.deepEqual(idsOf((await world.reserveAll()).filter(isToRun)), ['b']);
    },
  }),
  ...cases(['reserve', 'renew', 'control'], {
    async 'when another client cancels a running job, only that job is reported as cancelled by the next renewal'(
      world,
    ) {
      const reservations = await world.holdAll(['a', 'b', 'c']);
      assert.equal(await world.otherControl.cancel('b'), 'signalled');
      assert.deepEqual(await world.connection.renew(reservations, 600), ['renewed', 'cancelled', 'renewed']);
      assert.deepEqual(await world.connection.renew(reservations, 600), ['renewed', 'cancelled', 'renewed']);
    },
    async 'a renewal that reports a cancellation still renews the lease'(world) {
      const reservation = await holdCancelled(world, 'a');
      await world.advance(500);
      assert.deepEqual(await world.connection.renew([reservation], 600), ['cancelled']);
      await world.advance(500);
      await world.handsOut();
      await world.settles(cancelled(reservation));
    },
    async 'a job that was cancelled while running is handed out as cancelled after its lease expires'(world) {
      const stale = await holdCancelled(world, 'a');
      await world.push('b');
      await world.advance(601);
      const reservations = await handsOutCancelled(world, ['a', 'b'], ['a']);
      await world.loses(cancelled(stale));
      assert.deepEqual(await world.connection.renew(reservations, 600), ['cancelled', 'renewed']);
    },
  }),
  ...cases(['renew', 'control'], {
    async 'the reason for a cancellation reaches the holder of the job and its next holder, and the last reason wins'(
      world,
    ) {
      const held = await world.holdAll(['a', 'b']);
      await world.control.cancel('a', undefined, 'wrong address');
      await world.control.cancel('b', undefined, 'too late');
      await world.control.cancel('b', world.queue, 'no, too early: «é»');
      assert.deepEqual(await world.control.cancelled?.(held), ['wrong address', 'no, too early: «é»']);
      await world.settle(held.map((reservation) => released(reservation)));
      const again = await world.reserveAll();
      const reasons = again.map((reservation) => reservation.cancelled);
      assert.deepEqual(reasons, ['wrong address', 'no, too early: «é»']);
      await world.settle([cancelled(again[0]!), failed(again[1]!)]);
      const later = await world.hold('a');
      assert(isToRun(later), 'a later job with its id was not cancelled');
      await world.control.cancel('a');
      assert.deepEqual(await world.control.cancelled?.([later]), [true]);
    },
  }),
  ...Object.entries(ENDS).flatMap(([name, end]) =>
    cases(name === 'failed' ? ['reserve', 'failed', 'control'] : ['reserve', 'control'], {
      async [`a running job that was cancelled ends when it is settled as ${name}, and a later job with its id runs`](
        world,
      ) {
        await world.settles(end(await holdCancelled(world, 'a')));
        await world.handsOut();
        assert.equal(await world.control.cancel('a'), 'unknown');
        await world.push('a');
        await world.handsOutToRun();
      },
    }),
  ),
  ...cases(['reserve', 'clear', 'control'], {
    async 'clearing a queue also forgets its cancellations: a later job with the same id runs'(world) {
      await holdCancelled(world, 'a');
      assert.equal(await world.connection.clear(world.queue), 1);
      await world.push('a');
      await world.handsOutToRun();
    },
  }),
];
