/** Jobs pushed within a transaction of the user exist if it is committed, and only then. */
import knex, { type Knex } from 'knex';
import { Kysely, MysqlDialect } from 'kysely';
import { createPool as createCallbackPool } from 'mysql2';
import { createPool, type Pool, type RowDataPacket } from 'mysql2/promise';
import { builtInConnectors } from '../../../../src/connections/built-in';
import type { DatabasePool } from '../../../../src/connections/sql/driver';
import { silentLogger } from '../../../../src/base/logger';
import { QueueManager } from '../../../../src/application/queue-manager';
import {
  describeBatches,
  describeTransactions,
  describeUsing,
  Invoice,
  ManagedDatabase,
  type Ways,
  type Within,
} from '../transactions';
import { MysqlWorld } from './open-mysql';
import { reserveFrom } from '../../../support/exchange';

const world = new MysqlWorld().forTests();
const database = new ManagedDatabase();
let pool: Pool;

beforeEach(async () => {
  const { url } = world.server;
  await database.open({ url, table: world.table });
  pool = createPool(url);
});

afterEach(async () => {
  await database.manager.close();
  await pool.end();
});

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
  const kysely = new Kysely<Record<string, never>>({
    dialect: new MysqlDialect({ pool: createCallbackPool(world.server.url) }),
  });
  try {
    await kysely.transaction().execute(work);
  } finally {
    await kysely.destroy();
  }
};

const byKnex: Within = async (work) => {
  const queries: Knex = knex({ client: 'mysql2', connection: world.server.url });
  try {
    await queries.transaction(work);
  } finally {
    await queries.destroy();
  }
};

const byAnything: Within = (work) =>
  byMysql(async (client) => {
    const { query } = client as { query(text: string): Promise<object> };
    await work({ query: (text: string) => query.call(client, text) });
  });

const WAYS: Ways = [
  ['mysql2/promise', byMysql],
  ['mysql2', byCallbacks],
  ['kysely', byKysely],
  ['knex', byKnex],
  ['anything with query(text)', byAnything],
];

describeTransactions(database, WAYS);
describeBatches(database, WAYS);

describeUsing(
  database,
  [
    ['a pool, whose statements are each in a transaction of their own', () => pool],
    ['kysely itself', () => new Kysely({ dialect: new MysqlDialect({ pool: pool.pool }) })],
  ],
  async () => {
    const client = await world.client();
    await client.query('BEGIN');
    return { transaction: client, commit: () => client.query('COMMIT') };
  },
);

describe('using() on MariaDB', () => {
  it('refuses a transaction of another database', async () => {
    await world.rows('CREATE DATABASE elsewhere');
    const client = await world.client();
    await client.query('USE elsewhere');
    await client.query('BEGIN');
    await expect(database.using(client).push(new Invoice(1))).rejects.toMatchObject({
      code: 'E_DATABASE_OTHER_DATABASE',
    });
  });
});

describe('a pool of the user', () => {
  it.each([
    ['mysql2/promise', (): DatabasePool => pool],
    ['mysql2', (): DatabasePool => pool.pool],
  ])('of %s provides its settings, and is neither used, ended nor changed', async (_name, given) => {
    const connection = world.connect({ pool: given() });
    await connection.push('default', [{ payload: '{"id":"a"}' }]);
    const { reservations } = await reserveFrom(connection, { queues: ['default'], limit: 1, lease: 60 });
    expect(reservations).toHaveLength(1);
    expect(connection.address).toBe(`mysql://onqueue@127.0.0.1:${world.server.port}/onqueue`);

    await connection.close();

    const [rows] = await pool.query<RowDataPacket[]>('SELECT 1 AS one, @@tx_isolation AS isolation');
    expect(rows).toEqual([{ one: 1, isolation: 'REPEATABLE-READ' }]);
  });

  it('is recognised by its method for connections', async () => {
    const connections = { database: { driver: 'database', pool, table: world.table } } as const;
    const other = new QueueManager({ connectors: builtInConnectors, logger: silentLogger }, { connections });
    expect(other.driver().address).toMatch(/^mysql:/);
    await other.connection('database').push(new Invoice(1));
    expect(await database.size()).toBe(1);
    await other.close();
  });
});

describe('a local socket', () => {
  it('can be given by an option in the address', async () => {
    const connection = world.connect({
      url: `mysql://onqueue:secret@localhost/onqueue?socketPath=${world.server.socket}`,
    });
    expect(await connection.queues.names()).toEqual([]);
    expect(connection.address).toBe(`mysql://onqueue@localhost${world.server.socket}/onqueue`);
  });
});
