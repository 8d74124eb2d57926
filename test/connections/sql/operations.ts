/** Tests of records, sums, searches, pages and pushes by a key for each database, in addition to the conformance suite. */
import type { Once, Pushed, WaitingState } from '../../../src/connections/contract';
import type { StoreRecord } from '../../../src/connections/record-store';
import type { SqlConnection } from '../../../src/connections/sql/connection';
import { debounceKey, withTies } from '../../../src/payload/ties';
import { describeExtremes } from './extremes';
import { describeSearches } from './failed-searches';
import { idOf, payload, reserve } from './open-database';
import { begin, member } from './server/batches';

export interface OperationsStore {
  /** For the names of tests. */
  readonly name: string;
  /** Opens a connection with migrated tables of its own. */
  open(): Promise<SqlConnection>;
  readonly table: string;
  execute(text: string): Promise<unknown>;
  count(text: string): Promise<number>;
  advance(seconds: number): Promise<void>;
}

export const record = (id: string, value = `of ${id}`, kind = 'probe'): StoreRecord => ({ kind, id, value });

export const numbered = (count: number, prefix = 'job'): readonly string[] =>
  Array.from({ length: count }, (_, index) => `${prefix}-${index + 1}`);

export async function pushOnce(
  connection: SqlConnection,
  id: string,
  once: Partial<Once> = {},
  queue = 'default',
): Promise<Pushed | 'before' | 'late' | 'skipped'> {
  const until = (await connection.now()) + 60_000;
  const page = { queue, entries: [{ payload: payload(id) }] };
  const pushed = await connection.keys.pushOnce(page, { key: 'nightly', until, ...once });
  return typeof pushed === 'string' ? pushed : pushed[0]!;
}

export async function browsed(connection: SqlConnection, state: WaitingState, limit: number): Promise<unknown[][]> {
  const pages: unknown[][] = [];
  for (let place: string | undefined; ;) {
    const page = await connection.queues.peek('default', state, limit, place);
    if (page.length === 0) return pages;
    pages.push(page.map(idOf));
    place = page.at(-1)!.place!;
  }
}

/** Inserts jobs like another program that does not know our columns. */
async function insertForeign(store: OperationsStore, ids: readonly string[]): Promise<void> {
  const rows = ids.map((id) => `('default', '${payload(id)}', 0, 1, 1)`);
  await store.execute(
    `INSERT INTO ${store.table} (queue, payload, attempts, available_at, created_at) VALUES ${rows.join(', ')}`,
  );
}

export function describeOperations(store: OperationsStore): void {
  const left = (table: 'records' | 'sums'): Promise<number> =>
    store.count(`SELECT count(*) AS n FROM ${store.table}_${table}`);

  describeExtremes(store);
  describeSearches(store);

  describe(`counts in ${store.name}`, () => {
    it('are exact for so many jobs that they are counted in pieces, even with gaps between them', async () => {
      const connection = await store.open();
      await connection.push(
        'default',
        numbered(40).map((id) => ({ payload: payload(id) })),
      );
      await connection.push('other', [{ payload: payload('other') }]);
      await connection.push('default', [{ payload: payload('later'), delay: 60 }]);
      // Adds 40 × 40 × 40 jobs, by combining the places of the first 40.
      const jobs = (name: string): string =>
        `(SELECT place AS p FROM ${store.table} WHERE queue = 'default' AND place > 0) ${name}`;
      await store.execute(
        `INSERT INTO ${store.table} (queue, payload, attempts, available_at, created_at, place)
         SELECT 'default', '{}', 0, 1, 1, a.p * 160000 + b.p * 40 + c.p FROM ${jobs('a')}, ${jobs('b')}, ${jobs('c')}`,
      );
      expect(await connection.queues.counts('default')).toEqual({ ready: 64_040, delayed: 1, reserved: 0 });
      await store.execute(`DELETE FROM ${store.table} WHERE place BETWEEN 200000 AND 3000000`);
      const left = await store.count(
        `SELECT count(*) AS n FROM ${store.table} WHERE queue = 'default' AND place IS NOT NULL`,
      );
      expect(left).toBeGreaterThan(30_000);
      expect((await connection.queues.counts('default')).ready).toBe(left);
    });

    it('are exact if more jobs than fit into a piece have the same due time or share places in line', async () => {
      const connection = await store.open();
      await connection.push(
        'default',
        numbered(30).map((id) => ({ payload: payload(id) })),
      );
      const jobs = (name: string): string => `(SELECT place AS p FROM ${store.table} WHERE place > 0) ${name}`;
      const all = `${jobs('a')}, ${jobs('b')}, ${jobs('c')}`;
      const insert = `INSERT INTO ${store.table} (queue, payload, attempts, available_at, created_at, place)`;
      // 27,000 ready jobs, of which two or three share each place, and as many delayed ones with three due times.
      await store.execute(`${insert} SELECT 'later', '{}', 0, CASE WHEN a.p < 2 AND b.p < 2 AND c.p < 2 THEN 2000000001
          WHEN a.p < 16 THEN 2000000000 ELSE 2000000002 END, 1, NULL FROM ${all}`);
      await store.execute(
        `${insert} SELECT 'shared', '{}', 0, 1, 1, FLOOR((a.p * 900 + b.p * 30 + c.p) / 2.5) FROM ${all}`,
      );
      expect(await connection.queues.counts('later')).toEqual({ ready: 0, delayed: 27_000, reserved: 0 });
      expect(await connection.queues.counts('shared')).toEqual({ ready: 27_000, delayed: 0, reserved: 0 });
    });
  });

  describe(`records in ${store.name}`, () => {
    it('that have expired are removed when others are written, a bounded number at a time', async () => {
      const { records } = await store.open();
      for (const page of ['a', 'b', 'c']) {
        await records.put(
          numbered(100, page).map((id) => record(id)),
          10,
        );
      }
      await store.advance(11);
      await records.put([record('d')], 60);
      expect(await left('records')).toBe(200);
      await records.put([record('d')], 60);
      await records.put([record('d')], 60);
      expect(await left('records')).toBe(1);
    });

    it('that expire together are ordered by their ids, even if only some of them are kept', async () => {
      const { records } = await store.open();
      await records.put(
        numbered(9, 'probe').map((id) => record(id)),
        60,
        4,
      );
      expect((await records.list('probe', { limit: 9 })).map(({ id }) => id)).toEqual([
        'probe-9',
        'probe-8',
        'probe-7',
        'probe-6',
      ]);
    });

    it('are kept up to a bound of thousands, which is found step by step', async () => {
      const { records } = await store.open();
      await records.put(
        numbered(22, 'seed').map((id) => record(id, '', 'seed')),
        60,
      );
      // Adds 10,150 records, some of which expire together: 250 too many with those put below.
      const seeds = (name: string): string => `(SELECT id FROM ${store.table}_records WHERE kind = 'seed') ${name}`;
      await store.execute(
        `INSERT INTO ${store.table}_records (kind, id, value, ends_at) SELECT 'probe', n, '', 5000000000 + n % 1000
          FROM (SELECT row_number() OVER () AS n FROM ${seeds('a')}, ${seeds('b')}, ${seeds('c')} LIMIT 10150) AS numbers`,
      );
      const put = numbered(100, 'put');
      await records.put(
        put.map((id) => record(id)),
        6e9,
        10_000,
      );
      const others = Array.from({ length: 10_150 }, (_, index) => String(index + 1));
      const kept = others
        .toSorted((a, b) => (Number(b) % 1000) - (Number(a) % 1000) || (a < b ? 1 : -1))
        .slice(0, 9900);
      const found = await records.list('probe', { limit: 20_000 });
      expect(found.map(({ id }) => id)).toEqual([...put.toSorted().toReversed(), ...kept]);
    });

    it('are written once if one call contains one twice, and the last one counts', async () => {
      const { records } = await store.open();
      await records.put([record('a', '1'), record('b'), record('a', '2'), record('\0'), record('\uFFFD')], 60);
      await records.put([record('\0'), record('\uFFFD')], 0);
      expect(await records.get('probe', 'a')).toBe('2');
      await records.put([record('a'), record('a'), record('a', '', 'other')], 0);
      expect(await left('records')).toBe(1);
    });

    it('are written however large they are together', async () => {
      const { records } = await store.open();
      const value = 'v'.repeat(200 * 1024);
      await records.put(
        numbered(20, 'long').map((id) => record(id, value)),
        60,
      );
      expect(await records.list('probe', { limit: 100 })).toHaveLength(20);
    });

    it('are not replaced based on an expired value', async () => {
      const { records } = await store.open();
      await records.put([record('a', '1')], 10);
      await store.advance(11);
      expect(await records.replace(record('a', '2'), '1', 60)).toBe(false);
      expect(await records.replace(record('a', '1'), 'else', 60)).toBe(false);
      expect(await records.get('probe', 'a')).toBeUndefined();
    });
  });

  describe(`sums in ${store.name}`, () => {
    it('are kept as a whole while any of their fields is added to, and are removed in the end', async () => {
      const { records } = await store.open();
      const keep = 600;
      await records.add([{ name: 'm', amounts: { a: 1, b: 2 }, keep }], 'one', 1);
      await store.advance(500);
      await records.add(
        [{ name: 'm', amounts: JSON.parse('{"a":1,"__proto__":3}') as Record<string, number>, keep }],
        'one',
        2,
      );
      await store.advance(500);
      await records.add([{ name: 'other', amounts: { a: 1 }, keep: 1 }], 'two', 1);
      const [sum] = await records.sums(['m']);
      expect(Object.entries(sum!).toSorted()).toEqual([
        ['__proto__', 3],
        ['a', 2],
        ['b', 2],
      ]);
      await store.advance(101);
      expect(await records.sums(['m'])).toEqual([{}]);
      await store.advance(3600);
      await records.add([{ name: 'n', amounts: { a: 1 }, keep }], 'three', 1);
      expect(await left('sums')).toBe(2);
    });

    it('with the same name are added up within a call, exactly even for large numbers', async () => {
      const { records } = await store.open();
      const most = Number.MAX_SAFE_INTEGER - 10;
      const add = [{ a: most, '\0': 1, '\uFFFD': 1 }, { a: 4 }].map((amounts) => ({ name: 'm', amounts, keep: 60 }));
      await records.add(add, 'one', 1);
      await records.add([{ name: 'm', amounts: { a: -1 }, keep: 60 }], 'one', 7);
      await records.add([], 'one', 8);
      expect(await records.sums(['m'])).toEqual([expect.objectContaining({ a: most + 3 })]);
      expect(await records.sums([])).toEqual([]);
    });
  });

  describe(`a push by a key to ${store.name}`, () => {
    it('whose job is refused does not use up its key', async () => {
      const connection = await store.open();
      const tied = { queue: 'default', entries: [member('a', 'gone')] };
      const until = (await connection.now()) + 60_000;
      await expect(connection.keys.pushOnce(tied, { key: 'nightly', until })).rejects.toMatchObject({
        code: 'E_BATCH_ENDED',
      });
      expect(await pushOnce(connection, 'b')).toBe('queued');
      expect((await reserve(connection)).map(idOf)).toEqual(['b']);
    });

    it('of a batch job counts in the batch', async () => {
      const connection = await store.open();
      await begin(connection, ['b']);
      const once = { key: 'nightly', until: (await connection.now()) + 60_000 };
      expect(await connection.keys.pushOnce({ queue: 'default', entries: [member('a')] }, once)).toEqual(['queued']);
      expect(await connection.batches!.find('batch')).toMatchObject({ pending: 2 });
    });

    it('of a debounced job replaces the waiting one', async () => {
      const connection = await store.open();
      const ties = { debounce: { key: debounceKey('Probe', 'one', 'default') } };
      const follow = (id: string) => ({
        queue: 'default',
        entries: [{ payload: withTies(payload(id), ties), ties, delay: 30 }],
      });
      const until = (await connection.now()) + 60_000;
      expect(await connection.keys.pushOnce(follow('a'), { key: '1', until })).toEqual(['queued']);
      expect(await connection.keys.pushOnce(follow('b'), { key: '2', until })).toEqual([{ replaced: 'a' }]);
      expect(await connection.keys.pushOnce(follow('b'), { key: '2', until })).toBe('before');
      expect(await browsed(connection, 'delayed', 10)).toEqual([['b']]);
    });

    it('can be repeated when its key has expired, even if other expired rows are still there', async () => {
      const connection = await store.open();
      const until = (await connection.now()) + 10_000;
      expect(await pushOnce(connection, 'a', { until })).toBe('queued');
      for (const page of ['a', 'b', 'c']) {
        await connection.records.put(
          numbered(100, page).map((id) => record(id)),
          5,
        );
      }
      await store.advance(11);
      expect(await pushOnce(connection, 'b')).toBe('queued');
      expect(await pushOnce(connection, 'c')).toBe('before');
      expect((await reserve(connection)).map(idOf)).toEqual(['a', 'b']);
    });
  });

  describe(`a search in ${store.name}`, () => {
    it('reads ids that were not read before, a bounded number per call, and continues with the next call', async () => {
      const connection = await store.open();
      await insertForeign(store, numbered(1100));
      expect(await connection.queues.find('job-950')).toMatchObject({ queue: 'default', state: 'delayed', at: 1000 });
      expect(await connection.queues.find('never')).toBeUndefined();
      await insertForeign(store, numbered(2200, 'more'));
      expect(await connection.queues.find('more-2200')).toBe('unseen');
      expect(await connection.queues.find('more-2200')).toBe('unseen');
      expect(await connection.queues.find('more-2200')).toMatchObject({ state: 'delayed' });
    });

    it('finds the running one of two jobs with the same id', async () => {
      const connection = await store.open();
      await connection.push('default', [{ payload: payload('a') }, { payload: payload('a'), delay: 60 }]);
      await reserve(connection, { limit: 1 });
      expect(await connection.queues.find('a')).toMatchObject({ state: 'reserved' });
    });
  });

  describe(`the pages that ${store.name} shows`, () => {
    it('contain up to a hundred jobs or 1 MiB, but always at least one job', async () => {
      const connection = await store.open();
      const long = (id: string, length: number) => payload(id).replace('{}', `"${'x'.repeat(length)}"`);
      const lengths = [700_000, 300_000, 300_000, 2_000_000, 100];
      await connection.push(
        'default',
        lengths.map((length, at) => ({ payload: long(`long-${at}`, length) })),
      );
      const rest = numbered(150);
      await connection.push(
        'default',
        rest.map((id) => ({ payload: payload(id) })),
      );
      expect(await browsed(connection, 'ready', Infinity)).toEqual([
        ['long-0', 'long-1'],
        ['long-2'],
        ['long-3'],
        ['long-4', ...rest.slice(0, 99)],
        rest.slice(99),
      ]);
    });

    it.each(['delayed', 'reserved'] as const)(
      'contain each of many jobs once that are %s with the same time',
      async (state) => {
        const connection = await store.open();
        const ids = numbered(25);
        const dueAt = state === 'delayed' ? (await connection.now()) + 60_123.456 : undefined;
        await connection.push(
          'default',
          ids.map((id) => ({ payload: payload(id), dueAt })),
        );
        if (state === 'reserved') await reserve(connection);
        const pages = await browsed(connection, state, 10);
        expect(pages.map(({ length }) => length)).toEqual([10, 10, 5]);
        expect(pages.flat()).toEqual(ids);
      },
    );

    it('contain each of many jobs once that share a place in line', async () => {
      const connection = await store.open();
      const ids = numbered(25);
      await connection.push(
        'default',
        ids.map((id) => ({ payload: payload(id) })),
      );
      // Updates the last ones first, so that their order in the table changes.
      for (const id of ids.toReversed()) {
        await store.execute(`UPDATE ${store.table} SET place = 7 WHERE uuid = '${id}'`);
      }
      expect((await browsed(connection, 'ready', 10)).flat()).toEqual(ids);
    });

    it('start from the beginning after an invalid place', async () => {
      const connection = await store.open();
      await connection.push('default', [{ payload: payload('a') }]);
      for (const place of ['', 'x', '1', "1:'", '1:2:3:4', 'NaN:1']) {
        expect((await connection.queues.peek('default', 'ready', 10, place)).map(idOf)).toEqual(['a']);
      }
    });
  });
}
