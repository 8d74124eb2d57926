/** Delayed jobs become ready at their times, never earlier; a call that waits is answered when there is work. */
import assert from 'node:assert/strict';
import type { Seconds } from '../../base/clock';
import type { Entry } from '../../connections/contract';
import { type CaseDefinition, cases } from './harness';
import { completed, idOf, idsOf, numbered, probe, rejectsWithCode, released, type World } from './world';

/** More jobs than one call can move. */
const MANY = 230;

const distinctIn = (delay: Seconds): readonly Entry[] => [{ payload: probe('a'), delay, distinct: true }];

/** Reserves like a worker: while there is no job, it waits as long as the store says. */
export async function firstJob(world: World, queues = [world.queue]) {
  let within: number | undefined;
  for (;;) {
    const { reservations, nextIn } = await world.reserve({ queues, within });
    if (reservations[0] !== undefined) return reservations[0];
    within = Math.min(nextIn, 30);
  }
}

export const delayCases: readonly CaseDefinition[] = [
  ...cases(['reserve', 'delay'], {
    async 'a delayed job is not handed out early, and the reply says when to look again'(world) {
      await world.pushLater('a', 600);
      await world.advance(500);
      const { reservations, nextIn } = await world.reserve();
      assert.deepEqual(reservations, []);
      assert(nextIn > 80 && nextIn <= 100, `it is due in 100 s, not in ${nextIn} s`);
      await world.advance(101);
      await world.handsOut('a');
    },
    async 'a delay of 0 or less means no delay'(world) {
      await world.pushLater('a', 0);
      await world.pushLater('b', -5);
      world.handedOut(await world.reserveAll(), ['a', 'b']);
    },
    async 'one push can contain both ready and delayed jobs'(world) {
      const entries = [{ payload: probe('a'), delay: 60 }, { payload: probe('b') }, { payload: probe('c') }];
      await world.pushEntries(entries);
      world.handedOut(await world.reserveAll(), ['b', 'c']);
      await world.advance(61);
      await world.handsOut('a');
    },
    async 'when many jobs become due at once, each is handed out exactly once'(world) {
      await world.pushEntries(numbered(MANY).map((id) => ({ payload: probe(id), delay: 60 })));
      await world.advance(61);
      const ids = idsOf(await world.reserveAll());
      assert.equal(ids.length, MANY);
      assert.equal(new Set(ids).size, MANY);
    },
    async 'a payload that must be distinct is refused while an equal one is delayed, and nothing changes'(world) {
      await world.pushEntries(distinctIn(60));
      const before = await world.state();
      const again = (): Promise<void> => world.pushEntries(distinctIn(900));
      await rejectsWithCode(again, 'E_DUPLICATE_PAYLOAD', 'a payload that waits already');
      assert.deepEqual(await world.state(), before);
      await world.advance(61);
      await world.settles(completed(await world.reserveOne()));
      await world.pushEntries(distinctIn(60));
      await world.advance(61);
      await world.handsOut('a');
    },
    async 'a job released with a delay is not handed out before its end'(world) {
      await world.settle([released(await world.hold('a'), 600)]);
      await world.advance(500);
      await world.handsOut();
      await world.advance(101);
      await world.handsOut('a');
    },
    async 'a waiting call brings a delayed job that another client pushed during the wait'(world) {
      const job = firstJob(world);
      await world.other.push(world.queue, [{ payload: probe('a'), delay: 0.1 }]);
      await world.advance(0.1);
      assert.equal(idOf(await world.soon(job, 'a delayed job')), 'a');
    },
  }),
  ...cases(['reserve', 'delay', 'renew'], {
    async 'the time to look again is the earliest of all requested queues'(world) {
      const queues = ['first', 'second', 'third'];
      await world.pushLater('a', 600, 'first');
      await world.pushLater('b', 300, 'second');
      await world.pushTo('third', 'c');
      await world.reserveOne({ queues: ['third'], lease: 450 });
      const { nextIn } = await world.reserve({ queues });
      assert(nextIn > 280 && nextIn <= 300, `the second queue has a job in 300 s, not in ${nextIn} s`);
      await world.advance(301);
      await world.reserveOne({ queues });
      const later = await world.reserve({ queues });
      assert(later.nextIn > 130 && later.nextIn <= 149, `a lease ends in 149 s, not in ${later.nextIn} s`);
    },
  }),
  ...cases(['reserve', 'delay', 'peek'], {
    async 'a delay can have fractions of a second'(world) {
      const entries = [100.25, 100.75].map((delay) => ({ payload: probe(`in-${delay}-s`), delay }));
      await world.pushEntries(entries);
      const [first, second] = await world.connection.queues.peek!(world.queue, 'delayed', 2);
      const apart = second!.at! - first!.at!;
      assert(apart >= 499 && apart <= 501, `they are due 500 ms apart, not ${apart}`);
    },
  }),
  ...cases(['reserve', 'moments'], {
    async 'a due time is judged by the clock of the store, not by the clock of the pusher'(world) {
      const now = await world.now();
      await world.pushEntries([{ payload: probe('a'), dueAt: now + 600_000 }]);
      await world.advance(500);
      const { reservations, nextIn } = await world.reserve();
      assert.deepEqual(reservations, []);
      assert(nextIn > 80 && nextIn <= 100.01, `it is due in 100 s, not in ${nextIn} s`);
      await world.advance(101);
      await world.handsOut('a');
    },
    async 'a job given back until a given time becomes ready at that time by the clock of the store'(world) {
      await world.push('a');
      const dueAt = (await world.now()) + 600_000;
      // The delay that a holder with a wrong clock would compute.
      await world.settles({ ...released(await world.reserveOne(), 5), dueAt });
      await world.advance(599);
      await world.handsOut();
      await world.advance(1.5);
      await world.handsOut('a');
    },
    async 'a reply tells the time of the store'(world) {
      await world.push('a');
      const before = await world.now();
      const told = (await world.reserve()).now!;
      await world.advance(600);
      const later = (await world.exchange([], 1)).reply.now!;
      assert(told >= before - 1000 && told < before + 20_000, `it was ${before}, and the reply says ${told}`);
      assert(later - told >= 600_000 && later - told < 620_000, `600 s later it says ${later - told} ms later`);
    },
  }),
  ...cases(['reserve', 'moments', 'peek'], {
    async 'a due time is kept to the millisecond, and a job whose due time has passed is ready at once'(world) {
      const now = Math.round(await world.now());
      const moments = [now + 600_250, now + 600_750];
      const entries = moments.map((dueAt) => ({ payload: probe(`at-${dueAt}`), dueAt }));
      await world.pushEntries([...entries, { payload: probe('passed'), dueAt: now - 3_600_000 }]);
      const waiting = await world.connection.queues.peek!(world.queue, 'delayed', 10);
      const later = waiting.map(({ at }) => at!).filter((at) => at > now);
      assert.deepEqual(later, moments);
      await world.handsOut('passed');
    },
  }),
  ...cases(['reserve', 'delay', 'requeue'], {
    async 'delayed jobs become ready in the order of their due times'(world) {
      await world.pushLater('third', 300);
      await world.pushLater('first', 100);
      await world.pushLater('second', 200);
      await world.advance(400);
      await world.handsOut('first', 'second', 'third');
    },
  }),
  ...cases(['reserve', 'delay', 'order'], {
    async 'jobs with equal delays in one push become ready in the order of the push'(world) {
      const entries = ['c', 'a', 'b'].map((id) => ({ payload: probe(id), delay: 60 }));
      await world.pushEntries(entries);
      await world.advance(61);
      await world.handsOut('c', 'a', 'b');
    },
  }),
  ...cases(['reserve', 'delay', 'exactCounts', 'order'], {
    async 'a delayed job in a lower queue becomes ready even while higher queues are never empty'(world) {
      await world.pushLater('low', 60, world.secondQueue);
      await world.push(...numbered(5));
      await world.advance(61);
      const { reservations } = await world.reserve({ queues: world.queues });
      assert.deepEqual(idsOf(reservations), ['probe-1']);
      await world.holds({ ready: 1 }, world.secondQueue);
    },
  }),
  ...cases(['reserve'], {
    async 'a waiting call brings the job that another client pushes to any of its queues'(world) {
      const job = firstJob(world, world.queues);
      await world.other.push(world.secondQueue, [{ payload: probe('a') }]);
      assert.equal(idOf(await world.soon(job, 'a job that was pushed to the second queue')), 'a');
    },
    async 'a push between the last reserve and the wait ends the wait'(world) {
      await world.handsOut();
      await world.otherPushes('a');
      await world.soon(world.wait(), 'a wait that starts after the push');
      await world.handsOut('a');
    },
    async 'a call that only waits hands out nothing'(world) {
      await world.push('a');
      const { reservations } = await world.soon(world.wait(), 'a wait while a job is ready');
      assert.deepEqual(reservations, []);
      await world.handsOut('a');
    },
    async 'each of two waiting workers gets one of two jobs'(world) {
      const jobs = Promise.all([firstJob(world), firstJob(world)]);
      await world.otherPushes('a', 'b');
      const ids = idsOf(await world.soon(jobs, 'a job for both'));
      assert.deepEqual(new Set(ids), new Set(['a', 'b']));
    },
    async 'a wait ends when another worker gives a job back'(world) {
      const reservation = await world.hold('a');
      const job = firstJob(world);
      await world.settle([released(reservation)], 'alone', world.other);
      assert.equal(idOf(await world.soon(job, 'a job that was released')), 'a');
    },
    async 'a wait goes well after one that was aborted'(world) {
      const abort = new AbortController();
      const first = world.wait({ signal: abort.signal });
      abort.abort();
      await first;
      const job = firstJob(world);
      await world.otherPushes('a');
      assert.equal(idOf(await world.soon(job, 'a job after an aborted wait')), 'a');
    },
    async 'a wait ends when its time is over'(world) {
      const wait = world.wait({ within: 0.05 });
      await world.advance(0.05);
      await world.soon(wait, 'the end of a wait of 50 ms');
    },
    async 'a wait ends at once when it is aborted, or was aborted before it began'(world) {
      const abort = new AbortController();
      const wait = world.wait({ signal: abort.signal });
      abort.abort();
      await world.soon(wait, 'the end of an aborted wait');
      await world.soon(world.wait({ signal: abort.signal }), 'the end of a wait that was aborted before');
    },
    async 'a job that comes while a wait is aborted is handed out, by the wait or later'(world) {
      const abort = new AbortController();
      const wait = world.wait({ limit: 1, signal: abort.signal });
      await world.otherPushes('a');
      abort.abort();
      const { reservations } = await world.soon(wait, 'the end of an aborted wait');
      const job = reservations[0] ?? (await world.soon(firstJob(world), 'a job that the wait did not bring'));
      assert.equal(idOf(job), 'a');
    },
  }),
  ...cases(['reserve', 'failed'], {
    async 'a waiting call brings a failed job that is retried'(world) {
      const entry = await world.failProbe('a');
      const job = firstJob(world);
      assert.equal(await world.failedStore.retry(entry, Buffer.from(probe('again'))), true);
      assert.equal(idOf(await world.soon(job, 'a retried job')), 'again');
    },
  }),
];
