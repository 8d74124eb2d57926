/** Unique keys, each held by one job, and debounced jobs, of which one for each key waits. */
import assert from 'node:assert/strict';
import type { Seconds } from '../../base/clock';
import type { Entry, Pushed, Reservation, Settlement } from '../../connections/contract';
import { debounceKey, uniqueKey, type UniqueTie, withTies } from '../../payload/ties';
import { type CaseDefinition, cases } from './harness';
import {
  cancelled,
  completed,
  failed,
  givenBack,
  idOf,
  idsOf,
  numbered,
  probe,
  released,
  releasedForFree,
  triedAgain,
  type World,
} from './world';

/** A probe with a unique key, by default always the same one, held until the job ends. */
function tied(id: string, options: Partial<UniqueTie> & Pick<Entry, 'delay' | 'dueAt'> = {}): Entry {
  const { delay, dueAt, ...tie } = options;
  const ties = { unique: { key: uniqueKey('Probe', 'one'), until: 'end' as const, ...tie } };
  return { payload: withTies(probe(id), ties), ties, delay, dueAt };
}

async function takes(world: World, entry: Entry, queue?: string): Promise<void> {
  assert.deepEqual(await world.pushed([entry], queue), ['queued'], 'the key is free');
}

async function refuses(world: World, entry: Entry, duplicate: string, queue?: string): Promise<void> {
  assert.deepEqual(await world.pushed([entry], queue), [{ duplicate }], 'the key is held');
}

const START = { until: 'start' } as const;

/** The outcome of a job that its worker does not know. */
const givingUp = (reservation: Reservation): Settlement =>
  ({ ...releasedForFree(reservation), frees: true }) as Settlement;

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
  if (world.connection.queues.peek)
    assert.deepEqual(idsOf(await world.connection.queues.peek(world.queue, 'delayed', 100)), ids);
}

export const tieCases: readonly CaseDefinition[] = [
  ...cases(['reserve', 'keys'], {
    async 'a job whose unique key is held is refused, naming the holder, until the holder has completed'(world) {
      await takes(world, tied('a'));
      await refuses(world, tied('b'), 'a');
      const reservation = await world.reserveOne();
      await refuses(world, tied('c'), 'a');
      await world.settles(completed(reservation));
      await takes(world, tied('d'));
      await world.handsOut('d');
    },
    async 'one call pushes the first job of each unique key, and every job without one'(world) {
      const entries = [
        tied('a'),
        { payload: probe('b') },
        tied('c'),
        tied('d', { key: uniqueKey('Probe', 'two') }),
        tied('e', { key: uniqueKey('Probe', 'two') }),
      ];
      const [free, held] = ['queued', (duplicate: string) => ({ duplicate })] as const;
      assert.deepEqual(await world.pushed(entries), [free, free, held('a'), free, held('d')]);
      await world.handsOut('a', 'b', 'd');
    },
    async 'when many clients push one unique key at once, one job is pushed'(world) {
      const pushed = await world.atOnce(20, (client, id) => client.push(world.queue, [tied(id)]));
      const results = pushed.map((result) => result?.[0] ?? 'queued');
      const [inside, ...more] = numbered(20).filter((_, index) => results[index] === 'queued');
      assert.deepEqual(more, [], 'one job is pushed');
      const named = results.map((result) => (result === 'queued' ? result : { duplicate: inside }));
      assert.deepEqual(results, named, 'the refusals name it');
      await world.handsOut(inside!);
    },
    async 'a job that was cancelled while running frees its unique key'(world) {
      await takes(world, tied('a'));
      await world.settles(cancelled(await world.reserveOne()));
      await takes(world, tied('b'));
    },
    async 'a job that returns to its queue keeps its unique key, whether or not that cost it a try'(world) {
      await takes(world, tied('a'));
      for (const back of [released, releasedForFree, givenBack]) {
        await world.settles(back(await world.reserveOne()));
        await refuses(world, tied('b'), 'a');
      }
      await world.settles(triedAgain(await world.reserveOne()));
      await refuses(world, tied('b'), 'a');
    },
    async 'a job whose worker died keeps its unique key, and a lost outcome does not free it'(world) {
      await takes(world, tied('a'));
      const frozen = await world.reserveOne({ lease: 30 });
      await world.advance(31);
      await refuses(world, tied('b'), 'a');
      const current = await world.reserveOne();
      await world.loses(completed(frozen));
      await refuses(world, tied('b'), 'a');
      await world.settles(completed(current));
      await takes(world, tied('b'));
    },
    async 'a job that is unique until its start holds its key only while it waits'(world) {
      await takes(world, tied('a', START));
      await refuses(world, tied('b', START), 'a');
      const a = await world.reserveOne();
      await takes(world, tied('c', START));
      await world.settles(completed(a));
      await refuses(world, tied('d', START), 'c');
    },
    async 'a job that is unique until its start takes a free key again when it is given back without losing a try'(
      world,
    ) {
      await takes(world, tied('a', START));
      for (const back of [releasedForFree, givenBack]) {
        await world.settles(back(await world.reserveOne()));
        await refuses(world, tied('b', START), 'a');
      }
      const a = await world.reserveOne();
      await takes(world, tied('c', START));
      await world.settles(givenBack(a));
      await refuses(world, tied('d', START), 'c');
      await world.settles(completed(await world.reserveOne()), completed(await world.reserveOne()));
      await takes(world, tied('e', START));
    },
    async 'a job that is unique until its start and whose worker died holds its key again while it waits'(world) {
      const keys = { a: uniqueKey('Probe', 'a'), b: uniqueKey('Probe', 'b') };
      for (const [id, key] of Object.entries(keys)) await takes(world, tied(id, { ...START, key }));
      await world.reserveAll({ lease: 30 });
      await world.advance(31);
      const [running, waiting] = idOf(await world.reserveOne()) === 'a' ? (['a', 'b'] as const) : (['b', 'a'] as const);
      await takes(world, tied('c', { ...START, key: keys[running] }));
      await refuses(world, tied('d', { ...START, key: keys[waiting] }), waiting);
    },
    async 'a job that is unique until its start does not take its key again after a failed attempt'(world) {
      await takes(world, tied('a', START));
      await world.settles(triedAgain(await world.reserveOne()));
      await takes(world, tied('b', START));
    },
    async 'a job that goes back because nobody knows it gives up its unique key'(world) {
      for (const until of ['end', 'start'] as const) {
        const key = uniqueKey('Probe', until);
        await takes(world, tied(`${until}-1`, { key, until }));
        await world.settles(givingUp(await world.reserveOne()));
        await takes(world, tied(`${until}-2`, { key, until }));
        const [first, second] = await world.reserveAll();
        await world.settles(completed(first!));
        if (until === 'end') await refuses(world, tied('end-3', { key }), 'end-2');
        await world.settles(completed(second!));
        await takes(world, tied(`${until}-4`, { key, until }));
        await world.settles(completed(await world.reserveOne()));
      }
    },
    async 'a job that gave up its unique key takes it again when it is handed out, if it is free'(world) {
      await takes(world, tied('a'));
      await world.settles(givingUp(await world.reserveOne()));
      await world.settles(givingUp(await world.reserveOne()));
      const a = await world.reserveOne();
      await refuses(world, tied('b'), 'a');
      await world.settles(triedAgain(a));
      await refuses(world, tied('b'), 'a');
      await world.settles(completed(await world.reserveOne()));
      await takes(world, tied('b'));
    },
    async 'after the time of a unique key, by the clock of the store, another job takes it and the first cannot free it'(
      world,
    ) {
      await takes(world, tied('a', { for: 60 }));
      await world.advance(59);
      await refuses(world, tied('b', { for: 60 }), 'a');
      await world.advance(2);
      await takes(world, tied('b', { for: 60 }));
      const [a, b] = await world.reserveAll();
      await world.settles(completed(a!));
      await refuses(world, tied('c'), 'b');
      await world.settles(completed(b!));
      await takes(world, tied('c'));
    },
    async 'a job whose unique key has expired does not take it again when it returns to its queue'(world) {
      await takes(world, tied('a', { for: 60 }));
      await world.advance(61);
      await world.settles(releasedForFree(await world.reserveOne({ lease: 30 })));
      await world.reserveOne({ lease: 30 });
      await world.advance(31);
      await world.reserveOne();
      await takes(world, tied('b', { for: 60 }));
    },
  }),
  ...cases(['reserve', 'keys', 'delay'], {
    async 'a delayed job holds its unique key'(world) {
      await takes(world, tied('a', { delay: 60 }));
      await refuses(world, tied('b'), 'a');
      await refuses(world, tied('c', { delay: 60 }), 'a');
      await world.advance(61);
      await world.settles(released(await world.reserveOne(), 60));
      await refuses(world, tied('d'), 'a');
    },
  }),
  ...cases(['reserve', 'keys', 'clear', 'delay'], {
    async 'clearing a queue frees the unique keys of its own jobs and no others'(world) {
      const keys = ['ready', 'delayed', 'reserved', 'elsewhere'].map((key) => uniqueKey('Probe', key));
      const [ready, delayed, reserved, elsewhere] = keys as [string, string, string, string];
      await takes(world, tied('a', { key: reserved }));
      await world.reserveOne();
      await takes(world, tied('b', { key: ready }));
      await takes(world, tied('c', { key: delayed, delay: 60 }));
      await takes(world, tied('d', { key: elsewhere }), world.secondQueue);
      await world.connection.queues.clear!(world.queue);
      for (const key of [ready, delayed, reserved]) await takes(world, tied(`${key}-2`, { key }));
      await refuses(world, tied('e', { key: elsewhere }), 'd', world.secondQueue);
    },
  }),
  ...cases(['reserve', 'keys', 'control', 'delay'], {
    async 'cancelling a waiting job frees its unique key'(world) {
      for (const [id, delay] of Object.entries({ a: 0, b: 60 })) {
        await takes(world, tied(id, { delay }));
        assert.equal(await world.control.cancel(id), 'removed');
      }
      await takes(world, tied('c'));
    },
  }),
  ...cases(['reserve', 'keys', 'failed'], {
    async 'a job that fails frees its unique key, and forgetting it later does not free the key of the next holder'(
      world,
    ) {
      await takes(world, tied('a'));
      await world.settles(failed(await world.reserveOne()));
      await takes(world, tied('b'));
      await world.failedStore.forget(await world.failedEntry('a'));
      await refuses(world, tied('c'), 'b');
    },
    async 'a failed job that is retried holds its unique key again'(world) {
      await takes(world, tied('a'));
      await world.settles(failed(await world.reserveOne()));
      await world.retries('a');
      await refuses(world, tied('b'), 'a');
      await world.settles(completed(await world.reserveOne()));
      await takes(world, tied('b'));
    },
    async 'a failed job is not retried while another job holds its unique key'(world) {
      for (const until of ['end', 'start'] as const) {
        const key = uniqueKey('Probe', until);
        await takes(world, tied(`${until}-1`, { key, until }));
        await world.settles(failed(await world.reserveOne()));
        await takes(world, tied(`${until}-2`, { key, until }));
        const entry = await world.failedEntry(`${until}-1`);
        assert.deepEqual(await world.retry(entry), { held: `${until}-2` });
        assert.deepEqual((await world.failedEntry(`${until}-1`)).payload, entry.payload, 'the failed job is unchanged');
        await world.settles(completed(await world.reserveOne()));
        await world.retries(entry.id);
        await world.settles(completed(await world.reserveOne()));
      }
    },
  }),
  ...cases(['reserve', 'delay', 'keys'], {
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
  ...cases(['reserve', 'delay', 'moments', 'keys'], {
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
  ...cases(['reserve', 'delay', 'keys', 'control'], {
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
  ...cases(['reserve', 'delay', 'keys', 'clear'], {
    async 'after its queue was cleared the next debounced job of the key starts a new wait'(world) {
      await pushes(world, [debounced('a', { longest: 40 })], [free]);
      await world.advance(20);
      await world.connection.queues.clear!(world.queue);
      await pushes(world, [debounced('b', { longest: 40 })], [free]);
      await world.advance(25);
      await world.handsOut();
      await waits(world, 'b');
    },
  }),
  ...cases(['reserve', 'delay', 'keys', 'failed'], {
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
