/** Putting a record wakes its listeners. None is missed, even if it is put while a listener starts. */
import assert from 'node:assert/strict';
import type { Listening, RecordStore, RecordWake, StoreRecord } from '../../connections/record-store';
import { cases, type CaseDefinition } from './cases';
import { numbered } from './world';
import type { World } from './world';

const KIND = 'probe';

const record = (id: string): StoreRecord => ({ kind: KIND, id, value: `of ${id}` });

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

export const recordWakeCases: readonly CaseDefinition[] = [
  ...cases(['operations', 'recordWake'], {
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
