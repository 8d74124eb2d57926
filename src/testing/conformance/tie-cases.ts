/** Unique keys: one holder at a time, which is in the store, and free in the step that ends it. */
import assert from 'node:assert/strict';
import type { Entry, Pushed } from '../../connections/contract';
import { afterFailedAttempt, afterRetry, withCounters } from '../../payload/counters';
import { type UniqueTie, uniqueKey, withTies } from '../../payload/ties';
import { type CaseDefinition, cases } from './cases';
import { cancelled, completed, failed, givenBack, idOf, probe, released, releasedForFree, type World } from './world';

/** A probe that is tied to a key, by default to the same, until its end. */
function tied(id: string, options: Partial<UniqueTie> & Pick<Entry, 'delay' | 'dueAt'> = {}): Entry {
  const { delay, dueAt, ...tie } = options;
  const ties = { unique: { key: uniqueKey('Probe', 'one'), until: 'end' as const, ...tie } };
  return { payload: withTies(probe(id), ties), ties, delay, dueAt };
}

async function pushes(world: World, entries: readonly Entry[], queue = world.queue): Promise<readonly Pushed[]> {
  return (await world.connection.push(queue, entries)) ?? entries.map(() => 'queued');
}

async function takes(world: World, entry: Entry, queue?: string): Promise<void> {
  assert.deepEqual(await pushes(world, [entry], queue), ['queued'], 'the key is free');
}

async function refuses(world: World, entry: Entry, duplicate: string, queue?: string): Promise<void> {
  assert.deepEqual(await pushes(world, [entry], queue), [{ duplicate }], 'the key is held');
}

const START = { until: 'start' } as const;

export const tieCases: readonly CaseDefinition[] = [
  ...cases(['reserve', 'ties'], {
    async 'a job whose key is held stays out, and is told who holds it, until that has completed'(world) {
      await takes(world, tied('a'));
      await refuses(world, tied('b'), 'a');
      const reservation = await world.reserveOne();
      await refuses(world, tied('c'), 'a');
      await world.settles(completed(reservation));
      await takes(world, tied('d'));
      await world.handsOut('d');
    },
    async 'of one call the first of a key goes in, and what has another key or none'(world) {
      const entries = [
        tied('a'),
        { payload: probe('b') },
        tied('c'),
        tied('d', { key: uniqueKey('Probe', 'two') }),
        tied('e', { key: uniqueKey('Probe', 'two') }),
      ];
      const [free, held] = ['queued', (duplicate: string) => ({ duplicate })] as const;
      assert.deepEqual(await pushes(world, entries), [free, free, held('a'), free, held('d')]);
      await world.handsOut('a', 'b', 'd');
    },
    async 'of many that push one key at once one is in'(world) {
      const clients = [world.connection, world.other];
      const pushing = Array.from({ length: 20 }, async (_, index) => {
        const entry = tied(`job-${index}`);
        return [`job-${index}`, (await clients[index % 2]!.push(world.queue, [entry]))?.[0] ?? 'queued'] as const;
      });
      const results = await Promise.all(pushing);
      const inside = results.filter(([, result]) => result === 'queued').map(([id]) => id);
      assert.equal(inside.length, 1, 'one is in');
      for (const [, result] of results)
        assert(result === 'queued' || ('duplicate' in result && result.duplicate === inside[0]), 'and is named');
      await world.handsOut(...inside);
    },
    async 'a job that was cancelled while it ran frees its key'(world) {
      await takes(world, tied('a'));
      await world.settles(cancelled(await world.reserveOne()));
      await takes(world, tied('b'));
    },
    async 'a job that goes back to its queue keeps its key, whatever that cost it'(world) {
      await takes(world, tied('a'));
      for (const back of [released, releasedForFree, givenBack]) {
        await world.settles(back(await world.reserveOne()));
        await refuses(world, tied('b'), 'a');
      }
      const reservation = await world.reserveOne();
      await world.settles({ ...released(reservation), counters: afterFailedAttempt(reservation.counters) });
      await refuses(world, tied('b'), 'a');
    },
    async 'a job whose worker died keeps its key'(world) {
      await takes(world, tied('a'));
      await world.reserveOne({ lease: 30 });
      await world.advance(31);
      await refuses(world, tied('b'), 'a');
      await world.settles(completed(await world.reserveOne()));
      await takes(world, tied('c'));
    },
    async 'an outcome that was lost frees no key'(world) {
      await takes(world, tied('a'));
      const frozen = await world.reserveOne({ lease: 30 });
      await world.advance(31);
      const current = await world.reserveOne();
      await world.loses(completed(frozen));
      await refuses(world, tied('b'), 'a');
      await world.settles(completed(current));
      await takes(world, tied('b'));
    },
    async 'until its start, a job holds its key only while it waits'(world) {
      await takes(world, tied('a', START));
      await refuses(world, tied('b', START), 'a');
      const a = await world.reserveOne();
      await takes(world, tied('c', START));
      await world.settles(completed(a));
      await refuses(world, tied('d', START), 'c');
    },
    async 'until its start, a job takes its key again when it goes back at no cost, if nobody has it'(world) {
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
    async 'until its start, a job whose worker died takes its key again, for as long as it waits'(world) {
      const keys = { a: uniqueKey('Probe', 'a'), b: uniqueKey('Probe', 'b') };
      for (const [id, key] of Object.entries(keys)) await takes(world, tied(id, { ...START, key }));
      await world.reserveAll({ lease: 30 });
      await world.advance(31);
      const [running, waiting] = idOf(await world.reserveOne()) === 'a' ? (['a', 'b'] as const) : (['b', 'a'] as const);
      await takes(world, tied('c', { ...START, key: keys[running] }));
      await refuses(world, tied('d', { ...START, key: keys[waiting] }), waiting);
    },
    async 'until its start, a failed attempt takes no key again'(world) {
      await takes(world, tied('a', START));
      const a = await world.reserveOne();
      await world.settles({ ...released(a), counters: afterFailedAttempt(a.counters) });
      await takes(world, tied('b', START));
    },
    async 'after its time, by the clock of the store, another takes the key, and the first frees it no more'(world) {
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
    async 'a job whose time is over does not hold its key again by going back to its queue'(world) {
      await takes(world, tied('a', { for: 60 }));
      await world.advance(61);
      await world.settles(releasedForFree(await world.reserveOne({ lease: 30 })));
      await world.reserveOne({ lease: 30 });
      await world.advance(31);
      await world.reserveOne();
      await takes(world, tied('b', { for: 60 }));
    },
  }),
  ...cases(['reserve', 'ties', 'delay'], {
    async 'a delayed job holds its key'(world) {
      await takes(world, tied('a', { delay: 60 }));
      await refuses(world, tied('b'), 'a');
      await refuses(world, tied('c', { delay: 60 }), 'a');
      await world.advance(61);
      await world.settles(released(await world.reserveOne(), 60));
      await refuses(world, tied('d'), 'a');
    },
  }),
  ...cases(['reserve', 'ties', 'clear', 'delay'], {
    async 'clearing a queue frees the keys of all that was in it, and of nothing else'(world) {
      const keys = ['ready', 'delayed', 'reserved', 'elsewhere'].map((key) => uniqueKey('Probe', key));
      const [ready, delayed, reserved, elsewhere] = keys as [string, string, string, string];
      await takes(world, tied('a', { key: reserved }));
      await world.reserveOne();
      await takes(world, tied('b', { key: ready }));
      await takes(world, tied('c', { key: delayed, delay: 60 }));
      await takes(world, tied('d', { key: elsewhere }), world.secondQueue);
      await world.connection.clear(world.queue);
      for (const key of [ready, delayed, reserved]) await takes(world, tied(`${key}-2`, { key }));
      await refuses(world, tied('e', { key: elsewhere }), 'd', world.secondQueue);
    },
  }),
  ...cases(['reserve', 'ties', 'control', 'delay'], {
    async 'cancelling a job that waits frees its key'(world) {
      for (const [id, delay] of Object.entries({ a: 0, b: 60 })) {
        await takes(world, tied(id, { delay }));
        assert.equal(await world.control.cancel(id), 'removed');
      }
      await takes(world, tied('c'));
    },
  }),
  ...cases(['reserve', 'ties', 'failed'], {
    async 'a job that has failed frees its key, and forgetting it frees no other'(world) {
      await takes(world, tied('a'));
      await world.settles(failed(await world.reserveOne()));
      await takes(world, tied('b'));
      await world.failedStore.forget(await world.failedEntry('a'));
      await refuses(world, tied('c'), 'b');
    },
    async 'a failed job that is retried holds its key again'(world) {
      await takes(world, tied('a'));
      await world.settles(failed(await world.reserveOne()));
      const entry = await world.failedEntry('a');
      assert.equal(await world.failedStore.retry(entry, retried(entry.payload, entry.attempts)), true);
      await refuses(world, tied('b'), 'a');
      await world.settles(completed(await world.reserveOne()));
      await takes(world, tied('b'));
    },
    async 'a failed job is not retried while another holds its key'(world) {
      for (const until of ['end', 'start'] as const) {
        const key = uniqueKey('Probe', until);
        await takes(world, tied(`${until}-1`, { key, until }));
        await world.settles(failed(await world.reserveOne()));
        await takes(world, tied(`${until}-2`, { key, until }));
        const entry = await world.failedEntry(`${until}-1`);
        const again = retried(entry.payload, entry.attempts);
        assert.deepEqual(await world.failedStore.retry(entry, again), { held: `${until}-2` });
        assert.deepEqual((await world.failedEntry(`${until}-1`)).payload, entry.payload, 'it stays as it was');
        await world.settles(completed(await world.reserveOne()));
        assert.equal(await world.failedStore.retry(entry, again), true);
        await world.settles(completed(await world.reserveOne()));
      }
    },
  }),
];

const retried = (payload: Buffer, attempts: number): Buffer =>
  withCounters(payload, afterRetry({ attempts, crashes: 0, exceptions: 0, timeouts: 0, releases: 0 }));
