/** Jobs that are pushed within a transaction of the user's: they exist if it is committed, and never if it is not. */
import { join } from 'node:path';
import knex, { type Knex } from 'knex';
import { Kysely, type SqliteDatabase, SqliteDialect } from 'kysely';
import Libsql from 'libsql';
import { builtInConnectors } from '../../../../src/connections/built-in';
import { Job } from '../../../../src/job/job';
import { silentLogger } from '../../../../src/logger/console-logger';
import type { QueuePusher } from '../../../../src/queue/queue-pusher';
import { QueueManager } from '../../../../src/queue/queue-manager';
import { TemporaryDatabase } from '../open-database';

@Job()
class Invoice extends Job {
  constructor(readonly order: number) {
    super();
  }

  async handle(): Promise<void> {}
}

/** A name that a statement must not take for a part of itself. */
const QUOTED = `it's-"quoted"-\\?-$1`;

let database: TemporaryDatabase;
let manager: QueueManager;
let handle: Libsql.Database;

beforeEach(async () => {
  database = new TemporaryDatabase();
  const connections = { database: { driver: 'database', url: `sqlite:${database.file}` } } as const;
  manager = new QueueManager({ connectors: builtInConnectors, logger: silentLogger }, { connections });
  await manager.driver().migrations!.run();
  handle = new Libsql(database.file);
});

afterEach(async () => {
  handle.close();
  await manager.close();
  await database.dispose();
});

const using = (transaction: unknown): QueuePusher => manager.connection('database').using(transaction);
const size = (): Promise<number> => manager.connection('database').size();

type Within = (work: (transaction: unknown) => Promise<void>) => Promise<void>;

const byLibsql: Within = async (work) => {
  handle.exec('BEGIN IMMEDIATE');
  try {
    await work(handle);
    handle.exec('COMMIT');
  } catch (error) {
    handle.exec('ROLLBACK');
    throw error;
  }
};

const kysely = (): Kysely<Record<string, never>> =>
  new Kysely({ dialect: new SqliteDialect({ database: handle as unknown as SqliteDatabase }) });

const byKysely: Within = (work) => kysely().transaction().execute(work);

const BetterSqlite = jest.requireActual<typeof Knex.Client>('knex/lib/dialects/better-sqlite3');

/** How knex is told to open its files by libsql. */
class LibsqlClient extends BetterSqlite {
  _driver(): unknown {
    return Libsql;
  }
}

const byKnex: Within = async (work) => {
  const opened: Knex = knex({ client: LibsqlClient, connection: { filename: database.file }, useNullAsDefault: true });
  try {
    await opened.transaction(work);
  } finally {
    await opened.destroy();
  }
};

const refusal = (code: string): Error => expect.objectContaining({ code }) as Error;

describe.each([
  ['libsql', byLibsql],
  ['kysely', byKysely],
  ['knex', byKnex],
])('a transaction by %s', (_name, within) => {
  it('has its jobs once it is committed, with their ids, queues and delays', async () => {
    const ids: unknown[] = [];
    const first = await manager.connection('database').push(new Invoice(0));
    await within(async (transaction) => {
      ids.push(await using(transaction).push(new Invoice(1), QUOTED));
      ids.push(await using(transaction).later('1h', new Invoice(2)));
      ids.push(...(await using(transaction).bulk([new Invoice(3), new Invoice(4)])));
      await using(transaction).pushRaw('{"id":"raw ? $1 :name","data":"\\u0000"}');
      expect(await size()).toBe(1);
    });
    expect(await manager.connection('database').counts('default')).toEqual({ ready: 4, delayed: 1, reserved: 0 });
    expect(await manager.connection('database').counts(QUOTED)).toEqual({ ready: 1, delayed: 0, reserved: 0 });
    expect(await manager.driver().queues()).toEqual(['default', QUOTED]);
    const waiting = await manager.driver().peek('default', 'ready', 10);
    const found = waiting.map(({ payload }) => (JSON.parse(payload.toString()) as { id: string }).id);
    expect(found).toEqual([first, ids[2], ids[3], 'raw ? $1 :name']);
    expect(await manager.connection('database').cancel(ids[2] as string)).toBe('removed');
  });

  it('has none where it is rolled back', async () => {
    const work = within(async (transaction) => {
      await using(transaction).push(new Invoice(1));
      throw new Error('no');
    });
    await expect(work).rejects.toThrow('no');
    expect(await size()).toBe(0);
  });

  it('keeps the counters that a text has', async () => {
    const text = '{"job":"a","data":{},"id":"1","crashes":2,"attempts":1}';
    await within(async (transaction) => void (await using(transaction).pushRaw(text)));
    const { reservations } = await manager.driver().reserve({ queues: ['default'], limit: 1, lease: 60 });
    expect(reservations).toMatchObject([{ counters: { attempts: 2, crashes: 2 } }]);
  });

  it('wakes workers when it is committed', async () => {
    const wait = manager.driver().waiter(['default']).wait(30, new AbortController().signal);
    await within(async (transaction) => void (await using(transaction).push(new Invoice(1))));
    await wait;
    expect(await size()).toBe(1);
  });

  it('refuses a text twice that must be unique, and goes on', async () => {
    await manager.connection('database').laterRaw('1h', '{"id":"a"}');
    await within(async (transaction) => {
      await expect(using(transaction).laterRaw('1h', '{"id":"a"}')).rejects.toThrow(refusal('E_DUPLICATE_PAYLOAD'));
      await using(transaction).laterRaw('1h', '{"id":"b"}');
    });
    expect(await size()).toBe(2);
  });
});

describe('using()', () => {
  it.each([
    ['a handle that has begun no transaction', (): unknown => handle],
    ['kysely itself', kysely],
    ['nothing', (): unknown => undefined],
    ['a text', (): unknown => 'BEGIN'],
  ])('refuses %s', (_what, transaction) => {
    expect(() => using(transaction())).toThrow(refusal('E_UNKNOWN_TRANSACTION'));
  });

  it('refuses a transaction that is over', async () => {
    handle.exec('BEGIN');
    const queues = using(handle);
    handle.exec('COMMIT');
    await expect(queues.push(new Invoice(1))).rejects.toThrow(refusal('E_UNKNOWN_TRANSACTION'));
    expect(await size()).toBe(0);
  });

  it('refuses two texts of one call that must be unique, before the first is written', async () => {
    const entry = { payload: '{"id":"a"}', delay: 60, unique: true };
    await byLibsql(async (transaction) => {
      const push = manager.driver().within!(transaction)!.push('default', [entry, entry]);
      await expect(push).rejects.toThrow(refusal('E_DUPLICATE_PAYLOAD'));
    });
    expect(await size()).toBe(0);
  });

  it('refuses a transaction on another file', async () => {
    const other = new Libsql(join(database.folder, 'other.sqlite'));
    other.exec('BEGIN IMMEDIATE');
    await expect(using(other).push(new Invoice(1))).rejects.toThrow(refusal('E_DATABASE_OTHER_FILE'));
    other.close();
  });

  it('refuses another copy of SQLite, which does not see the locks of this one', () => {
    const { prepare, exec } = handle;
    const other = { prepare, exec, inTransaction: true };
    expect(() => using(other)).toThrow(refusal('E_DATABASE_FOREIGN_ENGINE'));
  });

  it('refuses another build of SQLite behind kysely', async () => {
    const answers = { isTransaction: true, executeQuery: async () => ({ rows: [{ file: 1, engine: 0 }] }) };
    await expect(using(answers).push(new Invoice(1))).rejects.toThrow(refusal('E_DATABASE_FOREIGN_ENGINE'));
  });

  it('asks for the tables where they are to be made and the transaction holds the file', async () => {
    const connections = { fresh: { driver: 'database', url: `sqlite:${database.file}`, table: 'others' } } as const;
    const fresh = new QueueManager({ connectors: builtInConnectors, logger: silentLogger }, { connections });
    await byLibsql(async (transaction) => {
      const push = fresh.connection('fresh').using(transaction).push(new Invoice(1));
      await expect(push).rejects.toThrow(/not there, or not up to date; .* onqueue migrate --connection=fresh/);
    });
    await fresh.close();
  });
});
