/** Jobs pushed within a transaction of the user exist if it is committed, and only then. */
import knex, { type Knex } from 'knex';
import { Kysely, PostgresDialect } from 'kysely';
import { Pool } from 'pg';
import { builtInConnectors } from '../../../../src/connections/built-in';
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
import { eventually } from '../../../support/eventually';
import { PostgresWorld } from './open-postgres';
import { reserveFrom, waitOn } from '../../../support/exchange';

const world = new PostgresWorld().forTests();
const database = new ManagedDatabase();
let pool: Pool;

beforeEach(async () => {
  const { url } = world.server;
  await database.open({ url, table: world.table });
  pool = new Pool({ connectionString: url });
});

afterEach(async () => {
  await database.manager.close();
  await pool.end();
});

const SESSIONS = 'SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()';

/** Ends the sessions of everybody else, as a restart of the server does. */
const endOthers = async (condition = "AND state = 'idle'"): Promise<unknown> =>
  world.rows(`SELECT pg_terminate_backend(pid) FROM (${SESSIONS} ${condition}) AS others`);

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
  const kysely = new Kysely<Record<string, never>>({ dialect: new PostgresDialect({ pool }) });
  await kysely.transaction().execute(work);
};

const byKnex: Within = async (work) => {
  const queries: Knex = knex({ client: 'pg', connection: world.server.url });
  try {
    await queries.transaction(work);
  } finally {
    await queries.destroy();
  }
};

const byAnything: Within = (work) =>
  byPg(async (client) => {
    const { query } = client as { query(text: string, values: readonly unknown[]): Promise<object> };
    await work({ query: (text: string, values: readonly unknown[]) => query.call(client, text, values) });
  });

const byRowsAlone: Within = (work) =>
  byPg(async (client) => {
    const { query } = client as {
      query(text: string, values: readonly unknown[]): Promise<{ readonly rows: object[] }>;
    };
    await work({
      query: async (text: string, values: readonly unknown[]) => (await query.call(client, text, values)).rows,
    });
  });

const WAYS: Ways = [
  ['a client that returns only the rows, as TypeORM does', byRowsAlone],
  ['pg', byPg],
  ['kysely', byKysely],
  ['knex', byKnex],
  ['anything with query(text, values)', byAnything],
];

describeTransactions(database, WAYS);
describeBatches(database, WAYS);

describe.each(WAYS)('a transaction by %s', (_name, within) => {
  it('wakes workers when it is committed', async () => {
    await waitOn(database.manager.driver(), ['default'], 10, new AbortController().signal);
    let isOver = false;
    const wait = waitOn(database.manager.driver(), ['default'], 3600, new AbortController().signal).then(
      () => (isOver = true),
    );
    await within(async (transaction) => {
      await database.using(transaction).push(new Invoice(1));
      await database.size();
      expect(isOver).toBe(false);
    });
    await wait;
  });
});

describeUsing(
  database,
  [
    ['a pool, whose statements are each in a transaction of their own', () => pool],
    ['kysely itself', () => new Kysely({ dialect: new PostgresDialect({ pool }) })],
  ],
  async () => {
    const client = await world.client();
    await client.query('BEGIN');
    return { transaction: client, commit: () => client.query('COMMIT') };
  },
);

describe('using() on PostgreSQL', () => {
  it('is refused by a store without user transactions', async () => {
    const connections = { memory: { driver: 'memory' } } as const;
    const other = new QueueManager({ connectors: builtInConnectors, logger: silentLogger }, { connections });
    expect(() => other.connection('memory').using(pool)).toThrow(
      /cannot push within a transaction of yours: .* 'transactions'\. Drivers that have it: database\./,
    );
    await other.close();
  });

  it('refuses a transaction of another database', async () => {
    await world.rows('CREATE DATABASE elsewhere');
    const other = new Pool({ connectionString: world.server.url.replace('/postgres', '/elsewhere') });
    const client = await other.connect();
    await client.query('BEGIN');
    await expect(database.using(client).push(new Invoice(1))).rejects.toMatchObject({
      code: 'E_DATABASE_OTHER_DATABASE',
    });
    client.release();
    await other.end();
  });
});

describe('a pool of the user', () => {
  it('is reported to have no free connection if all are in use', async () => {
    const small = new Pool({ connectionString: world.server.url, max: 1 });
    const held = await small.connect();
    const push = world.clock.passing(world.connect({ pool: small }).push('default', [{ payload: '{"id":"a"}' }]));

    await expect(push).rejects.toThrow(/does its pool have a free connection/);
    held.release();
    await small.end();
  });

  it('is used for all calls, and is neither ended nor changed', async () => {
    const connection = world.connect({ pool });
    await connection.push('default', [{ payload: '{"id":"a"}' }]);
    await waitOn(connection, ['default'], 10, new AbortController().signal);
    const { reservations } = await reserveFrom(connection, { queues: ['default'], limit: 1, lease: 60 });
    expect(reservations).toHaveLength(1);
    expect(connection.address).toBe(`postgres://onqueue@127.0.0.1:${world.server.port}/postgres`);

    await connection.close();

    expect((await pool.query('select 1 as one')).rows).toEqual([{ one: 1 }]);
    expect(pool.options.allowExitOnIdle).toBe(false);
  });

  it('outlives the end of its idle connections while we use it, and has its own listeners again afterwards', async () => {
    const connection = world.connect({ pool });
    await connection.push('default', [{ payload: '{"id":"a"}' }]);

    await endOthers();
    await eventually(() => pool.totalCount === 0);
    await connection.push('default', [{ payload: '{"id":"b"}' }]);
    await connection.close();

    expect(pool.listenerCount('error')).toBe(0);
  });

  it('has one listener, however many connections use it, until the last of them is closed', async () => {
    const connections = Array.from({ length: 12 }, () => world.connect({ pool }));
    for (const [at, connection] of connections.entries()) {
      await connection.push('default', [{ payload: `{"id":"${at}"}` }]);
      expect(pool.listenerCount('error')).toBe(1);
    }
    const [last, ...others] = connections;
    for (const connection of others) await connection.close();
    expect(pool.listenerCount('error')).toBe(1);
    await last!.close();
    expect(pool.listenerCount('error')).toBe(0);
  });

  it('is said at once to have ended, if the program has ended it', async () => {
    const ended = new Pool({ connectionString: world.server.url });
    await ended.end();
    const pushing = world.connect({ pool: ended }).push('default', [{ payload: '{"id":"a"}' }]);
    await expect(pushing).rejects.toThrow(
      /refused \(Cannot use .*\); .* has ended its pool: end it after Queue\.close/,
    );
  });

  it('has one listener on its client in a transaction, however many are dispatched at once', async () => {
    const client = await pool.connect();
    await client.query('BEGIN');
    let most = 0;
    client.on('newListener' as 'end', () => (most = Math.max(most, client.listenerCount('error'))));
    const connection = await world.open();
    const within = connection.within(client)!;

    await Promise.all(Array.from({ length: 20 }, (_, at) => within.push('default', [{ payload: `{"id":"${at}"}` }])));

    expect(most).toBe(0);
    await client.query('COMMIT');
    client.release();
    expect(await connection.queues.counts('default')).toMatchObject({ ready: 20 });
  });

  it('outlives the end of a connection in the middle of a push within a transaction', async () => {
    const connection = world.connect();
    const client = await pool.connect();
    const locker = await world.client();
    await locker.query(`BEGIN; LOCK TABLE ${world.table}`);
    await client.query('BEGIN');

    const pushing = connection.within(client)!.push('default', [{ payload: '{"id":"a"}' }]);
    void pushing.catch(() => undefined);
    await eventually(async () => (await world.rows(`${SESSIONS} AND wait_event_type = 'Lock'`)).length > 0);
    await endOthers("AND wait_event_type = 'Lock'");

    await expect(pushing).rejects.toThrow(/terminating connection/);
    await eventually(() => client.listenerCount('error') === 0);
    client.release(true);
  });

  it('outlives the end of its connection while a push within a transaction asks the store something else', async () => {
    const connection = world.connect();
    const client = await pool.connect();
    const locker = await world.client();
    await locker.query(`BEGIN; LOCK TABLE ${world.table}_queues`);
    await client.query('BEGIN');
    const { rows } = await client.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');

    const pushing = connection.within(client)!.push('default', [{ payload: '{"id":"a"}' }]);
    void pushing.catch(() => undefined);
    await eventually(async () => (await world.rows(`${SESSIONS} AND wait_event_type = 'Lock'`)).length > 0);
    const ended = new Promise((resolve) => client.once('end', resolve));
    await endOthers(`AND pid = ${rows[0]!.pid}`);
    await ended;
    await locker.query('COMMIT');

    await expect(pushing).rejects.toThrow(/not queryable/);
    await eventually(() => client.listenerCount('error') === 0);
    client.release(true);
  });
});
