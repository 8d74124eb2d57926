import { postgresDialect } from '../../../../src/connections/sql/postgres/postgres-dialect';
import { perform, raw, rowsOf, run, type SqlSession } from '../../../../src/connections/sql/statement';
import { query } from '../../../../src/connections/sql/postgres/pg';
import { tableNames } from '../../../../src/connections/sql/table-names';
import { describeServerOperations } from '../server/operations';
import { PostgresWorld } from './open-postgres';

const world = new PostgresWorld().forTests();

describeServerOperations(world);

it('PostgreSQL ends a transaction whose process was frozen halfway', async () => {
  const client = await world.client();
  const session: SqlSession = { run: async ([statement]) => [await query(client, statement!)] };
  const { transaction } = postgresDialect(tableNames(world.table, 'database'), () => 0);
  const show = raw('SHOW idle_in_transaction_session_timeout');
  expect(
    await perform(
      session,
      transaction(() => rowsOf(show)),
    ),
  ).toEqual([['10s']]);
  expect((await perform(session, run(show))).rows).toEqual([['0']]);
});
