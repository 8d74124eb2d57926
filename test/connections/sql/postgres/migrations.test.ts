import { PostgresSchema } from '../../../../src/connections/sql/postgres/postgres-schema';
import { perform, type SqlSession } from '../../../../src/connections/sql/statement';
import { tableNames } from '../../../../src/connections/sql/table-names';
import { describeMigrations } from '../server/migrations';
import { PostgresWorld } from './open-postgres';

describeMigrations(new PostgresWorld().forTests(), /^PostgreSQL \d+/);

describe('the statements that make the tables of PostgreSQL', () => {
  it('need a server of a version that knows them', async () => {
    const old: SqlSession = { run: async () => [{ rows: [['9.6.24', '90624']], written: 0 }] };
    const schema = new PostgresSchema(tableNames('jobs', 'database'));
    expect(await perform(old, schema.server())).toEqual({ server: 'PostgreSQL 9.6.24', needed: 'PostgreSQL 12' });
  });
});
