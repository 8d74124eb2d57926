/** Debounced jobs: one job per key waits, and pushing another replaces it in one step. */
import assert from 'node:assert/strict';
import type { Seconds } from '../../base/clock';
import type { Entry, Pushed } from '../../connections/contract';
import { debounceKey, withTies } from '../../payload/ties';
import { type CaseDefinition, cases } from './cases';
import { cancelled, completed, failed, idsOf, numbered, probe, released, releasedForFree, type World } from './world';

interface Options extends Pick<Entry, 'delay' | 'dueAt'> {
  readonly key?: string;
  readonly longest?: Seconds;
}

/** A probe that waits for 30 seconds by default, and that another one with its key can replace until then. */
function debounced(id: string, { key = 'one', longest, delay, dueAt }: Options = {}): Entry {
  const ties = { debounce: { key: debounceKey('Probe', key, 'probes'), longest } };
  const moment = dueAt === undefined ? { delay: delay ?? 30 } : { dueAt };
  return { payload: withTies(probe(id), ties), ties, ...moment };
}

const free = 'queued';
const replaces = (replaced: string): Pushed => ({ replaced });

async function pushes(world: World, entries: readonly Entry[], results: readonly Pushed[], queue = world.queue) {
  assert.deepEqual(await world.pushed(entries, queue), results);
}

/** Asserts that the queue holds exactly these jobs, all delayed, in this order. */
async function waits(world: World, ...ids: readonly string[]): Promise<void> {
  await world.holds({ delayed: ids.length });
  if (world.connection.capabilities.peek)
    assert.deepEqual(idsOf(await world.connection.peek(world.queue, 'delayed', 100)), ids);
}

export const debounceCases: readonly CaseDefinition[] = [
  ...cases(['reserve', 'delay', 'ties'], {
    async 'a debounced job replaces the job waiting under its key and waits for its whole delay'(world) {
      await pushes(world, [debounced('a')], [free]);
      await world.advance(20);
      await pushes(world, [debounced('b')], [replaces('a')]);
      await waits(world, 'b');
      await world.advance(20);
      await world.handsOut();
      await pushes(world, [debounced('c')], [replaces('b')]);
      await waits(world, 'c');
      await world.advance(31);
      await world.handsOut('c');
    },
    async 'each key in each queue has a waiting job of its own'(world) {
      await pushes(world, [debounced('a'), debounced('b', { key: 'two', delay: 31 })], [free, free]);
      await pushes(world, [debounced('c')], [free], world.secondQueue);
      await pushes(world, [debounced('d', { key: 'two', delay: 31 })], [replaces('b')]);
      await waits(world, 'a', 'd');
      await world.holds({ delayed: 1 }, world.secondQueue);
    },
    async 'only the last job of each key in one call waits, and jobs without a key wait beside it'(world) {
      await pushes(world, [debounced('a')], [free]);
      const entries = [
        debounced('b'),
        { payload: probe('plain'), delay: 10 },
        debounced('c', { key: 'two', delay: 20 }),
        debounced('d'),
        debounced('e', { delay: 40 }),
      ];
      await pushes(world, entries, [replaces('a'), free, free, replaces('b'), replaces('d')]);
      await waits(world, 'plain', 'c', 'e');
      await world.advance(41);
      await world.handsOut('plain', 'c', 'e');
    },
    async 'when many clients push one key at once, one job waits and every other was replaced exactly once'(world) {
      const results = await world.atOnce(20, (client, id) => client.push(world.queue, [debounced(id)]));
      const gone = results.flatMap((result) => {
        const [pushed = free] = result ?? [];
        return typeof pushed === 'object' && 'replaced' in pushed ? pushed.replaced : [];
      });
      assert.equal(gone.length, 19, 'every push but the first replaced a job');
      assert.equal(new Set(gone).size, 19, 'and no job was replaced twice');
      await world.advance(31);
      await world.handsOut(...numbered(20).filter((id) => !gone.includes(id)));
    },
    async 'however often it is replaced, a debounced job waits no longer than its longest delay after the first push'(
      world,
    ) {
      const longest = 100;
      await pushes(world, [debounced('job-0', { longest })], [free]);
      for (let n = 1; n <= 4; n += 1) {
        await world.advance(24);
        await pushes(world, [debounced(`job-${n}`, { longest })], [replaces(`job-${n - 1}`)]);
      }
      await world.handsOut();
      await world.advance(5);
      await world.handsOut('job-4');
      await pushes(world, [debounced('next', { longest })], [free]);
      await world.advance(24);
      await pushes(world, [debounced('last', { longest })], [replaces('next')]);
      await world.advance(10);
      await world.handsOut();
      await world.advance(21);
      await world.handsOut('last');
    },
    async 'debounced jobs with equal delays in one push become ready in the order of the push'(world) {
      const ids = ['one', 'two', 'three', 'four', 'five'];
      const entries = ids.map((key) => debounced(key, { key }));
      await pushes(world, entries, Array(5).fill(free));
      await world.advance(31);
      await world.handsOut(...ids);
    },
    async 'a debounced job that is pushed again after a lost reply takes its own place and replaces no other'(world) {
      await pushes(world, [debounced('a')], [free]);
      await world.advance(20);
      await pushes(world, [debounced('a')], [free]);
      await waits(world, 'a');
      await world.advance(20);
      await world.handsOut();
      await pushes(world, [debounced('b')], [replaces('a')]);
      await pushes(world, [debounced('b', { delay: 0 })], [free]);
      await world.handsOut('b');
    },
    async 'the longest delay also limits jobs that replace each other within one call'(world) {
      const entries = [debounced('a', { longest: 40 }), debounced('b', { longest: 40, delay: 600 })];
      await pushes(world, entries, [free, replaces('a')]);
      await world.advance(41);
      await world.handsOut('b');
    },
    async 'a debounced job that is due is not replaced: the next one waits behind it'(world) {
      await pushes(world, [debounced('a')], [free]);
      await world.advance(31);
      await pushes(world, [debounced('b')], [free]);
      await pushes(world, [debounced('c')], [replaces('b')]);
      await world.handsOut('a');
      await world.advance(31);
      await world.handsOut('c');
    },
    async 'a debounced job that was reserved is never replaced, not even when it waits again'(world) {
      await pushes(world, [debounced('a')], [free]);
      await world.advance(31);
      await world.settles(released(await world.reserveOne(), 60));
      await pushes(world, [debounced('b')], [free]);
      await pushes(world, [debounced('c')], [replaces('b')]);
      await waits(world, 'c', 'a');
      await world.advance(31);
      await world.settles(releasedForFree(await world.reserveOne()));
      await pushes(world, [debounced('d')], [free]);
      await world.handsOut('c');
      await world.advance(31);
      await world.handsOut('a', 'd');
    },
    async 'a debounced job whose worker died is not replaced: the next one waits beside it'(world) {
      await pushes(world, [debounced('a')], [free]);
      await world.advance(31);
      await world.reserveOne({ lease: 10 });
      await pushes(world, [debounced('b', { delay: 60 })], [free]);
      await world.advance(11);
      await pushes(world, [debounced('c', { delay: 60 })], [replaces('b')]);
      await world.settles(completed(await world.reserveOne()));
      await waits(world, 'c');
    },
    async 'a debounced job without a delay replaces the waiting one and runs at once'(world) {
      await pushes(world, [debounced('a')], [free]);
      await pushes(world, [debounced('b', { delay: 0 })], [replaces('a')]);
      await pushes(world, [debounced('c'), debounced('d', { delay: 0 }), debounced('e')], [free, replaces('c'), free]);
      await world.handsOut('b', 'd');
      await world.advance(31);
      await world.handsOut('e');
    },
  }),
  ...cases(['reserve', 'delay', 'moments', 'ties'], {
    async 'a debounced job that waits until a given time can be replaced until then'(world) {
      const dueAt = (await world.now()) + 60_000;
      await pushes(world, [debounced('a', { dueAt }), debounced('other', { key: 'two', dueAt })], [free, free]);
      await pushes(world, [debounced('b', { dueAt, longest: 10 })], [replaces('a')]);
      await world.advance(59);
      await world.handsOut();
      await world.advance(2);
      await pushes(world, [debounced('c', { dueAt: dueAt + 60_000, longest: 10 })], [free]);
      assert.deepEqual(new Set(idsOf(await world.reserveAll())), new Set(['b', 'other']));
      await world.advance(10);
      await world.handsOut('c');
    },
  }),
  ...cases(['reserve', 'delay', 'ties', 'control'], {
    async 'after a cancellation the next debounced job of the key starts a new wait'(world) {
      await pushes(world, [debounced('a', { longest: 40 })], [free]);
      await world.advance(20);
      assert.equal(await world.control.cancel('a'), 'removed');
      await pushes(world, [debounced('b', { longest: 40 })], [free]);
      await world.advance(25);
      await pushes(world, [debounced('c', { longest: 40 })], [replaces('b')]);
      await world.handsOut();
      await world.advance(16);
      await world.settles(cancelled(await world.reserveOne()));
      await pushes(world, [debounced('d')], [free]);
    },
  }),
  ...cases(['reserve', 'delay', 'ties', 'clear'], {
    async 'after its queue was cleared the next debounced job of the key starts a new wait'(world) {
      await pushes(world, [debounced('a', { longest: 40 })], [free]);
      await world.advance(20);
      await world.connection.clear(world.queue);
      await pushes(world, [debounced('b', { longest: 40 })], [free]);
      await world.advance(25);
      await world.handsOut();
      await waits(world, 'b');
    },
  }),
  ...cases(['reserve', 'delay', 'ties', 'failed'], {
    async 'a failed debounced job can be retried at once, whatever waits under its key'(world) {
      await pushes(world, [debounced('a')], [free]);
      await world.advance(31);
      await world.settles(failed(await world.reserveOne()));
      await pushes(world, [debounced('b')], [free]);
      await world.retries('a');
      await pushes(world, [debounced('c')], [replaces('b')]);
      await world.handsOut('a');
    },
  }),
];
