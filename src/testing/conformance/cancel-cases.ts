/** A job that is cancelled ends as cancelled, wherever it is; no other one does. */
import assert from 'node:assert/strict';
import type { Reservation, Settlement } from '../../connections/contract';
import type { CaseDefinition } from './harness';
import { cancelled, completed, failed, idOf, idsOf, probe, released, releasedForFree } from './world';
import type { World } from './world';

/** Holds the job that is pushed with it, and is told to stop it. */
async function holdCancelled(world: World, id: string): Promise<Reservation> {
  await world.push(probe(id));
  const reservation = await world.reserveOne({ lease: 600 });
  assert.equal(await world.control.cancel(id), 'signalled');
  return reservation;
}

/** A store need not search a long list: what it only marked must come out as cancelled, and end so. */
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

const cancelledIdsOf = (reservations: readonly Reservation[]): readonly unknown[] =>
  idsOf(reservations.filter((reservation) => reservation.cancelled === true));

/** However the job ended: one of its id that comes later is another one. */
const ENDS: readonly (readonly [name: string, end: (reservation: Reservation) => Settlement])[] = [
  ['cancelled', cancelled],
  ['completed', completed],
  ['failed', failed],
];

export const cancelCases: readonly CaseDefinition[] = [
  {
    name: 'a ready job that is cancelled never runs, and those around it do',
    requires: ['reserve', 'control'],
    async run(world) {
      await world.push(probe('a'), probe('b'), probe('c'));
      await endsCancelled(world, 'b');
      const left = await world.reserveAll();
      assert(!idsOf(left).includes('b'), 'it is not handed out again');
      assert.deepEqual(cancelledIdsOf(left), []);
    },
  },
  {
    name: 'a delayed job that is cancelled never runs',
    requires: ['reserve', 'delay', 'control'],
    async run(world) {
      await world.pushLater(probe('a'), 60);
      await world.pushLater(probe('b'), 60);
      const result = await world.control.cancel('a');
      assert(result === 'removed' || result === 'marked', `it waits: '${result}' does not say what becomes of it`);
      await world.advance(61);
      const ids = idsOf((await world.reserveAll()).filter((reservation) => reservation.cancelled !== true));
      assert.deepEqual(ids, ['b']);
    },
  },
  {
    name: 'cancelling changes no other job',
    requires: ['reserve', 'delay', 'control'],
    async run(world) {
      await world.push(probe('held'), probe('a'), probe('b'), probe('c'));
      await world.pushTo(world.secondQueue, [probe('elsewhere')]);
      await world.pushLater(probe('later'), 60);
      const held = await world.reserveOne();
      await endsCancelled(world, 'a');
      assert.deepEqual(await world.settle([completed(held)]), ['settled']);
      await world.advance(61);
      const queues = [world.queue, world.secondQueue];
      const ids = idsOf(await world.reserveAll({ queues }));
      assert.deepEqual(ids, ['b', 'c', 'later', 'elsewhere']);
    },
  },
  {
    name: 'an id that is not there is unknown: never pushed, done, or cancelled before',
    requires: ['reserve', 'control'],
    async run(world) {
      assert.equal(await world.control.cancel('nobody'), 'unknown');
      await world.push(probe('done'), probe('a'));
      await world.settle([completed(await world.reserveOne())]);
      assert.equal(await world.control.cancel('done'), 'unknown');
      await endsCancelled(world, 'a');
      assert.equal(await world.control.cancel('a'), 'unknown');
    },
  },
  {
    name: 'a job is known by its own id, wherever that stands, and not by what else its text holds',
    requires: ['reserve', 'control'],
    async run(world) {
      await world.push('{"id":"front","data":{"id":"inner","name":"\\"id\\":\\"quoted\\""},"attempts":0}');
      for (const id of ['inner', 'quoted', 'fron']) assert.equal(await world.control.cancel(id), 'unknown', id);
      await endsCancelled(world, 'front');
      assert.deepEqual(await world.reserveAll(), []);
    },
  },
  {
    name: 'with a queue named, only that queue is looked at',
    requires: ['reserve', 'control'],
    async run(world) {
      await world.pushTo(world.secondQueue, [probe('a')]);
      await world.push(probe('b'));
      assert.equal(await world.control.cancel('a', world.queue), 'unknown');
      assert.equal(await world.control.cancel('a', 'never-pushed-to'), 'unknown');
      assert.equal((await world.reserveOne({ queues: [world.secondQueue] })).cancelled ?? false, false);
      assert.equal(await world.control.cancel('a', world.secondQueue), 'signalled');
    },
  },
  {
    name: 'another client cancels a running job: its holder learns it by the next renewal, the others’ do not',
    requires: ['reserve', 'renew', 'control'],
    async run(world) {
      await world.push(probe('a'), probe('b'), probe('c'));
      const reservations = await world.reserveAll();
      assert.equal(await world.otherControl.cancel('b'), 'signalled');
      assert.deepEqual(await world.renew(reservations, 600), ['renewed', 'cancelled', 'renewed']);
      assert.deepEqual(await world.renew(reservations, 600), ['renewed', 'cancelled', 'renewed']);
    },
  },
  {
    name: 'who holds jobs can ask which of them were cancelled, without renewing them',
    requires: ['reserve', 'control'],
    async run(world) {
      const first = await holdCancelled(world, 'a');
      await world.push(probe('b'));
      const second = await world.reserveOne();
      assert.deepEqual(await world.control.cancelled?.([second, first, second]), [false, true, false]);
      await world.settle([cancelled(first)]);
      assert.deepEqual(await world.control.cancelled?.([second]), [false]);
    },
  },
  {
    name: 'the reason that was given reaches who holds the job, and who is handed it next; the last one counts',
    requires: ['renew', 'control'],
    async run(world) {
      await world.push(probe('a'), probe('b'));
      const held = await world.reserveAll({ lease: 600 });
      await world.control.cancel('a', undefined, 'wrong address');
      await world.control.cancel('b', undefined, 'too late');
      await world.control.cancel('b', world.queue, 'no, too early: «é»');
      assert.deepEqual(await world.control.cancelled?.(held), ['wrong address', 'no, too early: «é»']);
      await world.settle(held.map((reservation) => released(reservation)));
      const again = await world.reserveAll();
      assert.deepEqual(
        again.map(({ cancelled: why }) => why),
        ['wrong address', 'no, too early: «é»'],
      );
      await world.settle([cancelled(again[0]!), failed(again[1]!)]);
      await world.push(probe('a'));
      const later = await world.reserveOne();
      assert.equal(later.cancelled ?? false, false);
      await world.control.cancel('a');
      assert.deepEqual(await world.control.cancelled?.([later]), [true]);
    },
  },
  {
    name: 'a renewal that tells of a cancellation renews all the same',
    requires: ['reserve', 'renew', 'control'],
    async run(world) {
      const reservation = await holdCancelled(world, 'a');
      await world.advance(500);
      assert.deepEqual(await world.renew([reservation], 600), ['cancelled']);
      await world.advance(500);
      assert.deepEqual((await world.reserve()).reservations, []);
      assert.deepEqual(await world.settle([cancelled(reservation)]), ['settled']);
    },
  },
  ...ENDS.map(([name, end]): CaseDefinition => ({
    name: `a running job that was cancelled and is settled as ${name} has ended, and a later one of its id runs`,
    requires: name === 'failed' ? ['reserve', 'failed', 'control'] : ['reserve', 'control'],
    async run(world) {
      const reservation = await holdCancelled(world, 'a');
      assert.deepEqual(await world.settle([end(reservation)]), ['settled']);
      assert.deepEqual(await world.reserveAll(), []);
      assert.equal(await world.control.cancel('a'), 'unknown');
      await world.push(probe('a'));
      assert.equal((await world.reserveOne()).cancelled ?? false, false);
    },
  })),
  {
    name: 'a job that failed although it was cancelled can be retried',
    requires: ['reserve', 'failed', 'control'],
    async run(world) {
      const reservation = await holdCancelled(world, 'a');
      await world.settle([failed(reservation)]);
      await world.failedStore.retry(await world.failedEntry('a'), Buffer.from(probe('a')));
      const again = await world.reserveOne();
      assert.equal(again.cancelled ?? false, false);
      assert.equal(idOf(again), 'a');
    },
  },
  {
    name: 'a job that was cancelled while it ran, and is given back, is handed out as cancelled',
    requires: ['reserve', 'control'],
    async run(world) {
      const reservation = await holdCancelled(world, 'a');
      await world.push(probe('b'));
      await world.settle([released(reservation)]);
      const reservations = await world.reserveAll();
      assert.deepEqual(idsOf(reservations), ['b', 'a']);
      assert.deepEqual(cancelledIdsOf(reservations), ['a']);
    },
  },
  {
    name: 'a job that was cancelled while it ran, and whose lease has ended, is handed out as cancelled',
    requires: ['reserve', 'renew', 'control'],
    async run(world) {
      const stale = await holdCancelled(world, 'a');
      await world.push(probe('b'));
      await world.advance(601);
      const reservations = await world.reserveAll();
      assert.deepEqual(idsOf(reservations), ['a', 'b']);
      assert.deepEqual(cancelledIdsOf(reservations), ['a']);
      assert.deepEqual(await world.settle([cancelled(stale)]), ['lost']);
      assert.deepEqual(await world.renew(reservations, 600), ['cancelled', 'renewed']);
    },
  },
  {
    name: 'a job that was cancelled while it ran, and again when it waited, leaves nothing for a later one of its id',
    requires: ['reserve', 'control'],
    async run(world) {
      await world.settle([released(await holdCancelled(world, 'a'))]);
      await endsCancelled(world, 'a');
      await world.push(probe('a'));
      assert.equal((await world.reserveOne()).cancelled ?? false, false);
    },
  },
  {
    name: 'clearing a queue clears what was cancelled in it: a later job of the same id runs',
    requires: ['reserve', 'clear', 'control'],
    async run(world) {
      await holdCancelled(world, 'a');
      assert.equal(await world.connection.clear(world.queue), 1);
      await world.push(probe('a'));
      assert.equal((await world.reserveOne()).cancelled ?? false, false);
    },
  },
];
