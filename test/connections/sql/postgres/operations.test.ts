import { identifiers } from '../../../../src/connections/sql/postgres/names';
import { postgresDialect } from '../../../../src/connections/sql/postgres/connection';
import { perform, raw, rowsOf, run, type SqlSession } from '../../../../src/connections/sql/statement';
import { query } from '../../../../src/connections/sql/postgres/client';
import { tableNames } from '../../../../src/connections/sql/address';
import { describeServerOperations } from '../server/operations';
import { PostgresWorld } from './open-postgres';

const world = new PostgresWorld().forTests({ sameTables: true });

describeServerOperations(world);

it('PostgreSQL ends a transaction whose process was frozen halfway', async () => {
  const client = await world.client();
  const session: SqlSession = { run: async ([statement]) => [await query(client, statement!)] };
  const { transaction } = postgresDialect(identifiers(tableNames(world.table, 'database')));
  const show = raw('SHOW idle_in_transaction_session_timeout');
  expect(
    await perform(
      session,
      transaction(() => rowsOf(show)),
    ),
  ).toEqual([['10s']]);
  expect((await perform(session, run(show))).rows).toEqual([['0']]);
});

// Otherwise one text would be read as two jobs.
it('a push to PostgreSQL keeps texts with the character that stands between texts', async () => {
  const connection = await world.open();
  const texts = ['{"job":"a"}', 'no JSON: \u001E', '{"id":"\\u001e","attempts":0}', '{"job":"b"}'];

  await connection.push(
    'default',
    texts.map((text) => ({ payload: text })),
  );

  const stored = await world.rows(`SELECT payload, uuid FROM "${world.table}" ORDER BY place`);
  expect(stored.map((row) => row['payload'])).toEqual(texts);
});

it('a push to PostgreSQL keeps jobs without ids and jobs without text', async () => {
  const connection = await world.open();

  for (const texts of [['{"job":"a"}'], ['{"job":"b"}', '{"job":"c","id":"c"}'], ['']])
    await connection.push(
      'default',
      texts.map((text) => ({ payload: text })),
    );

  const stored = await world.rows(`SELECT payload, uuid FROM "${world.table}" ORDER BY place`);
  expect(stored).toEqual([
    { payload: '{"job":"a"}', uuid: '' },
    { payload: '{"job":"b"}', uuid: '' },
    { payload: '{"job":"c","id":"c"}', uuid: 'c' },
    { payload: '', uuid: '' },
  ]);
});
