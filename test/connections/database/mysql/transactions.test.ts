/** Jobs that are pushed within a transaction of the user's: they exist if it is committed, and never if it is not. */
import knex, { type Knex } from 'knex';
import { Kysely, MysqlDialect } from 'kysely';
import { createPool as createCallbackPool } from 'mysql2';
import { createPool, type Pool, type RowDataPacket } from 'mysql2/promise';
import { builtInConnectors } from '../../../../src/connections/built-in';
import { Job } from '../../../../src/job/job';
import type { DatabasePool } from '../../../../src/queue/configuration';
import { silentLogger } from '../../../../src/logger/console-logger';
import type { QueuePusher } from '../../../../src/queue/queue-pusher';
import { QueueManager } from '../../../../src/queue/queue-manager';
import { MysqlWorld } from './open-mysql';

@Job()
class Invoice extends Job {
  constructor(readonly order: number) {
    super();
  }

  async handle(): Promise<void> {}
}

/** A name that a statement must not take for a part of itself. */
const QUOTED = `it's-"quoted"-\\?-$1`;

let world: MysqlWorld;
let manager: QueueManager;
let pool: Pool;

beforeAll(async () => {
  world = await MysqlWorld.start();
}, 60_000);

beforeEach(async () => {
  world.fresh();
  const { url } = world.server;
  const connections = { database: { driver: 'database', url, table: world.table } } as const;
  manager = new QueueManager({ connectors: builtInConnectors, logger: silentLogger }, { connections });
  await manager.driver().migrations!.run();
  pool = createPool(url);
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

/** A connection of `mysql2/promise`. */
const byMysql: Within = async (work) => {
  const client = await pool.getConnection();
  try {
    await client.beginTransaction();
    await work(client);
    await client.commit();
  } catch (error) {
    await client.rollback();
    throw error;
  } finally {
    client.release();
  }
};

/** A connection of `mysql2`. */
const byCallbacks: Within = (work) => byMysql((client) => work((client as { connection: unknown }).connection));

const byKysely: Within = async (work) => {
  const database = new Kysely<Record<string, never>>({
    dialect: new MysqlDialect({ pool: createCallbackPool(world.server.url) }),
  });
  try {
    await database.transaction().execute(work);
  } finally {
    await database.destroy();
  }
};

const byKnex: Within = async (work) => {
  const database: Knex = knex({ client: 'mysql2', connection: world.server.url });
  try {
    await database.transaction(work);
  } finally {
    await database.destroy();
  }
};

const byAnything: Within = (work) =>
  byMysql(async (client) => {
    const { query } = client as { query(text: string): Promise<object> };
    await work({ query: (text: string) => query.call(client, text) });
  });

describe.each([
  ['mysql2/promise', byMysql],
  ['mysql2', byCallbacks],
  ['kysely', byKysely],
  ['knex', byKnex],
  ['anything with query(text)', byAnything],
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
});

describe('using()', () => {
  it.each([
    ['a pool, whose statements are each in a transaction of their own', (): unknown => pool],
    ['kysely itself', (): unknown => new Kysely({ dialect: new MysqlDialect({ pool: pool.pool }) })],
    ['nothing', (): unknown => undefined],
    ['a text', (): unknown => 'BEGIN'],
  ])('refuses %s', (_what, transaction) => {
    expect(() => using(transaction())).toThrow(expect.objectContaining({ code: 'E_UNKNOWN_TRANSACTION' }) as Error);
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
    const client = await world.client();
    await client.query('USE elsewhere');
    await client.query('BEGIN');
    await expect(using(client).push(new Invoice(1))).rejects.toMatchObject({ code: 'E_DATABASE_OTHER_DATABASE' });
  });

  it('refuses a text twice that must be unique, and leaves the transaction as it is', async () => {
    await byMysql(async (client) => {
      await using(client).laterRaw('1h', '{"id":"a"}');
      await expect(using(client).laterRaw('1h', '{"id":"a"}')).rejects.toMatchObject({ code: 'E_DUPLICATE_PAYLOAD' });
    });
    expect(await size()).toBe(1);
  });
});

describe('a pool of the user’s own', () => {
  it.each([
    ['mysql2/promise', (): DatabasePool => pool],
    ['mysql2', (): DatabasePool => pool.pool],
  ])('of %s lends its settings, and is neither used, ended nor changed', async (_name, given) => {
    const connection = world.connect({ pool: given() });
    await connection.push('default', [{ payload: '{"id":"a"}' }]);
    const { reservations } = await connection.reserve({ queues: ['default'], limit: 1, lease: 60 });
    expect(reservations).toHaveLength(1);
    expect(connection.threadAccess).toBeUndefined();
    expect(connection.address).toBe(`mysql://onqueue@127.0.0.1:${world.server.port}/onqueue`);

    await connection.close();

    const [rows] = await pool.query<RowDataPacket[]>('SELECT 1 AS one, @@tx_isolation AS isolation');
    expect(rows).toEqual([{ one: 1, isolation: 'REPEATABLE-READ' }]);
  });

  it('is chosen by the method that gives its connections', async () => {
    const connections = { database: { driver: 'database', pool, table: world.table } } as const;
    const other = new QueueManager({ connectors: builtInConnectors, logger: silentLogger }, { connections });
    expect(other.driver().address).toMatch(/^mysql:/);
    await other.connection('database').push(new Invoice(1));
    expect(await size()).toBe(1);
    await other.close();
  });
});

describe('a socket of the machine', () => {
  it('is named by an option in the address', async () => {
    const connection = world.connect({
      url: `mysql://onqueue:secret@localhost/onqueue?socketPath=${world.server.socket}`,
    });
    expect(await connection.queues()).toEqual([]);
    expect(connection.address).toBe(`mysql://onqueue@localhost${world.server.socket}/onqueue`);
  });
});
