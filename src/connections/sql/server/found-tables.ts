/** What stands in a database server under the names of our tables: of which version it is, and whether it is ours at all. */
import { foreignTable } from '../errors';
import type { TableNames } from '../table-names';
import type { Found } from './server-tables';
import type { Work } from '../statement';

/** What makes a table of that name one of Laravel's, or of ours. */
const LARAVELS = {
  jobs: ['id', 'queue', 'payload', 'attempts', 'reserved_at', 'available_at', 'created_at'],
  failed: ['id', 'uuid', 'connection', 'queue', 'payload', 'exception', 'failed_at'],
} as const;

/**
 * @param columns the types of those of the jobs, the failed jobs and the orders, by `table.column`; and by null the version
 * @param version that this Onqueue works with
 */
export function foundTables(
  columns: readonly (readonly unknown[])[],
  tables: TableNames,
  version: number,
): Pick<Found, 'version' | 'flaw'> {
  const found = new Map(columns.map(([name, type]) => [String(name), String(type).toLowerCase()]));
  const is = Number(found.get('null') ?? 0);
  return is === version ? { version: is, flaw: flawIn(found, tables) } : { version: is };
}

/**
 * What is wrong with tables whose version is right, as a clause; undefined: nothing. Laravel's migrations make some columns too
 * narrow, and make a table anew without ours.
 */
function flawIn(found: ReadonlyMap<string, string>, { jobs, failed, orders }: TableNames): string | undefined {
  for (const [name, type] of [
    [`${jobs}.lease_until`],
    [`${jobs}.cancel_reason`],
    [`${jobs}.attempts`, 'bigint'],
    [`${failed}.failed_ms`],
    [`${orders}.ends_at`],
  ]) {
    const is = found.get(name!);
    if (is === undefined) return `${name} is missing`;
    if (type !== undefined && is !== type) return `${name} is ${is}, where ${type} is needed`;
  }
  return undefined;
}

/**
 * @param call the column of the calls that has their numbers
 * @throws E_DATABASE_FOREIGN_TABLE one of them is somebody else's
 */
export function* checkForeign(
  { jobs, failed, queues, locks, orders, calls }: TableNames,
  call: string,
  address: string,
  columnsOf: (table: string) => Work<readonly string[]>,
): Work<void> {
  for (const [table, needed] of [
    [jobs, LARAVELS.jobs],
    [failed, LARAVELS.failed],
    [queues, ['name']],
    [locks, ['name', 'token', 'expires_at']],
    [orders, ['kind', 'value']],
    [calls, ['client', call, 'called_at']],
  ] as const) {
    const columns = yield* columnsOf(table);
    if (columns.length > 0 && !needed.every((column) => columns.includes(column))) throw foreignTable(address, table);
  }
}
