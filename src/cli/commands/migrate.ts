/** `migrate`: creates the tables of databases, or updates them. */
import type { Migrations } from '../../connections/contract';
import { defineCommand } from '../command';
import { errorText, ExitCode } from '../errors';
import { CONNECTION, on } from '../flags';

export const migrate = defineCommand({
  name: 'migrate',
  summary: 'create or update the tables of database connections',
  description:
    'For PostgreSQL, MySQL and MariaDB, run this before you start a new version of Onqueue; for SQLite it happens on ' +
    "first use. Laravel's own tables, jobs and failed_jobs, get more columns and indexes. It is safe to run again, and concurrently.",
  examples: [
    ['onqueue migrate', 'all connections with tables'],
    ['onqueue migrate --connection=main', 'one connection'],
    ['onqueue migrate --print > onqueue.sql', 'only print the statements'],
  ],
  flags: {
    print: on('print the statements without running them'),
    connection: CONNECTION,
  },
  async run(call) {
    const { flags, output } = call;
    const manager = await call.open();
    const names = flags.connection === undefined ? manager.connectionNames() : [flags.connection];
    const done: object[] = [];
    for (const connection of names) {
      try {
        const { migrations, driver } = manager.driver(connection);
        if (migrations === undefined) {
          if (flags.connection !== undefined) output.note(`${connection} (${driver}) has no tables.`);
        } else if (flags.print === true) {
          const sql = migrations.sql();
          done.push({ connection, sql });
          output.line(`-- ${connection}\n${sql}`);
        } else {
          const { from, to, mended } = await migrations.run();
          done.push({ connection, from, to, ...(mended !== undefined && { mended }) });
          output.line(`${connection}: ${sentence(from, mended, migrations)}`);
        }
      } catch (error) {
        if (flags.connection !== undefined) throw error;
        // An unreachable server must not keep the tables of others from being created.
        call.fail(`${connection}: `, errorText(error));
      }
    }
    output.result(done);
    if (call.session.exitCode === ExitCode.done && flags.connection === undefined && done.length === 0) {
      output.note('No connection has tables.');
    }
  },
});

function sentence(from: number, mended: string | undefined, { version }: Migrations): string {
  if (mended !== undefined) return `The tables were repaired (${mended}).`;
  if (from >= version) return `The tables are up to date (version ${from}).`;
  return from === 0
    ? `The tables were created (version ${version}).`
    : `The tables were updated from version ${from} to ${version}.`;
}
