/** A record lives until its end, is replaced only as it was read, and wakes its listeners. Sums count each addition once. */
import assert from 'node:assert/strict';
import type { Listening, RecordStore, RecordWake, StoreRecord } from '../../connections/record-store';
import { type CaseDefinition, cases } from './harness';
import { numbered, type World } from './world';

const record = (id: string, value = `of ${id}`, kind = 'probe'): StoreRecord => ({ kind, id, value });

const ids = (records: readonly StoreRecord[]): readonly string[] => records.map(({ id }) => id);

const sum = (name: string, amounts: Readonly<Record<string, number>>, keep = 60) => ({ name, amounts, keep });

const KIND = 'probe';

function wakeOf(records: RecordStore): RecordWake {
  assert(records.wake !== undefined, 'a driver with the capability wakes listeners for records');
  return records.wake;
}

/** Waits for a record as the framework does: it looks whenever it is woken. */
class Listener {
  wakes = 0;
  readonly #listening: Listening;
  #woken: () => void = () => undefined;

  constructor(wake: RecordWake, id: string) {
    this.#listening = wake.listen(KIND, id, () => {
      this.wakes += 1;
      this.#woken();
    });
  }

  async heard(): Promise<void> {
    while (!this.#listening.isHeard) await this.next();
  }

  /** Resolves at the next wake-up. */
  next(): Promise<void> {
    return new Promise((resolve) => (this.#woken = resolve));
  }

  stop(): void {
    this.#listening.stop();
  }
}

async function listener(world: World, id: string): Promise<Listener> {
  const own = new Listener(wakeOf(world.records), id);
  await world.soon(own.heard(), 'the confirmation that the listener listens');
  return own;
}

const otherPuts = (world: World, id: string): Promise<void> => wakeOf(world.otherRecords).put(record(id), 60);

/** Asserts that a listener is woken when another client puts its record. */
async function wakes(world: World, own: Listener, id: string): Promise<void> {
  const woken = own.next();
  await otherPuts(world, id);
  await world.soon(woken, 'a wake-up by a record');
}

export const recordCases: readonly CaseDefinition[] = [
  ...cases(['records'], {
    async 'every client reads a record exactly as it was written'(world) {
      const value = '{"text":"a\\u0000 \u{1F600} \' \\" \\\\ é","n":1}';
      await world.records.put([record('a', value), record('b')], 60);
      assert.equal(await world.otherRecords.get('probe', 'a'), value);
      assert.equal(await world.records.get('probe', 'b'), 'of b');
      assert.equal(await world.records.get('probe', 'c'), undefined);
      assert.equal(await world.records.get('other', 'a'), undefined);
    },
    async 'ids of records that differ only in case, an accent or a trailing space are different'(world) {
      const alike = ['Nightly', 'nightly', 'nightly ', 'nightlý'];
      const records = alike.map((id) => record(id));
      await world.records.put(records, 60);
      for (const id of alike) assert.equal(await world.records.get('probe', id), `of ${id}`);
    },
    async 'a value of 256 KiB is kept'(world) {
      const value = 'é'.repeat(128 * 1024);
      await world.records.put([record('a', value)], 60);
      assert.equal(await world.records.get('probe', 'a'), value);
    },
    async 'a record that is written again replaces the earlier one and gets a new lifetime'(world) {
      await world.records.put([record('a')], 10);
      await world.records.put([record('a', 'new')], 60);
      await world.advance(11);
      assert.equal(await world.records.get('probe', 'a'), 'new');
      assert.deepEqual(await world.records.list('probe', { limit: 10 }), [record('a', 'new')]);
    },
    async 'a record is gone when its lifetime ends, and at once when that is 0'(world) {
      await world.records.put([record('a')], 10);
      await world.records.put([record('b')], 60);
      await world.records.put([record('b')], 0);
      await world.advance(11);
      assert.equal(await world.records.get('probe', 'a'), undefined);
      assert.equal(await world.records.get('probe', 'b'), undefined);
      assert.deepEqual(await world.records.list('probe', { limit: 10 }), []);
      assert.equal(await world.records.replace(record('a'), undefined, 60), true);
    },
    async 'records are listed by kind, in pages, those that end last first'(world) {
      for (const [place, id] of numbered(5).entries()) await world.records.put([record(id)], 60 + place);
      await world.records.put([record('a', 'else', 'other')], 60);
      assert.deepEqual(ids(await world.records.list('probe', { limit: 10 })), numbered(5).toReversed());
      assert.deepEqual(ids(await world.records.list('probe', { limit: 2, offset: 1 })), ['probe-4', 'probe-3']);
      assert.deepEqual(await world.records.list('other', { limit: 10 }), [record('a', 'else', 'other')]);
      assert.deepEqual(await world.records.list('none', { limit: 10 }), []);
    },
    async 'a bounded kind keeps the records that end last'(world) {
      for (const [place, id] of numbered(160).entries()) await world.records.put([record(id)], 60 + place, 100);
      const left = ids(await world.records.list('probe', { limit: 1000 }));
      assert(left.length >= 100 && left.length <= 110, `${left.length} of a bound of 100 are left`);
      assert.deepEqual(left, numbered(160).toReversed().slice(0, left.length));
    },
    async 'one call can put a hundred records'(world) {
      const records = numbered(100).map((id) => record(id));
      await world.records.put(records, 60);
      assert.equal((await world.records.list('probe', { limit: 1000 })).length, 100);
    },
    async 'a record is replaced only by a client that knows its current value'(world) {
      const { records } = world;
      assert.equal(await records.replace(record('a', '1'), 'something', 60), false);
      assert.equal(await records.replace(record('a', '1'), undefined, 60), true);
      assert.equal(await records.replace(record('a', '2'), undefined, 60), false);
      assert.equal(await world.otherRecords.replace(record('a', '2'), '1', 60), true);
      assert.equal(await records.replace(record('a', '3'), '1', 60), false);
      assert.equal(await records.get('probe', 'a'), '2');
    },
    async 'a replacement that is repeated after a lost reply succeeds'(world) {
      await world.records.replace(record('a', '1'), undefined, 60);
      assert.equal(await world.records.replace(record('a', '1'), undefined, 60), true);
      await world.records.replace(record('a', '2'), '1', 60);
      assert.equal(await world.records.replace(record('a', '2'), '1', 60), true);
    },
    async 'when many clients replace a record at once, one succeeds'(world) {
      const results = await world.atOnce(8, ({ records }, id) => records!.replace(record('a', id), undefined, 60));
      assert.equal(results.filter(Boolean).length, 1);
    },
    async 'concurrent additions all count, and sums are read by their names'(world) {
      const sums = [sum('m1', { a: 1, 'b c': 3 }), sum('q1', { a: 2 })];
      await world.atOnce(6, ({ records }, source) => records!.add(sums, source, 1));
      const found = await world.records.sums(['m1', 'none', 'q1']);
      assert.deepEqual(found, [{ a: 6, 'b c': 18 }, {}, { a: 12 }]);
    },
    async 'a repeated addition adds nothing'(world) {
      await world.records.add([sum('m1', { a: 1 })], 'one', 1);
      await world.records.add([sum('m1', { a: 1 })], 'one', 1);
      await world.otherRecords.add([sum('m1', { a: 10 })], 'one', 2);
      await world.records.add([sum('m1', { a: 100 })], 'one', 1);
      assert.deepEqual(await world.records.sums(['m1']), [{ a: 11 }]);
    },
    async 'a sum is gone when nothing was added to it for its lifetime'(world) {
      await world.records.add([sum('m1', { a: 1 }, 10), sum('q1', { a: 1 }, 60)], 'one', 1);
      await world.advance(9);
      await world.records.add([sum('m1', { a: 1 }, 10)], 'one', 2);
      await world.advance(9);
      assert.deepEqual(await world.records.sums(['m1', 'q1']), [{ a: 2 }, { a: 1 }]);
      await world.advance(2);
      assert.deepEqual(await world.records.sums(['m1']), [{}]);
    },
  }),
  ...cases(['records', 'recordWake'], {
    async 'a listener is woken when another client puts its record, and finds it'(world) {
      await wakes(world, await listener(world, 'a'), 'a');
      assert.equal(await world.records.get(KIND, 'a'), 'of a');
    },
    async 'a record that is put while a listener starts either wakes it or is found once listening is confirmed'(
      world,
    ) {
      const puts = otherPuts(world, 'a');
      const own = await listener(world, 'a');
      const woken = own.next();
      await puts;
      if ((await world.records.get(KIND, 'a')) === undefined) await world.soon(woken, 'a wake-up by a record');
      assert.equal(await world.records.get(KIND, 'a'), 'of a');
    },
    async 'each of many listeners is woken by its own record, even if two listen for the same one'(world) {
      const ids = numbered(20);
      const own = await Promise.all([...ids, ...ids].map((id) => listener(world, id)));
      const woken = Promise.all(own.map((one) => one.next()));
      await Promise.all(ids.map((id) => otherPuts(world, id)));
      await world.soon(woken, 'a wake-up of all');
    },
    async 'a listener is woken for an id of 255 arbitrary characters'(world) {
      const id = `${'é'.repeat(125)} "'\\{%s}*?[:${'x'.repeat(118)}`;
      await wakes(world, await listener(world, id), id);
    },
    async 'a stopped listener is not woken any more, but the others are'(world) {
      const [stopped, other] = [await listener(world, 'a'), await listener(world, 'a')];
      stopped.stop();
      const { wakes: before } = stopped;
      await wakes(world, other, 'a');
      assert.equal(stopped.wakes, before);
    },
    async 'a listener that starts after all others have stopped is woken too'(world) {
      (await listener(world, 'a')).stop();
      await wakes(world, await listener(world, 'a'), 'a');
    },
    async 'a record that wakes listeners is kept like any other'(world) {
      await wakeOf(world.records).put(record('a'), 10);
      await wakeOf(world.records).put({ ...record('a'), value: 'new' }, 10);
      assert.deepEqual(await world.records.list(KIND, { limit: 10 }), [{ ...record('a'), value: 'new' }]);
      await world.advance(11);
      assert.equal(await world.records.get(KIND, 'a'), undefined);
    },
    async 'closing a connection wakes its listeners, and it then refuses records'(world) {
      const own = await listener(world, 'a');
      const woken = own.next();
      await world.connection.close();
      await world.soon(woken, 'a wake-up by the end of the connection');
      await assert.rejects(async () => wakeOf(world.records).put(record('a'), 60), { code: 'E_CONNECTION_CLOSED' });
    },
  }),
];
