import { identifiers } from '../../../../src/connections/sql/postgres/names';
import { postgresSchema } from '../../../../src/connections/sql/postgres/schema';
import type { ServerCaller } from '../../../../src/connections/sql/server/caller';
import { ServerTables } from '../../../../src/connections/sql/server/tables';
import { performNow, type Sql, type SqlResult, type Work } from '../../../../src/connections/sql/statement';
import { silent } from '../open-database';
import { tableNames } from '../../../../src/connections/sql/address';

it('tables that another process finishes during the check are not considered damaged', async () => {
  const schema = postgresSchema(identifiers(tableNames('jobs', 'database')));
  const ours = ['jobs.lease_until', 'jobs.cancel_reason', 'failed_jobs.failed_ms', 'jobs_orders.ends_at'];
  let areMade = false;
  const rowsOf = ({ text, values }: Sql): SqlResult['rows'] => {
    if (text.includes('server_version')) return [['15.1', '150001']];
    if (!text.includes('pg_attribute')) {
      areMade = true;
      return [[schema.version]];
    }
    const made = [...ours, 'jobs.attempts'].map((name) => [...name.split('.'), 'bigint']);
    const columns = [['onqueue_versions', 'version', 'integer'], ...(areMade ? made : [])];
    return columns.filter(([table]) => String(values[0]).includes(table!));
  };
  const answer = (statements: readonly Sql[]): readonly SqlResult[] =>
    statements.map((statement) => ({ rows: rowsOf(statement), written: 0 }));
  const caller = {
    settings: { name: 'database', address: 'postgres://db' },
    run: async (_purpose: object, work: () => Work<unknown>) => performNow(answer, work()),
  };

  await expect(
    new ServerTables(schema, caller as unknown as ServerCaller, silent).check('nothing was done'),
  ).resolves.toBeUndefined();
});
