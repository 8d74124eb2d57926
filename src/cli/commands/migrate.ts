/** `migrate`: makes the tables of databases, or brings them up to date. */
import type { Migrations } from '../../connections/migrations';
import { defineCommand } from '../command';
import { errorText } from '../error-text';
import { ExitCode } from '../exit-codes';
import { CONNECTION, on } from '../flags';

export const migrate = defineCommand({
  name: 'migrate',
  summary: 'make the tables of database connections, or bring them up to date',
  description:
    'For PostgreSQL, MySQL and MariaDB this is to be run before a new version of Onqueue is started; for SQLite it is done on ' +
    "first use. Laravel's own tables, jobs and failed_jobs, get further columns and indexes. It may be run again, and at once.",
  examples: [
    ['onqueue migrate', 'all connections that keep their jobs in tables'],
    ['onqueue migrate --connection=main', 'this one'],
    ['onqueue migrate --print > onqueue.sql', 'only print the statements'],
  ],
  flags: {
    print: on('print the statements, and run none'),
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
          if (flags.connection !== undefined) output.note(`${connection} (${driver}) keeps its jobs in no tables.`);
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
        // A server that is away must not keep the tables of others from being made.
        call.fail(`${connection}: ${errorText(error)}`);
      }
    }
    output.result(done);
    if (call.session.exitCode === ExitCode.done && flags.connection === undefined && done.length === 0) {
      output.note('No connection keeps its jobs in tables.');
    }
  },
});

function sentence(from: number, mended: string | undefined, { version }: Migrations): string {
  if (mended !== undefined) return `The tables were mended (${mended}).`;
  if (from === version) return `The tables are up to date (version ${version}).`;
  return from === 0
    ? `The tables were made (version ${version}).`
    : `The tables went from version ${from} to ${version}.`;
}
