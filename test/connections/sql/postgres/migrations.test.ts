import { PostgresSchema } from '../../../../src/connections/sql/postgres/postgres-schema';
import { perform, type SqlSession } from '../../../../src/connections/sql/statement';
import { tableNames } from '../../../../src/connections/sql/table-names';
import { payload } from '../open-database';
import { describeMigrations } from '../server/migrations';
import { PostgresWorld } from './open-postgres';

const world = new PostgresWorld().forTests();

describeMigrations(world, /^PostgreSQL \d+/);

describe('the tables of PostgreSQL', () => {
  it('of the version before are asked for, and keep the function that its processes go on calling', async () => {
    const connection = await world.open();
    const functions = `SELECT proname::text AS name FROM pg_proc WHERE proname LIKE ? ORDER BY proname`;
    await world.rows(`ALTER FUNCTION "${world.table}_exchange_v4" RENAME TO "${world.table}_exchange_v3"`);
    await world.rows('UPDATE onqueue_versions SET version = 3 WHERE name = ?', [world.table]);
    const pushing = world.connect().push('default', [{ payload: payload('a') }]);
    await expect(pushing).rejects.toMatchObject({ code: 'E_DATABASE_NOT_MIGRATED' });
    expect(await connection.migrations.run()).toEqual({ from: 3, to: 4 });
    expect(await world.rows(functions, [`${world.table}_exchange_%`])).toEqual([
      { name: `${world.table}_exchange_v3` },
      { name: `${world.table}_exchange_v4` },
    ]);
  });
});

describe('the statements that make the tables of PostgreSQL', () => {
  it('need a server of a version that knows them', async () => {
    const old: SqlSession = { run: async () => [{ rows: [['9.6.24', '90624']], written: 0 }] };
    const schema = new PostgresSchema(tableNames('jobs', 'database'));
    expect(await perform(old, schema.server())).toEqual({ server: 'PostgreSQL 9.6.24', needed: 'PostgreSQL 12' });
  });
});
