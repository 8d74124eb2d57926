/** Jobs are shown in pages, found by their ids, and pushed once per key. */
import assert from 'node:assert/strict';
import type {
  Entry,
  FollowUp,
  Once,
  PeekedJob,
  PlacedJob,
  Pushed,
  PushedOnce,
  WaitingState,
} from '../../connections/contract';
import { uniqueKey, withTies } from '../../payload/ties';
import { cases, type CaseDefinition } from './cases';
import { completed, failed, givenBack, idOf, idsOf, numbered, probe, released } from './world';
import type { World } from './world';

/** The ids of all jobs of a state, read in pages of two. */
async function browsed(world: World, state: WaitingState): Promise<readonly unknown[]> {
  const jobs: PeekedJob[] = [];
  for (let pages = 0; pages < 20; pages += 1) {
    const page = await world.connection.peek(world.queue, state, 2, jobs.at(-1)?.place);
    if (page.length === 0) break;
    assert(page.length <= 2, 'a page holds no more than its limit');
    jobs.push(...page);
  }
  return idsOf(jobs);
}

async function find(world: World, id: string, queue?: string): Promise<PlacedJob | undefined> {
  const found = await world.other.find!(id, queue);
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
  const pushed = await client.pushOnce!({ queue, entries: [entry] }, { key: 'nightly 1', until, ...once });
  return typeof pushed === 'string' ? pushed : pushed[0]!;
}

export const operationCases: readonly CaseDefinition[] = [
  ...cases(['operations', 'reserve', 'delay', 'order'], {
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
  ...cases(['operations', 'reserve', 'delay'], {
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
  ...cases(['operations', 'reserve', 'moments'], {
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
      assert.deepEqual(await world.connection.queues(), [world.queue]);
    },
  }),
  ...cases(['operations', 'reserve', 'order'], {
    async 'a page is pushed once per key, and a page without jobs uses its key as well'(world) {
      const until = (await world.now()) + 60_000;
      const push = (ids: readonly string[], key: string) => {
        const entries = ids.map((id) => ({ payload: probe(id), ...(id === 'later' && { delay: 60 }) }));
        return world.connection.pushOnce!({ queue: world.queue, entries }, { key, until });
      };
      assert.deepEqual(await push(['a', 'later', 'b'], 'one'), ['queued', 'queued', 'queued']);
      assert.equal(await push(['a', 'later', 'b'], 'one'), 'before');
      assert.deepEqual(await push([], 'two'), []);
      assert.equal(await push(['c'], 'two'), 'before');
      await world.holds({ ready: 2, delayed: 1 });
      await world.handsOut('a', 'b');
    },
  }),
  ...cases(['operations', 'ties', 'reserve'], {
    async 'jobs of a page whose unique keys are held stay out, and the others go in'(world) {
      const entryOf = (id: string, key: string): Entry => {
        const ties = { unique: { key: uniqueKey('Probe', key), until: 'end' as const } };
        return { payload: withTies(probe(id), ties), ties };
      };
      const entries = [entryOf('a', 'one'), entryOf('b', 'one'), entryOf('c', 'two'), { payload: probe('d') }];
      const once = { key: 'page', until: (await world.now()) + 60_000 };
      const pushed = await world.connection.pushOnce!({ queue: world.queue, entries }, once);
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
];
