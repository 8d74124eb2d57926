/** Transactions of libraries are recognised by their shape. `npm run check:frameworks` checks the shapes of the real ones. */
import { rawQueryOf } from '../../../src/connections/sql/libraries';

type Given = (...given: unknown[]) => Promise<unknown>;

/** The arguments that the transaction gets for `SELECT $1, $2` with two values. */
async function asked(transaction: (query: Given) => unknown): Promise<unknown[]> {
  const calls: unknown[] = [];
  const query: Given = async (...given) => void calls.push(...given);
  await rawQueryOf(transaction(query))!('SELECT $1, $2', ['a?', 2]);
  return calls;
}

const sqlOf = (query: unknown): unknown => (query as { getSQL(): { toQuery(): unknown } }).getSQL().toQuery();

describe('a transaction of a library', () => {
  it('of Prisma, MikroORM, knex, postgres.js, TypeORM or pg gets the statement and values in its own form', async () => {
    expect(await asked(($queryRawUnsafe) => ({ $queryRawUnsafe }))).toEqual(['SELECT $1, $2', 'a?', 2]);
    expect(await asked((execute) => ({ execute, isInTransaction: () => true }))).toEqual(['SELECT ?, ?', ['a?', 2]]);
    expect(await asked((raw) => Object.assign(() => undefined, { raw, isTransaction: true }))).toEqual([
      'SELECT ?, ?',
      ['a?', 2],
    ]);
    expect(await asked((unsafe) => Object.assign(() => undefined, { unsafe }))).toEqual(['SELECT $1, $2', ['a?', 2]]);
    expect(await asked((query) => ({ query }))).toEqual(['SELECT $1, $2', ['a?', 2]]);
  });

  it('of Drizzle or kysely gets an object with the statement and values', async () => {
    const [query] = await asked((execute) => ({ execute, dialect: {}, session: {}, rollback: () => undefined }));
    expect(sqlOf(query)).toEqual({ sql: 'SELECT $1, $2', params: ['a?', 2] });
    expect(await asked((executeQuery) => ({ executeQuery, isTransaction: true }))).toMatchObject([
      { sql: 'SELECT $1, $2', parameters: ['a?', 2] },
    ]);
  });

  const nothing = (): void => undefined;
  it.each([
    ['Drizzle', { execute: nothing, dialect: {}, session: {} }],
    ['MikroORM', { execute: nothing, isInTransaction: () => false }],
    ['knex', Object.assign(() => undefined, { raw: nothing, isTransaction: false })],
    ['kysely', { executeQuery: nothing, isTransaction: false }],
    ['postgres.js', Object.assign(() => undefined, { unsafe: nothing, begin: nothing })],
    ['an unknown library', { begin: nothing }],
  ])('is not recognised in an object of %s outside of a transaction', (_library, given) => {
    expect(rawQueryOf(given)).toBeUndefined();
  });
});
