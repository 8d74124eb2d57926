/** Jobs that are pushed within a transaction of the user's: they exist if it is committed, and never if it is not. */
import knex, { type Knex } from 'knex';
import { Kysely, PostgresDialect } from 'kysely';
import { Pool } from 'pg';
import { builtInConnectors } from '../../../../src/connections/built-in';
import { Job } from '../../../../src/job/job';
import { silentLogger } from '../../../../src/logger/console-logger';
import type { QueuePusher } from '../../../../src/queue/queue-pusher';
import { QueueManager } from '../../../../src/queue/queue-manager';
import { PostgresWorld } from './open-postgres';

@Job()
class Invoice extends Job {
  constructor(readonly order: number) {
    super();
  }

  async handle(): Promise<void> {}
}

/** A name that a statement must not take for a part of itself. */
const QUOTED = `it's-"quoted"-\\?-$1`;

let world: PostgresWorld;
let manager: QueueManager;
let pool: Pool;

beforeAll(async () => {
  world = await PostgresWorld.start();
}, 60_000);

beforeEach(async () => {
  world.fresh();
  const { url } = world.server;
  const connections = { database: { driver: 'database', url, table: world.table } } as const;
  manager = new QueueManager({ connectors: builtInConnectors, logger: silentLogger }, { connections });
  await manager.driver().migrations!.run();
  pool = new Pool({ connectionString: url });
});

afterEach(async () => {
  await manager.close();
  await pool.end();
  await world.closeAll();
});

afterAll(() => world.stop());

const using = (transaction: unknown): QueuePusher => manager.connection('database').using(transaction);
const size = (): Promise<number> => manager.connection('database').size();

type Within = (work: (transaction: unknown) => Promise<void>) => Promise<void>;

const byPg: Within = async (work) => {
  const client = await pool.connect();
  try {
    await client.query('BEGIN');
    await work(client);
    await client.query('COMMIT');
  } catch (error) {
    await client.query('ROLLBACK');
    throw error;
  } finally {
    client.release();
  }
};

const byKysely: Within = async (work) => {
  const database = new Kysely<Record<string, never>>({ dialect: new PostgresDialect({ pool }) });
  await database.transaction().execute(work);
};

const byKnex: Within = async (work) => {
  const database: Knex = knex({ client: 'pg', connection: world.server.url });
  try {
    await database.transaction(work);
  } finally {
    await database.destroy();
  }
};

const byAnything: Within = (work) =>
  byPg(async (client) => {
    const { query } = client as { query(text: string, values: readonly unknown[]): Promise<object> };
    await work({ query: (text: string, values: readonly unknown[]) => query.call(client, text, values) });
  });

describe.each([
  ['pg', byPg],
  ['kysely', byKysely],
  ['knex', byKnex],
  ['anything with query(text, values)', byAnything],
])('a transaction by %s', (_name, within) => {
  it('has its jobs once it is committed, with their ids, queues and delays', async () => {
    const ids: unknown[] = [];
    await within(async (transaction) => {
      ids.push(await using(transaction).push(new Invoice(1), QUOTED));
      ids.push(await using(transaction).later('1h', new Invoice(2)));
      ids.push(...(await using(transaction).bulk([new Invoice(3), new Invoice(4)])));
      await using(transaction).pushRaw('{"id":"raw ? $1 :name","data":"\\u0000"}');
      expect(await size()).toBe(0);
    });
    const { name } = manager.connection('database');
    expect(name).toBe('database');
    expect(await manager.connection('database').counts('default')).toEqual({ ready: 3, delayed: 1, reserved: 0 });
    expect(await manager.connection('database').counts(QUOTED)).toEqual({ ready: 1, delayed: 0, reserved: 0 });
    const waiting = await manager.driver().peek('default', 'ready', 10);
    const found = waiting.map(({ payload }) => (JSON.parse(payload.toString()) as { id: string }).id);
    expect(found).toEqual([ids[2], ids[3], 'raw ? $1 :name']);
  });

  it('has none where it is rolled back', async () => {
    const work = within(async (transaction) => {
      await using(transaction).push(new Invoice(1));
      throw new Error('no');
    });
    await expect(work).rejects.toThrow('no');
    expect(await size()).toBe(0);
  });

  it('wakes workers when it is committed', async () => {
    const waiter = manager.driver().waiter(['default']);
    await waiter.wait(10, new AbortController().signal);
    let isOver = false;
    const wait = waiter.wait(30, new AbortController().signal).then(() => (isOver = true));
    await within(async (transaction) => {
      await using(transaction).push(new Invoice(1));
      await size();
      expect(isOver).toBe(false);
    });
    await wait;
  });
});

describe('using()', () => {
  it.each([
    ['a pool, whose statements are each in a transaction of their own', (): unknown => pool],
    ['kysely itself', (): unknown => new Kysely({ dialect: new PostgresDialect({ pool }) })],
    ['nothing', (): unknown => undefined],
    ['a text', (): unknown => 'BEGIN'],
  ])('refuses %s', (_what, transaction) => {
    expect(() => using(transaction())).toThrow(expect.objectContaining({ code: 'E_UNKNOWN_TRANSACTION' }) as Error);
  });

  it('is refused by a store that has no transactions of a user’s', async () => {
    const connections = { memory: { driver: 'memory' } } as const;
    const other = new QueueManager({ connectors: builtInConnectors, logger: silentLogger }, { connections });
    expect(() => other.connection('memory').using(pool)).toThrow(
      /cannot push within a transaction of yours: .* 'transactions'\. Drivers that have it: database\./,
    );
    await other.close();
  });

  it('refuses a client that has begun no transaction, or has ended it: its jobs would be there whatever becomes of the data', async () => {
    const client = await world.client();
    await client.query('BEGIN');
    const pusher = using(client);
    await client.query('COMMIT');
    await expect(pusher.push(new Invoice(1))).rejects.toMatchObject({ code: 'E_UNKNOWN_TRANSACTION' });
    expect(await size()).toBe(0);
  });

  it('refuses a transaction of another database', async () => {
    await world.rows('CREATE DATABASE elsewhere');
    const other = new Pool({ connectionString: world.server.url.replace('/postgres', '/elsewhere') });
    const client = await other.connect();
    await client.query('BEGIN');
    await expect(using(client).push(new Invoice(1))).rejects.toMatchObject({ code: 'E_DATABASE_OTHER_DATABASE' });
    client.release();
    await other.end();
  });

  it('refuses a text twice that must be unique, and leaves the transaction as it is', async () => {
    await byPg(async (client) => {
      await using(client).laterRaw('1h', '{"id":"a"}');
      await expect(using(client).laterRaw('1h', '{"id":"a"}')).rejects.toMatchObject({ code: 'E_DUPLICATE_PAYLOAD' });
    });
    expect(await size()).toBe(1);
  });
});

describe('a pool of the user’s own', () => {
  it('is said to have no connection to spare where all are in use', async () => {
    const small = new Pool({ connectionString: world.server.url, max: 1 });
    const held = await small.connect();
    const push = world.connect({ pool: small }, { deadline: 0.3 }).push('default', [{ payload: '{"id":"a"}' }]);

    await expect(push).rejects.toThrow(/has its pool a connection to spare/);
    held.release();
    await small.end();
  });

  it('carries all calls, and is neither ended nor changed', async () => {
    const connection = world.connect({ pool });
    await connection.push('default', [{ payload: '{"id":"a"}' }]);
    const waiter = connection.waiter(['default']);
    await waiter.wait(10, new AbortController().signal);
    const { reservations } = await connection.reserve({ queues: ['default'], limit: 1, lease: 60 });
    expect(reservations).toHaveLength(1);
    expect(connection.threadAccess).toBeUndefined();
    expect(connection.address).toBe(`postgres://onqueue@127.0.0.1:${world.server.port}/postgres`);

    await connection.close();

    expect((await pool.query('select 1 as one')).rows).toEqual([{ one: 1 }]);
    expect(pool.options.allowExitOnIdle).toBe(false);
  });
});
