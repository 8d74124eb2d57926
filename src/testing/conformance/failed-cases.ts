/** Failed jobs are kept until they are retried or removed, and a retry happens once. */
import assert from 'node:assert/strict';
import type { FailedEntry, ListedEntry } from '../../connections/failed-store';
import { fenceOf } from '../../payload/counters';
import { type CaseDefinition, cases } from './harness';
import { completed, counted, failed, idsOf, numbered, probe, probeWith, type World } from './world';

/** Fails jobs with these ids a second apart, so that the store has them in this order. `queue/id` names another queue. */
async function failInOrder(world: World, ...ids: readonly string[]): Promise<void> {
  for (const each of ids) {
    const [id, queue] = each.split('/').toReversed();
    await world.failProbe(id!, queue);
    await world.advance(1);
  }
}

/** Another job with the id of `probe('a')`. */
const ANOTHER = probe('a').replace('"command":{}', '"command":{"order":2}');

const foreign = (id: string, more: Partial<FailedEntry> = {}): Omit<FailedEntry, 'failedAt'> => ({
  id,
  name: 'Probe',
  exception: 'Error: probe',
  connection: 'elsewhere',
  queue: 'probes',
  payload: Buffer.from(probe(id)),
  attempts: 3,
  ...more,
});

export const failedCases: readonly CaseDefinition[] = [
  ...cases(['reserve', 'failed'], {
    async 'a failed job is kept with its error, its payload and its origin'(world) {
      const reservation = await world.hold('a');
      const failure = { id: 'a', name: 'Probe', exception: 'Error: Grüße 😀\n    at probe.js:1:1' };
      await world.settle([{ outcome: 'failed', reservation, counters: reservation.counters, failure }]);
      const { failedAt, ...entry } = await world.failedEntry('a');
      assert.deepEqual(entry, {
        ...failure,
        connection: world.connection.name,
        queue: world.queue,
        payload: reservation.payload,
        attempts: 1,
      });
      assert(Number.isInteger(failedAt) && failedAt > 1e12, `${failedAt} is a time in milliseconds`);
    },
    async 'failed jobs are listed newest first, in pages, for one queue or for all'(world) {
      await failInOrder(world, 'a', 'b', 'more-probes/other', 'c');
      const store = world.failedStore;
      assert.deepEqual(idsOf(await store.list({ limit: 10 })), ['c', 'other', 'b', 'a']);
      assert.deepEqual(idsOf(await store.list({ limit: 2 })), ['c', 'other']);
      assert.deepEqual(idsOf(await store.list({ limit: 2, offset: 1 })), ['other', 'b']);
      assert.deepEqual(idsOf(await store.list({ limit: 2, offset: 4 })), []);
      assert.deepEqual(idsOf(await store.list({ queue: world.queue, limit: 2, offset: 1 })), ['b', 'a']);
      assert.deepEqual([await store.count(), await store.count(world.queue), await store.count('none')], [4, 3, 0]);
    },
    async 'the time of a failure comes from the clock of the store, in milliseconds'(world) {
      const first = await world.failProbe('a');
      await world.advance(600);
      const second = await world.failProbe('b');
      const apart = second.failedAt - first.failedAt;
      assert(apart >= 600_000 && apart < 620_000, `600 s apart, not ${apart} ms`);
    },
    async 'a retry resets the counters, and neither a payload nor a fence of the job occurs twice'(world) {
      await world.push('a');
      const texts: string[] = [];
      const fences: number[] = [];
      for (let round = 0; round < 3; round += 1) {
        const reservation = await world.reserveOne();
        counted(reservation, { releases: round });
        texts.push(reservation.payload.toString());
        fences.push(fenceOf(reservation.counters));
        await world.settle([failed(reservation)]);
        await world.retries('a');
      }
      assert.equal(new Set(texts).size, 3);
      assert.deepEqual(fences, [1, 2, 3]);
    },
    async 'a failed job is retried once, however many clients try: it returns to its queue and leaves the failed store'(
      world,
    ) {
      const entry = await world.failProbe('a');
      const payload = Buffer.from(probe('a'));
      const results = await world.atOnce(2, ({ failed: store }) => store!.retry(entry, payload));
      assert.equal(results.filter(Boolean).length, 1);
      assert.equal(await world.failedStore.retry(entry, payload), false);
      assert.deepEqual(await world.failedStore.find('a'), []);
      await world.handsOut('a');
    },
    async 'an entry that was read before the job failed again is not retried'(world) {
      const stale = await world.failProbe('a');
      await world.retries('a');
      await world.settle([failed(await world.reserveOne())]);
      const before = await world.state();
      assert.equal(await world.failedStore.retry(stale, stale.payload), false);
      assert.deepEqual(await world.state(), before);
    },
    async 'a flush removes the failed jobs of one queue or of all queues'(world) {
      await failInOrder(world, 'a', 'b', 'more-probes/other');
      assert.equal(await world.failedStore.flush(world.queue), 2);
      await world.hasFailed('other');
      assert.equal(await world.failedStore.flush(), 1);
      assert.equal(await world.failedStore.flush(), 0);
      assert.equal(await world.failedStore.count(), 0);
    },
    async 'a flush also removes more jobs than one call can'(world) {
      await world.push(...numbered(230));
      await world.settle((await world.reserveAll()).map(failed));
      assert.equal(await world.failedStore.count(), 230);
      assert.equal(await world.failedStore.flush(), 230);
      assert.equal(await world.failedStore.count(), 0);
    },
    async 'pruning removes entries above an age or beyond a number across all queues, and nothing without a limit'(
      world,
    ) {
      const { failedStore } = world;
      await failInOrder(world, 'old', 'older');
      await world.advance(600);
      await failInOrder(world, 'a', 'b', 'more-probes/c', 'd');
      assert.equal(await failedStore.prune({ olderThan: 300 }), 2);
      assert.equal(await failedStore.prune({ keep: 3 }), 1);
      assert.equal(await failedStore.prune({}), 0);
      await world.hasFailed('d', 'c', 'b');
      await world.advance(600);
      await failInOrder(world, 'e', 'f', 'g');
      assert.equal(await failedStore.prune({ olderThan: 300, keep: 2 }), 4);
      await world.hasFailed('g', 'f');
    },
    async 'pruning one queue neither touches nor counts the other queues'(world) {
      await failInOrder(world, 'a', 'b', 'more-probes/other', 'c');
      const { queue } = world;
      assert.equal(await world.failedStore.prune({ queue, keep: 2 }), 1);
      await world.hasFailed('c', 'other', 'b');
      await world.advance(600);
      assert.equal(await world.failedStore.prune({ queue, olderThan: 300 }), 2);
      await world.hasFailed('other');
    },
    async 'a failed job of another connection is kept unchanged and can be retried here'(world) {
      await world.failedStore.put(foreign('a'));
      const { failedAt, ...kept } = await world.failedEntry('a');
      assert.deepEqual(kept, foreign('a'));
      assert(failedAt > 1e12, 'the store sets the time');
      assert.equal(await world.failedStore.retry({ ...kept, failedAt }, kept.payload), true);
      await world.handsOut('a');
    },
    async 'failed jobs with the same id are all kept, even if their payloads are equal'(world) {
      const first = await world.failProbe('a');
      const texts = [probe('a'), ANOTHER];
      for (const text of texts) {
        await world.pushText(text);
        await world.settles(failed(await world.reserveOne()));
      }
      const kept = await world.failedStore.list({ limit: 10 });
      assert.equal(new Set(kept.map(({ id }) => id)).size, 3);
      assert.deepEqual(await world.failedEntry('a'), first);
      for (const entry of kept) assert.equal(await world.failedStore.retry(entry, entry.payload), true);
      assert.equal((await world.reserveAll()).length, 3);
    },
    async 'the list goes on behind each job, even if that job is gone and others have failed since'(world) {
      const { queue, secondQueue: other } = world;
      for (const id of ['a', 'b', 'c', 'd']) await world.failProbe(id, id === 'c' ? other : queue);
      const all = await world.failedStore.list({ limit: 10 });
      const [, c] = all as readonly [ListedEntry, ListedEntry];
      await world.failedStore.forget(c);
      await world.failProbe('e', queue);
      const after = async (entry: ListedEntry, limit: number, only?: string): Promise<readonly unknown[]> =>
        idsOf(await world.failedStore.list({ queue: only, limit, after: entry.place }));
      assert.deepEqual(idsOf(all), ['d', 'c', 'b', 'a']);
      assert.deepEqual(await after(all[0]!, 10), ['b', 'a']);
      assert.deepEqual(await after(c, 1), ['b']);
      assert.deepEqual(await after(c, 10, other), []);
      assert.deepEqual(await after(all[3]!, 10), []);
    },
    async 'a search leaves out no job that matches'(world) {
      for (const id of ['a', 'b']) await world.failProbe(id, world.queue);
      const { name, exception, connection, failedAt } = await world.failedEntry('a');
      const search = { name, connection, error: exception.slice(0, 5), until: failedAt + 1 };
      assert.ok(idsOf(await world.failedStore.list({ limit: 10, search })).includes('a'));
    },
    async 'jobs with the same id that fail in two queues are forgotten and retried separately'(world) {
      for (const queue of world.queues) await world.failProbe('a', queue);
      const kept = await world.failedStore.list({ limit: 10 });
      assert.deepEqual(kept.map(({ queue }) => queue).toSorted(), world.queues.toSorted());
      const [first, second] = kept as readonly [ListedEntry, ListedEntry];
      for (const entry of kept) {
        const found = await world.failedStore.find(entry.id);
        assert.equal(found.filter(({ queue }) => queue === entry.queue).length, 1, 'each is found by its id');
      }
      assert.equal(await world.failedStore.forget(first), true);
      assert.equal(await world.failedStore.forget(first), false);
      assert.deepEqual(await world.failedStore.list({ limit: 10 }), [second]);
      assert.equal(await world.failedStore.retry(first, first.payload), false);
      assert.equal(await world.failedStore.retry(second, second.payload), true);
      assert.equal((await world.reserveOne({ queues: [second.queue] })).queue, second.queue);
    },
  }),
  ...cases(['failed'], {
    async 'an id that never failed is not found'(world) {
      assert.deepEqual(await world.failedStore.find('nobody'), []);
      assert.equal(await world.failedStore.forget({ id: 'nobody', queue: world.queue }), false);
      assert.deepEqual(await world.failedStore.list({ limit: 10 }), []);
      assert.equal(await world.failedStore.count(), 0);
    },
    async 'a job that is put again after another attempt replaces its earlier entry'(world) {
      const payload = Buffer.from(probeWith('"exceptions":1,"attempts":4'));
      await world.failedStore.put(foreign('a'));
      await world.failedStore.put(foreign('b'));
      await world.advance(1);
      await world.failedStore.put(foreign('a', { exception: 'Error: again', attempts: 4, payload }));
      await world.hasFailed('a', 'b');
      const { failedAt: _failedAt, ...kept } = await world.failedEntry('a');
      assert.deepEqual(kept, foreign('a', { exception: 'Error: again', attempts: 4, payload }));
    },
    async 'another job with the same id, or the same job of another queue or connection, gets an entry of its own'(
      world,
    ) {
      const other = foreign('a', { payload: Buffer.from(ANOTHER) });
      const elsewhere = [foreign('a', { queue: world.secondQueue }), foreign('a', { connection: 'another' })];
      const all = [foreign('a'), other, { ...other, id: 'b' }, ...elsewhere];
      for (const entry of [...all, foreign('a')]) await world.failedStore.put(entry);
      const kept = await world.failedStore.list({ limit: 10 });
      assert.equal(new Set(kept.map(({ queue, id }) => `${queue} ${id}`)).size, all.length);
      assert.equal(kept.filter(({ payload }) => payload.equals(other.payload)).length, 2);
      assert.equal(kept.filter(({ connection }) => connection === 'another').length, 1);
      assert.equal(kept.filter(({ queue }) => queue === world.secondQueue).length, 1);
      assert.deepEqual((await world.failedEntry('a')).payload, foreign('a').payload);
    },
    async 'an earlier attempt that is put late does not replace a later one, and forgetting it keeps the later one'(
      world,
    ) {
      const later = foreign('a', { payload: Buffer.from(probeWith('"attempts":4')) });
      const earlier = foreign('a', { exception: 'Error: earlier' });
      assert.equal(await world.failedStore.put(later), 'a');
      assert.equal(await world.failedStore.put(earlier), 'a');
      assert.deepEqual((await world.failedEntry('a')).payload, later.payload);
      assert.equal(await world.failedStore.forget(earlier), false);
      assert.equal(await world.failedStore.count(), 1);
      assert.equal(await world.failedStore.forget(later), true);
      assert.equal(await world.failedStore.count(), 0);
    },
  }),
  ...cases(['reserve', 'failed', 'exactCounts'], {
    async 'a retried job that completes leaves nothing behind'(world) {
      const entry = await world.failProbe('a');
      await world.failedStore.retry(entry, entry.payload);
      await world.settle([completed(await world.reserveOne())]);
      await world.holds({});
      assert.equal(await world.failedStore.count(), 0);
    },
  }),
];
