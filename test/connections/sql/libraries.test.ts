/** Each library by its shape; that the shape is the real one, `npm run check:frameworks` shows. */
import { rawQueryOf } from '../../../src/connections/sql/libraries';

type Given = (...given: unknown[]) => Promise<unknown>;

/** What the transaction was asked, for `SELECT $1, $2` with two values. */
async function asked(transaction: (query: Given) => unknown): Promise<unknown[]> {
  const calls: unknown[] = [];
  const query: Given = async (...given) => void calls.push(...given);
  await rawQueryOf(transaction(query))!('SELECT $1, $2', ['a?', 2]);
  return calls;
}

const sqlOf = (query: unknown): unknown => (query as { getSQL(): { toQuery(): unknown } }).getSQL().toQuery();

describe('a transaction of a library', () => {
  it('of Prisma, MikroORM, knex, postgres.js, TypeORM or pg gets statement and values as it writes them', async () => {
    expect(await asked(($queryRawUnsafe) => ({ $queryRawUnsafe }))).toEqual(['SELECT $1, $2', 'a?', 2]);
    expect(await asked((execute) => ({ execute, isInTransaction: () => true }))).toEqual(['SELECT ?, ?', ['a?', 2]]);
    expect(await asked((raw) => Object.assign(() => undefined, { raw, isTransaction: true }))).toEqual([
      'SELECT ?, ?',
      ['a?', 2],
    ]);
    expect(await asked((unsafe) => Object.assign(() => undefined, { unsafe }))).toEqual(['SELECT $1, $2', ['a?', 2]]);
    expect(await asked((query) => ({ query }))).toEqual(['SELECT $1, $2', ['a?', 2]]);
  });

  it('of Drizzle or kysely gets an object that says them', async () => {
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
    ['nobody', { begin: nothing }],
  ])('is not what %s has begun none with', (_library, given) => {
    expect(rawQueryOf(given)).toBeUndefined();
  });
});
