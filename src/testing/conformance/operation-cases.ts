/** Jobs are counted, shown in pages, found by their ids, pushed once per key, and cleared. */
import assert from 'node:assert/strict';
import {
  type Entry,
  type FollowUp,
  type Once,
  type PeekedJob,
  type PlacedJob,
  type Pushed,
  type PushedOnce,
  type Reservation,
  WAITING_STATES,
  type WaitingState,
} from '../../connections/contract';
import { uniqueKey, withTies } from '../../payload/ties';
import { type CaseDefinition, cases } from './harness';
import { completed, failed, givenBack, idOf, idsOf, numbered, probe, released, type World } from './world';

/** The ids of all jobs of a state, read in pages of two. */
async function browsed(world: World, state: WaitingState): Promise<readonly unknown[]> {
  const jobs: PeekedJob[] = [];
  for (let pages = 0; pages < 20; pages += 1) {
    const page = await world.connection.queues.peek!(world.queue, state, 2, jobs.at(-1)?.place);
    if (page.length === 0) break;
    assert(page.length <= 2, 'a page holds no more than its limit');
    jobs.push(...page);
  }
  return idsOf(jobs);
}

async function find(world: World, id: string, queue?: string): Promise<PlacedJob | undefined> {
  const found = await world.other.queues.find!(id, queue);
  assert(found !== 'unseen', 'a store can search a handful of jobs completely');
  return found;
}

const inQueue = (world: World, id: string, entry: Partial<FollowUp['entry']> = {}): FollowUp => ({
  queue: world.queue,
  entry: { payload: probe(id), ...entry },
});

async function pushOnce(
  world: World,
  { queue, entry }: FollowUp,
  once: Partial<Once> = {},
  client = world.connection,
): Promise<Pushed | Exclude<PushedOnce, readonly Pushed[]>> {
  const until = (await world.now()) + 60_000;
  const pushed = await client.keys!.pushOnce({ queue, entries: [entry] }, { key: 'nightly 1', until, ...once });
  return typeof pushed === 'string' ? pushed : pushed[0]!;
}

/** Two ready jobs, one delayed, and one reserved for ten minutes. */
async function fill(world: World): Promise<Reservation> {
  await world.push('running', 'a', 'b');
  await world.pushLater('later', 300);
  return world.reserveOne();
}

export const operationCases: readonly CaseDefinition[] = [
  ...cases(['peek', 'reserve', 'delay', 'order'], {
    async 'a peek in pages shows all jobs of a state, in the order in which they become ready'(world) {
      await world.push(...numbered(5, 'r'));
      for (const [place, id] of numbered(5, 'd').entries()) await world.pushLater(id, 300 - place);
      assert.deepEqual(await browsed(world, 'ready'), numbered(5, 'r'));
      assert.deepEqual(await browsed(world, 'delayed'), numbered(5, 'd').toReversed());
      assert.deepEqual(await browsed(world, 'reserved'), []);
      await world.reserve({ limit: 3 });
      assert.deepEqual(await browsed(world, 'ready'), ['r-4', 'r-5']);
      assert.deepEqual(new Set(await browsed(world, 'reserved')), new Set(numbered(3, 'r')));
    },
    async 'a peek in pages shows all jobs that become due at the same time'(world) {
      const dueAt = (await world.now()) + 60_000;
      await world.pushEntries(numbered(5).map((id) => ({ payload: probe(id), dueAt })));
      assert.deepEqual(new Set(await browsed(world, 'delayed')), new Set(numbered(5)));
    },
  }),
  ...cases(['find', 'reserve', 'delay'], {
    async 'any client finds a job by its id in each of its states'(world) {
      await world.push('a', 'b');
      await world.pushLater('c', 60);
      const reservation = await world.reserveOne();
      const before = await world.state();
      const [a, b, c] = [await find(world, 'a'), await find(world, 'b', world.queue), await find(world, 'c')];
      const places = [a, b, c].map((job) => job && `${String(idOf(job))} ${job.state} in ${job.queue}`);
      assert.deepEqual(places, ['a reserved in probes', 'b ready in probes', 'c delayed in probes']);
      const left = c!.at! - (await world.now());
      assert(left > 40_000 && left <= 60_000, `a delayed job says when it becomes ready: in ${left} ms`);
      assert(a!.at! > c!.at!, 'a reserved job says when its lease ends');
      assert.equal(b!.at, undefined);
      assert.deepEqual(await world.state(), before, 'peeking and counting change nothing');
      await world.settles(completed(reservation));
    },
    async 'a job that was never pushed, has ended, or is in another queue is not found'(world) {
      const [done, lost] = await world.holdAll(['a', 'b']);
      await world.settles(completed(done), failed(lost));
      await world.pushTo(world.secondQueue, 'c');
      for (const id of ['a', 'b', 'never']) assert.equal(await find(world, id), undefined, id);
      assert.equal(await find(world, 'c', world.queue), undefined);
      assert.equal((await find(world, 'c'))?.queue, world.secondQueue);
    },
    async 'a job that returned to its queue is found with its current counters'(world) {
      await world.settles(released(await world.hold('a'), 60));
      const found = await find(world, 'a');
      assert.equal(found?.state, 'delayed');
      assert.equal((JSON.parse(found.payload.toString()) as { attempts: number }).attempts, 1);
    },
    async 'payloads without an id or without valid JSON do not disturb a search'(world) {
      await world.pushText('no json', '[]', '{"job":"a"}', probe('last'));
      assert.equal((await find(world, 'last'))?.state, 'ready');
      assert.equal(await find(world, 'no json'), undefined);
    },
  }),
  ...cases(['keys', 'reserve', 'moments'], {
    async 'a job is pushed once per key, whichever client asks again'(world) {
      assert.equal(await pushOnce(world, inQueue(world, 'a')), 'queued');
      assert.equal(await pushOnce(world, inQueue(world, 'b')), 'before');
      assert.equal(await pushOnce(world, inQueue(world, 'c'), {}, world.other), 'before');
      assert.equal(await pushOnce(world, inQueue(world, 'd'), { key: 'nightly 2' }), 'queued');
      await world.handsOut('a', 'd');
    },
    async 'when many clients push once with the same key at the same time, one job is pushed'(world) {
      const results = await world.atOnce(8, (client, id) => pushOnce(world, inQueue(world, id), {}, client));
      assert.equal(results.filter((result) => result === 'queued').length, 1);
      assert.equal((await world.reserveAll()).length, 1);
    },
    async 'the key of a job pushed once outlives the job'(world) {
      await pushOnce(world, inQueue(world, 'a'));
      await world.settles(completed(await world.reserveOne()));
      assert.equal(await pushOnce(world, inQueue(world, 'b')), 'before');
      await world.holds({});
    },
    async 'after its deadline `pushOnce` pushes nothing, and one without a deadline only looks for the key'(world) {
      const now = await world.now();
      assert.equal(await pushOnce(world, inQueue(world, 'a'), { until: now + 10_000 }), 'queued');
      assert.equal(await pushOnce(world, inQueue(world, 'b'), { until: 0 }), 'before');
      assert.equal(await pushOnce(world, inQueue(world, 'b'), { until: 0, key: 'nightly 2' }), 'late');
      assert.equal(await pushOnce(world, inQueue(world, 'b'), { until: now - 1, key: 'nightly 2' }), 'late');
      await world.advance(11);
      assert.equal(await pushOnce(world, inQueue(world, 'c'), { until: now + 10_000 }), 'late');
      await world.handsOut('a');
    },
    async 'a job pushed once becomes ready at its due time and wakes a waiting worker'(world) {
      const dueAt = (await world.now()) + 30_000;
      assert.equal(await pushOnce(world, inQueue(world, 'a', { dueAt })), 'queued');
      await world.holds({ delayed: 1 });
      const wait = world.wait();
      await world.advance(31);
      await world.soon(wait, 'a wait for a job that was pushed once');
      await world.handsOut('a');
      assert.deepEqual(await world.connection.queues.names(), [world.queue]);
    },
  }),
  ...cases(['keys', 'reserve', 'order'], {
    async 'a page is pushed once per key, and a page without jobs uses its key as well'(world) {
      const until = (await world.now()) + 60_000;
      const push = (ids: readonly string[], key: string) => {
        const entries = ids.map((id) => ({ payload: probe(id), ...(id === 'later' && { delay: 60 }) }));
        return world.connection.keys!.pushOnce({ queue: world.queue, entries }, { key, until });
      };
      assert.deepEqual(await push(['a', 'later', 'b'], 'one'), ['queued', 'queued', 'queued']);
      assert.equal(await push(['a', 'later', 'b'], 'one'), 'before');
      assert.deepEqual(await push([], 'two'), []);
      assert.equal(await push(['c'], 'two'), 'before');
      await world.holds({ ready: 2, delayed: 1 });
      await world.handsOut('a', 'b');
    },
  }),
  ...cases(['keys', 'reserve'], {
    async 'jobs of a page whose unique keys are held stay out, and the others go in'(world) {
      const entryOf = (id: string, key: string): Entry => {
        const ties = { unique: { key: uniqueKey('Probe', key), until: 'end' as const } };
        return { payload: withTies(probe(id), ties), ties };
      };
      const entries = [entryOf('a', 'one'), entryOf('b', 'one'), entryOf('c', 'two'), { payload: probe('d') }];
      const once = { key: 'page', until: (await world.now()) + 60_000 };
      const pushed = await world.connection.keys!.pushOnce({ queue: world.queue, entries }, once);
      assert.deepEqual(pushed, ['queued', { duplicate: 'a' }, 'queued', 'queued']);
      assert.deepEqual(new Set(idsOf(await world.reserveAll())), new Set(['a', 'c', 'd']));
    },
    async '`pushOnce` refuses a job whose unique key is held, and its own key then counts as used'(world) {
      const ties = { unique: { key: uniqueKey('Probe', 'one'), until: 'end' as const } };
      const tied = (id: string): FollowUp => inQueue(world, id, { payload: withTies(probe(id), ties), ties });
      assert.equal(await pushOnce(world, tied('a')), 'queued');
      assert.deepEqual(await pushOnce(world, tied('b'), { key: 'nightly 2' }), { duplicate: 'a' });
      const reservation = await world.reserveOne();
      assert.deepEqual(await pushOnce(world, tied('c'), { key: 'nightly 3' }), { duplicate: 'a' });
      await world.settles(completed(reservation));
      assert.equal(await pushOnce(world, tied('d'), { key: 'nightly 2' }), 'before');
      assert.equal(await pushOnce(world, tied('e'), { key: 'nightly 4' }), 'queued');
      await world.settles(givenBack(await world.reserveOne()));
      await world.handsOut('e');
    },
  }),
  ...cases(['reserve', 'exactCounts', 'delay'], {
    async 'the jobs of a queue are counted by state'(world) {
      await fill(world);
      await world.pushTo(world.secondQueue, ...numbered(3));
      await world.holds({ ready: 2, delayed: 1, reserved: 1 });
      await world.holds({ ready: 3 }, world.secondQueue, world.other);
    },
  }),
  ...cases([], {
    async 'an unused queue is empty'(world) {
      await world.holds({}, 'unused');
    },
  }),
  ...cases(
    [],
    {
      async 'estimated counts are integers of 0 or more'(world) {
        await world.push('a');
        const counts = await world.connection.queues.counts(world.queue);
        for (const state of WAITING_STATES)
          assert(Number.isInteger(counts[state]) && counts[state] >= 0, `${state} is a number`);
      },
    },
    ['exactCounts'],
  ),
  ...cases(
    ['exactCounts'],
    {
      async 'a driver that hands out no jobs keeps none waiting'(world) {
        await world.push('a');
        await world.holds({});
      },
    },
    ['reserve'],
  ),
  ...cases(['reserve', 'peek', 'delay', 'order'], {
    async 'a peek shows the jobs of a state in the order in which they become ready, with their times'(world) {
      await fill(world);
      await world.pushLater('sooner', 100);
      const peeks = WAITING_STATES.map((state) => world.connection.queues.peek!(world.queue, state, 10));
      const [ready, delayed, reserved] = await Promise.all(peeks);
      assert.deepEqual(idsOf(ready!), ['a', 'b']);
      assert.deepEqual(idsOf(delayed!), ['sooner', 'later']);
      assert.deepEqual(idsOf(reserved!), ['running']);
      const [sooner, later] = delayed!;
      const apart = later!.at! - sooner!.at!;
      assert(apart > 180_000 && apart <= 200_100, `they are due 200 s apart, not ${apart} ms`);
      const leaseAfter = reserved![0]!.at! - later!.at!;
      assert(leaseAfter > 280_000 && leaseAfter < 320_000, `the lease ends 300 s later, not ${leaseAfter} ms`);
    },
  }),
  ...cases(['reserve', 'peek', 'order'], {
    async 'a peek shows no more than its limit'(world) {
      await world.push(...numbered(5));
      assert.deepEqual(idsOf(await world.connection.queues.peek!(world.queue, 'ready', 2)), ['probe-1', 'probe-2']);
    },
  }),
  ...cases(['reserve', 'peek', 'exactCounts', 'delay'], {
    async 'peeking and counting change nothing'(world) {
      const reservation = await fill(world);
      const before = await world.state();
      assert.deepEqual(await world.state(), before);
      await world.settles(completed(reservation));
      world.handedOut(await world.reserveAll(), ['a', 'b']);
    },
  }),
  ...cases(['peek'], {
    async 'a peek at an unused queue shows nothing'(world) {
      for (const state of WAITING_STATES)
        assert.deepEqual(await world.connection.queues.peek!('unused', state, 10), []);
    },
  }),
  ...cases(['reserve', 'clear', 'delay'], {
    async 'clearing removes ready, delayed and reserved jobs and returns their number'(world) {
      const reservation = await fill(world);
      await world.pushTo(world.secondQueue, ...numbered(1));
      assert.equal(await world.connection.queues.clear!(world.queue), 4);
      assert.equal(await world.connection.queues.clear!(world.queue), 0);
      await world.loses(completed(reservation));
      await world.advance(601);
      await world.handsOut();
      assert.equal((await world.reserveAll({ queues: [world.secondQueue] })).length, 1);
    },
  }),
  ...cases(['reserve', 'clear', 'failed'], {
    async 'clearing a queue keeps its failed jobs'(world) {
      await world.failProbe('a');
      assert.equal(await world.connection.queues.clear!(world.queue), 0);
      assert.equal(await world.failedStore.count(world.queue), 1);
    },
  }),
  ...cases(['reserve', 'clear'], {
    async 'clearing removes even more jobs than one call can, and the queue can be used again'(world) {
      await world.push(...numbered(230));
      assert.equal(await world.connection.queues.clear!(world.queue), 230);
      await world.push('b');
      await world.handsOut('b');
    },
  }),
  ...cases(['reserve', 'delay'], {
    async 'every client knows the queues that were pushed to'(world) {
      await world.push('a');
      await world.pushLater('b', 60, world.secondQueue);
      await world.reserve({ queues: ['only-looked-at'] });
      assert.deepEqual((await world.other.queues.names()).toSorted(), world.queues.toSorted());
    },
  }),
  ...cases(['failed', 'control'], {
    async 'a queue is forgotten once it has no jobs, and known again after the next push'(world) {
      const { connection, queue } = world;
      if (connection.queues.forget === undefined) return;
      assert.equal(await connection.queues.forget(queue), false);
      await world.pushLater('a', 60);
      assert.equal(await connection.queues.forget(queue), false);
      await world.advance(61);
      await world.failProbe('b');
      await connection.queues.clear!(queue);
      assert.equal(await connection.queues.forget(queue), false);
      await world.failedStore.flush(queue);
      await world.control.pause(queue);
      assert.deepEqual(await connection.queues.names(), [queue]);
      assert.equal(await connection.queues.forget(queue), true);
      assert.equal(await connection.queues.forget(queue), false);
      assert.deepEqual([await world.other.queues.names(), await world.control.paused()], [[], []]);
      await world.push('c');
      assert.deepEqual(await world.other.queues.names(), [queue]);
      await world.handsOut('c');
    },
  }),
];
