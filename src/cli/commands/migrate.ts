/** `migrate`: makes the tables that connections keep their jobs in, or brings them up to date. */
import type { Command } from 'commander';
import type { Migrations } from '../../connections/migrations';
import { newCommand } from '../command';
import { errorText } from '../error-text';
import { ExitCode } from '../exit-codes';
import { addConnectionOption, addJsonOption, addProjectOptions, type ProjectFlags } from '../options';
import type { Session } from '../session';

interface MigrateFlags extends ProjectFlags {
  readonly connection?: string | undefined;
  readonly print?: boolean | undefined;
}

export function migrateCommand(session: Session): Command {
  const command = newCommand('migrate', {
    summary: 'make the tables of database connections, or bring them up to date',
    description:
      'For PostgreSQL, MySQL and MariaDB this is to be run before a new version of Onqueue is started; for SQLite it is done on ' +
      "first use. Laravel's own tables, jobs and failed_jobs, get further columns and indexes. It may be run again, and at once.",
    examples: [
      ['onqueue migrate', 'all connections that keep their jobs in tables'],
      ['onqueue migrate --connection=main', 'this one'],
      ['onqueue migrate --print > onqueue.sql', 'only print the statements'],
    ],
  }).option('--print', 'print the statements, and run none');
  return addJsonOption(addProjectOptions(addConnectionOption(command))).action((flags: MigrateFlags) =>
    migrate(session, flags),
  );
}

async function migrate(session: Session, flags: MigrateFlags): Promise<void> {
  const { output } = session;
  const manager = await session.open(flags);
  const names = flags.connection === undefined ? manager.connectionNames() : [flags.connection];
  const done: { connection: string; from: number; to: number; mended?: string }[] = [];
  const printed: { connection: string; sql: string }[] = [];
  for (const connection of names) {
    try {
      const { migrations, driver } = manager.driver(connection);
      if (migrations === undefined) {
        if (flags.connection !== undefined) output.note(`${connection} (${driver}) keeps its jobs in no tables.`);
      } else if (flags.print === true) {
        printed.push({ connection, sql: migrations.sql() });
      } else {
        const { from, to, mended } = await migrations.run();
        done.push({ connection, from, to, ...(mended !== undefined && { mended }) });
        if (flags.json !== true) output.line(`${connection}: ${sentence(from, mended, migrations)}`);
      }
    } catch (error) {
      if (flags.connection !== undefined) throw error;
      // One that is away must not keep the tables of the others from being made.
      output.note(`${connection}: ${errorText(error)}`);
      session.exitCode = ExitCode.error;
    }
  }
  if (flags.json === true) output.json(flags.print === true ? printed : done);
  else for (const { connection, sql } of printed) output.line(`-- ${connection}\n${sql}`);
  if (session.exitCode === ExitCode.done && flags.connection === undefined && done.length + printed.length === 0) {
    output.note('No connection keeps its jobs in tables.');
  }
}

function sentence(from: number, mended: string | undefined, { version }: Migrations): string {
  if (mended !== undefined) return `The tables were mended (${mended}).`;
  if (from === version) return `The tables are up to date (version ${version}).`;
  return from === 0
    ? `The tables were made (version ${version}).`
    : `The tables went from version ${from} to ${version}.`;
}
