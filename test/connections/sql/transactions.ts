/** Tests of jobs that are pushed within a transaction of the user, for each database. */
import { builtInConnectors } from '../../../src/connections/built-in';
import { Job } from '../../../src/job/job';
import { silentLogger } from '../../../src/base/logger';
import type { DatabaseConfig } from '../../../src/connections/sql/driver';
import { QueueManager } from '../../../src/application/queue-manager';
import { BATCH, callbacksTo, member } from '../../../src/testing/conformance/batch-cases';
import type { QueuePusher } from '../../../src/dispatch/queue-connection';
import { reserveFrom } from '../../support/exchange';

@Job()
export class Invoice extends Job {
  constructor(readonly order: number) {
    super();
  }

  async handle(): Promise<void> {}
}

@Job({ debounce: { by: (job: Sync) => job.tenant, wait: '1m', longest: '5m' } })
class Sync extends Job {
  constructor(readonly tenant: number) {
    super();
  }

  async handle(): Promise<void> {}
}

/** A manager with the connection `database`, as a program has it. */
export class ManagedDatabase {
  manager!: QueueManager;

  /** Opens the manager and makes the tables. */
  async open(config: Omit<DatabaseConfig, 'driver'>): Promise<void> {
    const connections = { database: { driver: 'database', ...config } } as const;
    this.manager = new QueueManager({ connectors: builtInConnectors, logger: silentLogger }, { connections });
    await this.manager.driver().migrations!.run();
  }

  using(transaction: unknown): QueuePusher {
    return this.manager.connection('database').using(transaction);
  }

  size(): Promise<number> {
    return this.manager.connection('database').size();
  }
}

/** Does the work in a transaction and commits it, or rolls it back if the work throws. */
export type Within = (work: (transaction: unknown) => Promise<void>) => Promise<void>;

/** A way to run a transaction for each library that a user may have. */
export type Ways = readonly (readonly [library: string, within: Within])[];

/** A name that must not be interpreted as part of a statement. */
const QUOTED = `it's-"quoted"-\\?-$1`;

export function describeTransactions(database: ManagedDatabase, ways: Ways): void {
  describe.each(ways)('a transaction by %s', (_name, within) => {
    it('pushes its jobs when it is committed, with their ids, queues and delays', async () => {
      const { manager } = database;
      const ids: unknown[] = [];
      const first = await manager.connection('database').push(new Invoice(0));
      expect(manager.connection('database').name).toBe('database');
      await within(async (transaction) => {
        const pusher = database.using(transaction);
        ids.push(await pusher.push(new Invoice(1), QUOTED));
        ids.push(await pusher.later('1h', new Invoice(2)));
        ids.push(...(await pusher.bulk([new Invoice(3), new Invoice(4)])));
        await pusher.pushRaw('{"id":"raw ? $1 :name","data":"\\u0000"}');
        expect(await database.size()).toBe(1);
      });
      expect(await manager.connection('database').counts('default')).toEqual({ ready: 4, delayed: 1, reserved: 0 });
      expect(await manager.connection('database').counts(QUOTED)).toEqual({ ready: 1, delayed: 0, reserved: 0 });
      expect(await manager.driver().queues.names()).toEqual(['default', QUOTED]);
      const waiting = await manager.driver().queues.peek!('default', 'ready', 10);
      const found = waiting.map(({ payload }) => (JSON.parse(payload.toString()) as { id: string }).id);
      expect(found).toEqual([first, ids[2], ids[3], 'raw ? $1 :name']);
      expect(await manager.connection('database').cancel(ids[2] as string)).toBe('removed');
    });

    it('pushes what is dispatched at once, each with its own delay, place and key', async () => {
      const { manager } = database;
      await within(async (transaction) => {
        const pusher = database.using(transaction);
        await Promise.all([
          ...Array.from({ length: 10 }, (_, at) => pusher.push(new Invoice(at))),
          ...Array.from({ length: 10 }, (_, at) => pusher.later('1h', new Invoice(at))),
          ...Array.from({ length: 4 }, (_, at) => pusher.push(new Sync(at % 2))),
        ]);
      });
      expect(await manager.connection('database').counts('default')).toEqual({ ready: 10, delayed: 12, reserved: 0 });
    });

    it('pushes nothing if it is rolled back', async () => {
      const work = within(async (transaction) => {
        await database.using(transaction).push(new Invoice(1));
        throw new Error('no');
      });
      await expect(work).rejects.toThrow('no');
      expect(await database.size()).toBe(0);
    });

    it('keeps the counters of a raw payload', async () => {
      const text = '{"job":"a","data":{},"id":"1","crashes":2,"attempts":1}';
      await within(async (transaction) => void (await database.using(transaction).pushRaw(text)));
      const { reservations } = await reserveFrom(database.manager.driver(), {
        queues: ['default'],
        limit: 1,
        lease: 60,
      });
      expect(reservations).toMatchObject([{ counters: { attempts: 2, crashes: 2 } }]);
    });

    it('lets a debounced job replace another, even one of its own, and continues', async () => {
      const { manager } = database;
      const gone: string[] = [];
      manager.hooks.on('skipped', ({ id }) => void gone.push(id));
      const ids = [await manager.connection('database').push(new Sync(1))];
      await within(async (transaction) => {
        const pusher = database.using(transaction);
        for (let time = 0; time < 2; time += 1) ids.push(await pusher.push(new Sync(1)));
        await pusher.push(new Sync(2));
      });
      expect(gone).toEqual(ids.slice(0, 2));
      expect(await database.size()).toBe(2);
    });

    it('refuses a payload that must be distinct, whether an equal one is its own or was there before, and continues', async () => {
      await database.manager.connection('database').laterRaw('1h', '{"id":"a"}');
      const twice = { code: 'E_DUPLICATE_PAYLOAD' };
      await within(async (transaction) => {
        const pusher = database.using(transaction);
        await expect(pusher.laterRaw('1h', '{"id":"a"}')).rejects.toMatchObject(twice);
        await pusher.laterRaw('1h', '{"id":"b"}');
        await expect(pusher.laterRaw('1h', '{"id":"b"}')).rejects.toMatchObject(twice);
        await pusher.laterRaw('1h', '{"id":"c"}');
      });
      expect(await database.size()).toBe(3);
    });
  });
}

/** For stores that keep batches. */
export function describeBatches(database: ManagedDatabase, ways: Ways): void {
  const batch = { id: BATCH, name: 'images', allowsFailures: false, callbacks: callbacksTo('callbacks') };
  const find = (): Promise<unknown> => database.manager.driver().batches!.find(BATCH);

  describe.each(ways)('a transaction by %s', (_name, within) => {
    it('begins a batch with its jobs when it is committed, which another transaction can add to', async () => {
      await within(async (transaction) => {
        await database.manager.driver().within!(transaction)!.push('default', [member('a', 2)], batch);
      });
      await within(async (transaction) => {
        await database.manager.driver().within!(transaction)!.push('default', [member('b')]);
      });
      expect(await find()).toMatchObject({ pending: 3, finishedAt: undefined });
      expect(await database.size()).toBe(2);
    });

    it('begins no batch if it is rolled back', async () => {
      const work = within(async (transaction) => {
        await database.manager.driver().within!(transaction)!.push('default', [member('a')], batch);
        throw new Error('no');
      });
      await expect(work).rejects.toThrow('no');
      expect(await find()).toBeUndefined();
    });

    it('sends the callbacks of an empty batch at once, and continues after a push to a batch that takes no more jobs', async () => {
      await within(async (transaction) => {
        const pusher = database.manager.driver().within!(transaction)!;
        await pusher.push('default', [], batch);
        await expect(pusher.push('default', [member('a')])).rejects.toMatchObject({ code: 'E_BATCH_ENDED' });
      });
      expect(await database.manager.driver().queues.counts('callbacks')).toMatchObject({ ready: 3 });
      expect(await database.size()).toBe(0);
    });
  });
}

/** Begins a transaction and returns a function that ends it. */
export type Begin = () => Promise<{ readonly transaction: unknown; readonly commit: () => unknown }>;

export function describeUsing(
  database: ManagedDatabase,
  refused: readonly (readonly [what: string, given: () => unknown])[],
  begin: Begin,
): void {
  describe('using()', () => {
    it.each([...refused, ['nothing', (): unknown => undefined], ['a text', (): unknown => 'BEGIN']] as const)(
      'refuses %s',
      (_what, given) => {
        expect(() => database.using(given())).toThrow(
          expect.objectContaining({ code: 'E_UNKNOWN_TRANSACTION' }) as Error,
        );
      },
    );

    it('refuses a client without an open transaction, because its jobs would exist whatever happens to the data', async () => {
      const { transaction, commit } = await begin();
      const pusher = database.using(transaction);
      await commit();
      await expect(pusher.push(new Invoice(1))).rejects.toMatchObject({ code: 'E_UNKNOWN_TRANSACTION' });
      expect(await database.size()).toBe(0);
    });
  });
}
