/** A job that is cancelled ends as cancelled, wherever it is, and no other job does. */
import assert from 'node:assert/strict';
import type { Reservation } from '../../connections/contract';
import { cases, type CaseDefinition } from './cases';
import { cancelled, completed, failed, idOf, idsOf, isToRun, released, releasedForFree } from './world';
import type { World } from './world';

/** Pushes and reserves a job that is then cancelled. */
async function holdCancelled(world: World, id: string): Promise<Reservation> {
  const reservation = await world.hold(id);
  assert.equal(await world.control.cancel(id), 'signalled');
  return reservation;
}

/** Cancels a waiting job. A store need not search for it: one that it only marked must come out as cancelled. */
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

/** Asserts that these jobs can be had now, in this order, and which of them come out as cancelled. */
async function handsOutCancelled(world: World, ids: readonly string[], expected: readonly string[]) {
  const reservations = await world.reserveAll();
  assert.deepEqual(idsOf(reservations), ids);
  assert.deepEqual(idsOf(reservations.filter((job) => !isToRun(job))), expected);
  return reservations;
}

const ENDS = { cancelled, completed, failed };

export const cancelCases: readonly CaseDefinition[] = [
  ...cases(['reserve', 'control'], {
    async 'a ready job that is cancelled never runs, and those around it do'(world) {
      await world.push('a', 'b', 'c');
      await endsCancelled(world, 'b');
      const left = await world.reserveAll();
      assert.deepEqual(new Set(idsOf(left)), new Set(['a', 'c']));
      assert(left.every(isToRun), 'no other one was cancelled');
    },
    async 'an id that is not there is unknown: never pushed, done, or cancelled before'(world) {
      assert.equal(await world.control.cancel('nobody'), 'unknown');
      await world.push('done', 'a');
      await world.settle([completed(await world.reserveOne())]);
      assert.equal(await world.control.cancel('done'), 'unknown');
      await endsCancelled(world, 'a');
      assert.equal(await world.control.cancel('a'), 'unknown');
    },
    async 'a job is known by its own id, wherever that stands, and not by what else its text holds'(world) {
      await world.pushText('{"id":"front","data":{"id":"inner","name":"\\"id\\":\\"quoted\\""},"attempts":0}');
      for (const id of ['inner', 'quoted', 'fron']) assert.equal(await world.control.cancel(id), 'unknown', id);
      await endsCancelled(world, 'front');
      await world.handsOut();
    },
    async 'with a queue named, only that queue is looked at'(world) {
      await world.pushTo(world.secondQueue, 'a');
      await world.push('b');
      assert.equal(await world.control.cancel('a', world.queue), 'unknown');
      assert.equal(await world.control.cancel('a', 'never-pushed-to'), 'unknown');
      assert(isToRun(await world.reserveOne({ queues: [world.secondQueue] })), 'it was not cancelled');
      assert.equal(await world.control.cancel('a', world.secondQueue), 'signalled');
    },
    async 'who holds jobs can ask which of them were cancelled, without renewing them'(world) {
      const first = await holdCancelled(world, 'a');
      const second = await world.hold('b');
      assert.deepEqual(await world.control.cancelled?.([second, first, second]), [false, true, false]);
      await world.settle([cancelled(first)]);
      assert.deepEqual(await world.control.cancelled?.([second]), [false]);
    },
    async 'a job that was cancelled while it ran, and is given back, is handed out as cancelled'(world) {
      const reservation = await holdCancelled(world, 'a');
      await world.push('b');
      await world.settle([released(reservation)]);
      await handsOutCancelled(world, ['b', 'a'], ['a']);
    },
    async 'a job that was cancelled while it ran, and again when it waited, leaves nothing for a later one of its id'(
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
      await world.cancelsWaiting('a');
      await world.advance(61);
      assert.deepEqual(idsOf((await world.reserveAll()).filter(isToRun)), ['b']);
    },
  }),
  ...cases(['reserve', 'renew', 'control'], {
    async 'another client cancels a running job: its holder learns it by the next renewal, the others’ do not'(world) {
      const reservations = await world.holdAll(['a', 'b', 'c']);
      assert.equal(await world.otherControl.cancel('b'), 'signalled');
      assert.deepEqual(await world.renew(reservations, 600), ['renewed', 'cancelled', 'renewed']);
      assert.deepEqual(await world.renew(reservations, 600), ['renewed', 'cancelled', 'renewed']);
    },
    async 'a renewal that tells of a cancellation renews all the same'(world) {
      const reservation = await holdCancelled(world, 'a');
      await world.advance(500);
      assert.deepEqual(await world.renew([reservation], 600), ['cancelled']);
      await world.advance(500);
      await world.handsOut();
      await world.settles(cancelled(reservation));
    },
    async 'a job that was cancelled while it ran, and whose lease has ended, is handed out as cancelled'(world) {
      const stale = await holdCancelled(world, 'a');
      await world.push('b');
      await world.advance(601);
      const reservations = await handsOutCancelled(world, ['a', 'b'], ['a']);
      await world.loses(cancelled(stale));
      assert.deepEqual(await world.renew(reservations, 600), ['cancelled', 'renewed']);
    },
  }),
  ...cases(['renew', 'control'], {
    async 'the reason that was given reaches who holds the job, and who is handed it next; the last one counts'(world) {
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
      assert.equal(later.cancelled ?? false, false);
      await world.control.cancel('a');
      assert.deepEqual(await world.control.cancelled?.([later]), [true]);
    },
  }),
  ...Object.entries(ENDS).flatMap(([name, end]) =>
    cases(name === 'failed' ? ['reserve', 'failed', 'control'] : ['reserve', 'control'], {
      async [`a running job that was cancelled and is settled as ${name} has ended, and a later one of its id runs`](
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
    async 'clearing a queue clears what was cancelled in it: a later job of the same id runs'(world) {
      await holdCancelled(world, 'a');
      assert.equal(await world.connection.clear(world.queue), 1);
      await world.push('a');
      await world.handsOutToRun();
    },
  }),
];
