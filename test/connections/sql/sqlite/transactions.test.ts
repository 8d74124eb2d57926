/** Jobs pushed within a transaction of the user exist if it is committed, and only then. */
import { join } from 'node:path';
import knex, { type Knex } from 'knex';
import { Kysely, SqliteDialect, type SqliteDatabase } from 'kysely';
import Libsql from 'libsql';
import { builtInConnectors } from '../../../../src/connections/built-in';
import { silentLogger } from '../../../../src/base/logger';
import type { Entry } from '../../../../src/connections/contract';
import { uniqueKey, withTies } from '../../../../src/payload/ties';
import { QueueManager } from '../../../../src/application/queue-manager';
import { payload, TemporaryDatabase } from '../open-database';
import {
  describeBatches,
  describeTransactions,
  describeUsing,
  Invoice,
  ManagedDatabase,
  type Ways,
  type Within,
} from '../transactions';
import { waitOn } from '../../../support/exchange';

const database = new ManagedDatabase();
let files: TemporaryDatabase;
let handle: Libsql.Database;

beforeEach(async () => {
  files = new TemporaryDatabase();
  await database.open({ url: `sqlite:${files.file}` });
  handle = new Libsql(files.file);
});

afterEach(async () => {
  handle.close();
  await database.manager.close();
  await files.dispose();
});

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

/** Makes knex open its files with libsql. */
class LibsqlClient extends BetterSqlite {
  _driver(): unknown {
    return Libsql;
  }
}

const byKnex: Within = async (work) => {
  const opened: Knex = knex({ client: LibsqlClient, connection: { filename: files.file }, useNullAsDefault: true });
  try {
    await opened.transaction(work);
  } finally {
    await opened.destroy();
  }
};

const WAYS: Ways = [
  ['libsql', byLibsql],
  ['kysely', byKysely],
  ['knex', byKnex],
];

const refusal = (code: string): Error => expect.objectContaining({ code }) as Error;

describeTransactions(database, WAYS);
describeBatches(database, WAYS);

describe.each(WAYS)('a transaction by %s', (_name, within) => {
  it('wakes workers when it is committed', async () => {
    const wait = waitOn(database.manager.driver(), ['default'], 30, new AbortController().signal);
    await within(async (transaction) => void (await database.using(transaction).push(new Invoice(1))));
    await wait;
    expect(await database.size()).toBe(1);
  });

  it('gets the holder of a unique key', async () => {
    const ties = { unique: { key: uniqueKey('Probe', 'one'), until: 'end' as const } };
    const tied = (id: string): Entry => ({ payload: withTies(payload(id), ties), ties });
    await within(async (transaction) => {
      const pusher = database.manager.driver().within!(transaction)!;
      await pusher.push('default', [tied('a')]);
      expect(await pusher.push('default', [tied('b')])).toEqual([{ duplicate: 'a' }]);
    });
  });
});

describeUsing(
  database,
  [
    ['a handle without a transaction', () => handle],
    ['kysely itself', kysely],
  ],
  async () => {
    handle.exec('BEGIN');
    return { transaction: handle, commit: () => handle.exec('COMMIT') };
  },
);

describe('using() on SQLite', () => {
  it('refuses two equal payloads of one call that must be distinct, before the first is written', async () => {
    const entry = { payload: '{"id":"a"}', delay: 60, distinct: true };
    await byLibsql(async (transaction) => {
      const push = database.manager.driver().within!(transaction)!.push('default', [entry, entry]);
      await expect(push).rejects.toThrow(refusal('E_DUPLICATE_PAYLOAD'));
    });
    expect(await database.size()).toBe(0);
  });

  it('refuses a transaction on another file', async () => {
    const other = new Libsql(join(files.folder, 'other.sqlite'));
    other.exec('BEGIN IMMEDIATE');
    await expect(database.using(other).push(new Invoice(1))).rejects.toThrow(refusal('E_DATABASE_OTHER_FILE'));
    other.close();
  });

  it('refuses another copy of SQLite, which does not see the locks of ours', () => {
    const { prepare, exec } = handle;
    const other = { prepare, exec, inTransaction: true };
    expect(() => database.using(other)).toThrow(refusal('E_DATABASE_FOREIGN_ENGINE'));
  });

  it('refuses another build of SQLite behind kysely', async () => {
    const answers = { isTransaction: true, executeQuery: async () => ({ rows: [{ file: 1, engine: 0 }] }) };
    await expect(database.using(answers).push(new Invoice(1))).rejects.toThrow(refusal('E_DATABASE_FOREIGN_ENGINE'));
  });

  it('asks for a migration if tables are missing while the transaction locks the file', async () => {
    const connections = { fresh: { driver: 'database', url: `sqlite:${files.file}`, table: 'others' } } as const;
    const fresh = new QueueManager({ connectors: builtInConnectors, logger: silentLogger }, { connections });
    await byLibsql(async (transaction) => {
      const push = fresh.connection('fresh').using(transaction).push(new Invoice(1));
      await expect(push).rejects.toThrow(/not there, or not up to date; .* onqueue migrate --connection=fresh/);
    });
    await fresh.close();
  });
});
