/** Tests of records, sums and pushes by a key for each database server, with many clients and lost answers. */
import type { SqlConnection } from '../../../../src/connections/sql/connection';
import { idOf, reserve } from '../open-database';
import { describeOperations, numbered, pushOnce, record } from '../operations';
import type { ServerWorld } from './server-world';

async function clients(world: ServerWorld, count: number): Promise<readonly SqlConnection[]> {
  const first = await world.open();
  return [first, ...Array.from({ length: count - 1 }, () => world.connect())];
}

const sum = (name: string, amounts: Readonly<Record<string, number>>) => ({ name, amounts, keep: 60 });

export function describeServerOperations(world: ServerWorld): void {
  describeOperations({
    name: world.name,
    open: () => world.open(),
    get table() {
      return world.table;
    },
    execute: (text) => world.rows(text),
    count: async (text) => Number((await world.rows(text))[0]!['n']),
    advance: async (seconds) => void (world.offset += seconds),
  });

  describe(`a lost answer of ${world.name}`, () => {
    it('to the mark of a push by a key undoes the push, and it is repeated', async () => {
      const { connection, proxy } = await world.openThrough({ words: 'INTO' });
      proxy.loseReplies();
      expect(await pushOnce(connection, 'a')).toBe('queued');
      expect((await reserve(connection)).map(idOf)).toEqual(['a']);
    });

    it('to a push by a key makes it report `before`, and the job exists once', async () => {
      const { connection, proxy } = await world.openThrough({ words: 'COMMIT' });
      proxy.loseReplies();
      expect(await pushOnce(connection, 'a')).toBe('before');
      expect(await pushOnce(connection, 'b')).toBe('before');
      expect((await reserve(connection)).map(idOf)).toEqual(['a']);
    });

    it.each([1, 2])('to a replacement, %d times in a row, makes it report success', async (lost) => {
      const { connection, proxy } = await world.openThrough({ words: '_records' });
      proxy.loseReplies(lost);
      expect(await connection.records.replace(record('a', '1'), undefined, 60)).toBe(true);
      proxy.loseReplies(lost);
      expect(await connection.records.replace(record('a', '2'), '1', 60)).toBe(true);
      expect(await connection.records.replace(record('a', '3'), '1', 60)).toBe(false);
      expect(await connection.records.get('probe', 'a')).toBe('2');
    });

    it.each([1, 2, 3])('to an addition, %d times in a row, adds once', async (lost) => {
      const { connection, proxy } = await world.openThrough({ words: '_sums' });
      for (const sequence of [1, 2]) {
        proxy.loseReplies(lost);
        await connection.records.add([sum('m', { a: 1 }), sum('q', { a: 1, b: 2 })], 'one', sequence);
      }
      expect(await connection.records.sums(['m', 'q'])).toEqual([{ a: 2 }, { a: 2, b: 4 }]);
    });
  });

  describe(`${world.name} with many clients at once`, () => {
    it('adds to the same sums in any order and loses nothing', async () => {
      const all = await clients(world, 5);
      const names = numbered(4, 'm');
      const fields = Object.fromEntries(numbered(20, 'f').map((field) => [field, 1]));
      const rounds = Array.from({ length: 15 }, (_, at) => at + 1);
      const adding = all.map(async ({ records }, client) => {
        const order = client % 2 === 0 ? names : names.toReversed();
        for (const round of rounds) {
          await records.add(
            order.map((name) => sum(name, fields)),
            `source-${client}`,
            round,
          );
        }
      });
      await Promise.all(adding);
      const total = Object.fromEntries(Object.keys(fields).map((field) => [field, 75]));
      expect(await all[0]!.records.sums(names)).toEqual(names.map(() => total));
    });

    it('writes the same records in any order and removes expired ones', async () => {
      const all = await clients(world, 5);
      const records = numbered(50, 'r').map((id) => record(id));
      for (let round = 0; round < 5; round += 1) {
        await all[0]!.records.put(
          numbered(100, `ended-${round}`).map((id) => record(id)),
          1,
        );
      }
      world.offset += 2;
      const writing = all.map(async (client, at) => {
        const order = at % 2 === 0 ? records : records.toReversed();
        for (let round = 0; round < 10; round += 1) await client.records.put(order, 60, round % 2 === 0 ? 40 : 60);
      });
      await Promise.all(writing);
      await all[0]!.records.put(records, 60);
      expect(await all[1]!.records.list('probe', { limit: 1000 })).toHaveLength(50);
      expect(await world.rows(`SELECT kind FROM ${world.table}_records`)).toHaveLength(50);
    });

    it('pushes each job once by its key, even to new queues', async () => {
      const all = await clients(world, 5);
      const keys = numbered(12, 'key');
      const results = await Promise.all(
        all.flatMap((client, at) =>
          (at % 2 === 0 ? keys : keys.toReversed()).map((key) => pushOnce(client, key, { key }, `queue-${key}`)),
        ),
      );
      expect(results.filter((result) => result === 'queued')).toHaveLength(12);
      expect(results.filter((result) => result === 'before')).toHaveLength(48);
      for (const key of keys) {
        expect(await all[0]!.queues.counts(`queue-${key}`)).toEqual({ ready: 1, delayed: 0, reserved: 0 });
      }
    });
  });
}
