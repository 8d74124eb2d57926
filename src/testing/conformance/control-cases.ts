/** Orders reach every worker through the store: to pause a queue, to restart, and to cancel a job in whatever state it is. */
import assert from 'node:assert/strict';
import type { Entry, Reservation } from '../../connections/contract';
import { debounceKey, uniqueKey, withTies } from '../../payload/ties';
import { firstJob } from './delay-cases';
import { type CaseDefinition, cases } from './harness';
import {
  cancelled,
  completed,
  failed,
  idOf,
  idsOf,
  isToRun,
  numbered,
  probe,
  released,
  releasedForFree,
  type World,
} from './world';

/** More delayed jobs than one call can look at. */
const MANY = 350;

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

export const controlCases: readonly CaseDefinition[] = [
  ...cases(['reserve', 'delay', 'control'], {
    async 'a paused queue hands out nothing, and after a resume hands out every job'(world) {
      await world.push('a');
      await world.pushLater('later', 60);
      assert.equal(await world.control.pause(world.queue), true);
      await world.push('b');
      await world.advance(61);
      const { reservations, paused } = await world.reserve({ limit: 10 });
      assert.deepEqual([reservations, paused], [[], [world.queue]]);
      assert.equal(await world.control.resume(world.queue), true);
      const ids = idsOf(await world.reserveAll());
      assert.deepEqual(new Set(ids), new Set(['a', 'b', 'later']));
      assert.equal(ids.length, 3);
    },
    async 'a delayed job that is cancelled never runs'(world) {
      await world.pushLater('a', 60);
      await world.pushLater('b', 60);
      assert.match(await world.control.cancel('a'), /^(removed|marked)$/);
      await world.advance(61);
      assert.deepEqual(idsOf((await world.reserveAll()).filter(isToRun)), ['b']);
    },
  }),
  ...cases(['reserve', 'delay', 'moments', 'reschedule'], {
    async 'a delayed job that is moved is handed out at its new moment, whether that is later or earlier'(world) {
      await world.pushLater('a', 60);
      await world.pushLater('b', 600);
      const soon = (await world.now()) + 100_000;
      assert.equal(await world.control.reschedule!('a', { delay: 300 }), 'rescheduled');
      assert.equal(await world.otherControl.reschedule!('b', { dueAt: soon }, world.queue), 'rescheduled');
      await world.advance(80);
      await world.handsOut();
      await world.advance(40);
      await world.handsOut('b');
      await world.advance(150);
      await world.handsOut();
      await world.advance(50);
      await world.handsOut('a');
    },
    async 'a delayed job that is moved to now, or into the past, is ready at once, behind the jobs that are ready'(
      world,
    ) {
      await world.push('first');
      await world.pushLater('a', 600);
      await world.pushLater('b', 600);
      await world.pushLater('c', 600);
      assert.equal(await world.control.reschedule!('a', { delay: 0 }), 'ready');
      assert.equal(await world.control.reschedule!('c', { dueAt: (await world.now()) - 60_000 }), 'ready');
      await world.holds({ ready: 3, delayed: 1 });
      world.handedOut(await world.reserveAll(), ['first', 'a', 'c']);
    },
    async 'a moved job keeps its counters, so its next attempt is the one that it waited for'(world) {
      await world.settle([released(await world.hold('a'), 600)]);
      assert.equal(await world.control.reschedule!('a', { delay: 900 }), 'rescheduled');
      assert.equal(await world.control.reschedule!('a', { delay: 0 }), 'ready');
      assert.equal((await world.reserveOne()).counters.attempts, 2);
    },
    async 'a job that does not wait for a moment stays as it is'(world) {
      const { control } = world;
      const held = await world.hold('running');
      await world.push('ready');
      const moves = [{ delay: 0 }, { delay: 600 }];
      for (const to of moves) {
        assert.equal(await control.reschedule!('running', to), 'running');
        assert.equal(await control.reschedule!('ready', to), 'ready');
        assert.equal(await control.reschedule!('nobody', to), 'unknown');
      }
      await world.holds({ ready: 1, reserved: 1 });
      await world.settles(completed(held));
      await world.handsOut('ready');
      assert.equal(await control.reschedule!('running', { delay: 600 }), 'unknown');
    },
    async 'a job is moved only in the queue that is named'(world) {
      await world.pushLater('a', 600, world.secondQueue);
      assert.equal(await world.control.reschedule!('a', { delay: 0 }, world.queue), 'unknown');
      await world.holds({ delayed: 1 }, world.secondQueue);
      assert.equal(await world.control.reschedule!('a', { delay: 0 }, world.secondQueue), 'ready');
      await world.holds({ ready: 1 }, world.secondQueue);
    },
    async 'a job is found among many delayed ones, wherever it waits'(world) {
      const ids = numbered(MANY);
      await world.pushEntries(ids.map((id, at) => ({ payload: probe(id), delay: 600 + at })));
      const some = [ids[0]!, ids[MANY / 2]!, ids[MANY - 1]!];
      for (const id of some) assert.equal(await world.control.reschedule!(id, { delay: 0 }), 'ready', id);
      assert.equal(await world.control.reschedule!('nobody', { delay: 0 }), 'unknown');
      world.handedOut(await world.reserveAll(), some);
    },
    async 'a waiting call brings a job that another client has made ready'(world) {
      await world.pushLater('a', 600);
      await world.pushLater('b', 900);
      const first = firstJob(world);
      await world.otherControl.reschedule!('b', { delay: 0 });
      assert.equal(idOf(await world.soon(first, 'a job that was made ready')), 'b');
    },
    async 'a job that is made ready again and again while workers take it is handed out once'(world) {
      await world.pushEntries(numbered(20).map((id) => ({ payload: probe(id), delay: 600 })));
      const taken: Reservation[] = [];
      await world.atOnce(20, async (client, id) => {
        await client.control!.reschedule!(id, { delay: 0 });
        taken.push(...(await world.reserve({ limit: 3 }, client)).reservations);
        await client.control!.reschedule!(id, { delay: 0 });
      });
      taken.push(...(await world.reserveAll()));
      assert.equal(taken.length, 20);
      assert.deepEqual(new Set(idsOf(taken)), new Set(numbered(20)));
      await world.holds({ reserved: 20 });
    },
  }),
  ...cases(['reserve', 'delay', 'moments', 'reschedule', 'keys'], {
    async 'a debounced job waits for its own moment, but can be made ready, and the next one with its key waits then'(
      world,
    ) {
      const key = debounceKey('Probe', 'one', world.queue);
      const entry = (id: string): Entry => {
        const ties = { debounce: { key, longest: undefined } };
        return { payload: withTies(probe(id), ties), delay: 600, ties };
      };
      await world.pushed([entry('a')]);
      const before = await world.state();
      assert.equal(await world.control.reschedule!('a', { delay: 900 }), 'debounced');
      assert.deepEqual(await world.state(), before);
      assert.equal(await world.control.reschedule!('a', { delay: 0 }), 'ready');
      assert.deepEqual(await world.pushed([entry('b')]), ['queued']);
      assert.deepEqual(await world.pushed([entry('c')]), [{ replaced: 'b' }]);
      await world.holds({ ready: 1, delayed: 1 });
      await world.settle([released(await world.reserveOne(), 600)]);
      assert.equal(
        await world.control.reschedule!('a', { delay: 900 }),
        'rescheduled',
        'it waits for its next attempt',
      );
    },
    async 'a moved job keeps its unique key'(world) {
      const tied = (id: string): Entry => {
        const ties = { unique: { key: uniqueKey('Probe', 'one'), until: 'end' as const } };
        return { payload: withTies(probe(id), ties), delay: 600, ties };
      };
      await world.pushed([tied('a')]);
      await world.control.reschedule!('a', { delay: 900 });
      assert.deepEqual(await world.pushed([tied('b')]), [{ duplicate: 'a' }]);
      await world.control.reschedule!('a', { delay: 0 });
      assert.deepEqual(await world.pushed([tied('b')]), [{ duplicate: 'a' }]);
      await world.settles(completed(await world.reserveOne()));
      assert.deepEqual(await world.pushed([tied('b')]), ['queued']);
    },
  }),
  ...cases(['reserve', 'control'], {
    async 'every client sees a pause and a resume in its next reserve'(world) {
      await world.push('a');
      await world.reserve({ queues: [world.secondQueue] }, world.other);
      await world.control.pause(world.queue);
      const reply = await world.reserve({}, world.other);
      assert.deepEqual([reply.reservations, reply.paused], [[], [world.queue]]);
      assert.deepEqual((await world.exchange([], 1)).reply.paused, [world.queue]);
      assert.deepEqual(await world.otherControl.paused(), [{ queue: world.queue }]);
      await world.control.resume(world.queue);
      const after = await world.reserve({}, world.other);
      assert.deepEqual([idsOf(after.reservations), after.paused ?? []], [['a'], []]);
    },
    async 'a reserve still serves the other queues while one of them is paused'(world) {
      await world.push('a');
      await world.pushTo(world.secondQueue, 'b');
      await world.control.pause(world.queue);
      const { reservations, paused, nextIn } = await world.reserve({ queues: world.queues });
      assert.deepEqual([idsOf(reservations), paused], [['b'], [world.queue]]);
      assert.equal(nextIn > 0, true, 'a paused queue is no reason to look again now');
    },
    async 'a job in a paused queue can be cancelled'(world) {
      await world.push('a', 'b');
      await world.control.pause(world.queue);
      assert.match(await world.control.cancel('a'), /^(removed|marked)$/);
      await world.control.resume(world.queue);
      assert.deepEqual(idsOf((await world.reserveAll()).filter(isToRun)), ['b']);
    },
    async 'a timed pause reports its end and ends by itself, even if nobody looks in the meantime'(world) {
      await world.push('a');
      await world.pushTo(world.secondQueue, 'b');
      const began = await world.now();
      assert.equal(await world.control.pause(world.queue, 600), true);
      await world.control.pause(world.secondQueue);
      const [pause] = (await world.otherControl.paused()).filter(({ queue }) => queue === world.queue);
      const seconds = ((pause?.until ?? 0) - began) / 1000;
      assert(seconds > 595 && seconds < 660, `the pause ends in 600 s, not in ${seconds} s`);
      const { reservations, paused, nextIn } = await world.reserve({ queues: world.queues });
      assert.deepEqual([reservations, paused], [[], world.queues]);
      assert(nextIn > 540 && nextIn <= 600, `the time to look again is in 600 s, not in ${nextIn} s`);
      await world.advance(601);
      assert.deepEqual(await world.otherControl.paused(), [{ queue: world.secondQueue }]);
      assert.equal(await world.control.resume(world.queue), false, 'the queue is not paused any more');
      assert.equal(await world.control.pause(world.queue, 600), true);
      await world.advance(601);
      const after = await world.reserve({}, world.other);
      assert.deepEqual([idsOf(after.reservations), after.paused ?? []], [['a'], []]);
      assert.deepEqual(await world.control.paused(), [{ queue: world.secondQueue }]);
    },
    async 'the last call decides how long a queue is paused'(world) {
      const { control, queue } = world;
      await world.push('a');
      await control.pause(queue, 60);
      assert.equal(await control.pause(queue), false);
      await world.advance(61);
      assert.deepEqual(await control.paused(), [{ queue }], 'it stays paused until it is resumed');
      await world.handsOut();
      assert.equal(await control.pause(queue, 60), false);
      await world.advance(30);
      assert.equal(await control.pause(queue, 60), false);
      await world.advance(40);
      assert.deepEqual((await world.reserve()).paused, [queue], 'the second pause extends the first');
      assert.equal(await control.resume(queue), true);
      await control.pause(queue);
      await world.advance(61);
      assert.deepEqual((await world.reserve()).paused, [queue], 'an end from before the resume is forgotten');
      await control.pause(queue, 60);
      await world.advance(61);
      await world.handsOut('a');
    },
    async 'after a restart every reserve of every client reports the same restart, and before the first one none'(
      world,
    ) {
      await world.push('a');
      for (const { restart } of [await world.reserve(), await world.reserve()]) assert.equal(restart, undefined);
      const restarts = async (): Promise<ReadonlySet<string | undefined>> => {
        const empty = await world.reserve({}, world.other);
        await world.push('a');
        const full = await world.reserve();
        const { reply } = await world.exchange(full.reservations.map(completed), 1);
        const again = await world.reserve();
        return new Set([empty.restart, full.restart, reply.restart, again.restart]);
      };
      await world.control.restart();
      const [first, ...others] = await restarts();
      assert.equal(typeof first, 'string');
      assert.deepEqual(others, [], 'all report the same restart');
      await world.otherControl.restart();
      const [second, ...more] = await restarts();
      assert.deepEqual(more, [], 'all report the same restart');
      assert.notEqual(second, first);
    },
    async 'a waiting worker wakes when its queue is resumed by another client'(world) {
      await world.push('a');
      await world.control.pause(world.queue);
      await world.handsOut();
      const wait = world.wait();
      await world.otherControl.resume(world.queue);
      await world.soon(wait, 'a wake-up by a resume');
      await world.handsOut('a');
    },
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
  ...cases(['reserve', 'delay', 'renew', 'control'], {
    async 'jobs in a paused queue do not set a time to look again'(world) {
      await world.push('held', 'ready');
      await world.reserveOne({ lease: 30 });
      await world.pushLater('later', 60);
      await world.pushLater('b', 300, world.secondQueue);
      await world.control.pause(world.queue);
      assert.equal((await world.reserve()).nextIn, Infinity);
      const { nextIn } = await world.reserve({ queues: world.queues });
      assert(nextIn > 280 && nextIn <= 300, `the other queue has a job in 300 s, not in ${nextIn} s`);
    },
  }),
  ...cases(['reserve', 'renew', 'control'], {
    async 'running jobs can be renewed, given back and completed while their queue is paused'(world) {
      const [a, b] = await world.holdAll(['a', 'b']);
      await world.control.pause(world.queue);
      assert.deepEqual(await world.connection.renew!([a, b], 600), ['renewed', 'renewed']);
      const { results, reply } = await world.exchange([completed(a), released(b)], 5);
      assert.deepEqual(results, ['settled', 'settled']);
      assert.deepEqual(reply.reservations, []);
      await world.control.resume(world.queue);
      await world.handsOut('b');
    },
    async 'a job whose lease ends in a paused queue is kept, and runs again after the pause'(world) {
      await world.hold('a', 60);
      await world.control.pause(world.queue);
      await world.advance(61);
      await world.handsOut();
      await world.control.resume(world.queue);
      assert.equal((await world.reserveOne()).counters.crashes, 1);
    },
    async 'when another client cancels a running job, only that job is reported as cancelled by the next renewal'(
      world,
    ) {
      const reservations = await world.holdAll(['a', 'b', 'c']);
      assert.equal(await world.otherControl.cancel('b'), 'signalled');
      assert.deepEqual(await world.connection.renew!(reservations, 600), ['renewed', 'cancelled', 'renewed']);
      assert.deepEqual(await world.connection.renew!(reservations, 600), ['renewed', 'cancelled', 'renewed']);
    },
    async 'a renewal that reports a cancellation still renews the lease'(world) {
      const reservation = await holdCancelled(world, 'a');
      await world.advance(500);
      assert.deepEqual(await world.connection.renew!([reservation], 600), ['cancelled']);
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
      assert.deepEqual(await world.connection.renew!(reservations, 600), ['cancelled', 'renewed']);
    },
  }),
  ...cases(['control'], {
    async 'pausing and resuming report whether they changed anything, and paused queues are listed in order'(world) {
      const { control } = world;
      assert.deepEqual(await control.paused(), []);
      assert.equal(await control.resume('b'), false);
      for (const queue of ['b', 'c', 'a']) assert.equal(await control.pause(queue), true);
      assert.equal(await control.pause('b'), false);
      assert.deepEqual(await control.paused(), [{ queue: 'a' }, { queue: 'b' }, { queue: 'c' }]);
      assert.equal(await control.resume('b'), true);
      assert.equal(await control.resume('b'), false);
      assert.deepEqual(await control.paused(), [{ queue: 'a' }, { queue: 'c' }]);
    },
    async 'pausing a queue does not list it among the queues pushed to'(world) {
      await world.control.pause('never-pushed-to');
      assert.deepEqual(await world.connection.queues.names(), []);
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
      assert.equal(await world.connection.queues.clear!(world.queue), 1);
      await world.push('a');
      await world.handsOutToRun();
    },
  }),
];
