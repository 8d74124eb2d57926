/** `Queue.transaction(database, fn)`: with kysely and knex themselves, and with the shapes of Prisma and Drizzle. */
import knex, { type Knex } from 'knex';
import { type CompiledQuery, Kysely, SqliteDialect, type SqliteDatabase, type Transaction } from 'kysely';
import Libsql from 'libsql';
import { Queue } from '../../../src/application/queue';
import { given, pushed } from './mails';

interface Tables {
  users: { email: string };
}

type Work = (transaction: unknown) => Promise<unknown>;

let handle: Libsql.Database;
let knexes: Knex;
/** What the database was told. */
let told: string[];

const BetterSqlite = jest.requireActual<typeof Knex.Client>('knex/lib/dialects/better-sqlite3');

/** Makes knex open its files with libsql. */
class LibsqlClient extends BetterSqlite {
  _driver(): unknown {
    return Libsql;
  }
}

beforeEach(() => {
  told = [];
  handle = new Libsql(':memory:');
  handle.exec('CREATE TABLE users (email TEXT)');
  knexes = knex({ client: LibsqlClient, connection: { filename: ':memory:' }, useNullAsDefault: true });
  knexes.on('query', ({ sql }: { sql: string }) => void told.push(sql.replace(';', '')));
});
afterEach(async () => {
  handle.close();
  await knexes.destroy();
});

const kysely = (): Kysely<Tables> =>
  new Kysely<Tables>({
    dialect: new SqliteDialect({ database: handle as unknown as SqliteDatabase }),
    log: ({ query }: { query: CompiledQuery }) => void told.push(query.sql),
  });

const stand = async (work: Work): Promise<unknown> => {
  told.push('BEGIN');
  try {
    const result = await work('opened');
    told.push('COMMIT');
    return result;
  } catch (error) {
    told.push('ROLLBACK');
    throw error;
  }
};

const DATABASES: readonly (readonly [string, () => object])[] = [
  ['kysely', kysely],
  ['knex', () => knexes],
  ['the shape of Prisma', () => ({ $transaction: stand })],
  ['the shape of Drizzle', () => ({ transaction: stand, dialect: {}, session: {} })],
];

const words = (): string[] => told.map((sql) => /^(begin|commit|rollback)/i.exec(sql)?.[0].toUpperCase() ?? sql);

it.each(DATABASES)('opens the transaction of %s, and sends the jobs after its commit', async (_, open) => {
  const { send, watched } = given();
  const seen: unknown[] = [];

  const result = await Queue.transaction(open(), async (transaction) => {
    await send('ada');
    seen.push(transaction, pushed(watched()));
    return 42;
  });

  expect(result).toBe(42);
  expect(seen).toEqual([expect.anything(), []]);
  expect(words()).toEqual(['BEGIN', 'COMMIT']);
  expect(pushed(watched())).toEqual(['ada']);
});

it.each(DATABASES)('sends nothing if %s rolls back', async (_, open) => {
  const { send, watched } = given();
  const refused = new Error('refused');

  const rejects = Queue.transaction(open(), async () => {
    await send('ada');
    throw refused;
  });

  await expect(rejects).rejects.toBe(refused);
  expect(words()).toEqual(['BEGIN', 'ROLLBACK']);
  expect(pushed(watched())).toEqual([]);
});

it('gives the transaction as its library types it', async () => {
  const rows = await Queue.transaction(kysely(), async (opened: Transaction<Tables>) => {
    await opened.insertInto('users').values({ email: 'ada@example.org' }).execute();
    return opened.selectFrom('users').selectAll().execute();
  });
  const inKnex: Knex.QueryBuilder = await Queue.transaction(knexes, async (opened: Knex.Transaction) =>
    opened.raw('SELECT 1 AS one'),
  );

  expect(rows).toEqual([{ email: 'ada@example.org' }]);
  expect(inKnex).toEqual([{ one: 1 }]);
});

it('refuses a Drizzle database whose transactions cannot wait, and says what to do', async () => {
  const database = { transaction: () => undefined, dialect: {}, session: {}, resultKind: 'sync' };
  await expect(Queue.transaction(database as object, async () => 1)).rejects.toMatchObject({
    code: 'E_UNKNOWN_DATABASE',
    message: expect.stringContaining('Queue.transaction(() => database.transaction((tx) => { … }))') as string,
  });
});

it.each([[{ query: () => undefined }], ['postgres://app'], [undefined]])(
  'refuses %p, naming what it takes',
  async (database) => {
    await expect(Queue.transaction(database as object, async () => 1)).rejects.toMatchObject({
      code: 'E_UNKNOWN_DATABASE',
    });
  },
);
