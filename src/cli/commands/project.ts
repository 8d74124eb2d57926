/** `jobs`, `migrate` and `check`: what a project has, what its tables need, and whether all is in place. */
import { findConfigFile, projectFolder } from '../../application/configuration/config-file';
import type { Diagnosis } from '../../connections/contract';
import type { Migrations } from '../../connections/migrations';
import type { QueueManager } from '../../application/queue-manager';
import { type Call, defineCommand } from '../command';
import { errorText } from '../error-text';
import { ExitCode } from '../exit-codes';
import { on, type ProjectFlags, text } from '../flags';
import { JOB_HEADINGS, jobRow, listedJobs, NO_JOBS } from '../job-list';

export const jobs = defineCommand({
  name: 'jobs',
  summary: 'show the registered jobs, as a worker finds them',
  examples: [
    ['onqueue jobs', 'those that onqueue.config.* imports'],
    ["onqueue jobs --require 'dist/jobs/**/*.js'", 'and those of these files'],
  ],
  async run(call) {
    const listed = listedJobs(await call.open());
    call.output.result(listed);
    if (listed.length > 0) call.output.table(JOB_HEADINGS, listed.map(jobRow));
    else if (!call.output.isJson) call.output.note(NO_JOBS);
  },
});

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
    connection: text('<name>', 'connection to use in place of the default one'),
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

export const check = defineCommand({
  name: 'check',
  summary: 'check configuration, connections, versions and jobs',
  description: 'The exit code is 1 when there is an error, and 0 when there are warnings only.',
  examples: [
    ['onqueue check', 'before a deploy, with its environment'],
    ['onqueue check --json | jq \'.[] | select(.level != "ok")\'', 'for a program'],
  ],
  async run(call) {
    const { output, session } = call;
    // Loaded here, because no other command looks into containers.
    const { diagnoseConnections, diagnoseJobs, diagnoseSource, diagnoseVersions } =
      require('../diagnosis') as typeof import('../diagnosis');
    const folder = projectFolder(session.surroundings.folder);
    const found = diagnoseVersions(folder);
    const manager = await opened(call, found);
    if (manager !== undefined) {
      const file = call.flags.config ?? findConfigFile(folder);
      found.push({ level: 'ok', subject: 'configuration', message: sourceOf(manager, file) });
      found.push(...diagnoseSource(file, folder));
      found.push(...(await diagnoseConnections(manager)), ...diagnoseJobs(manager));
    }
    output.result(found);
    output.table(
      ['', 'what', 'found'],
      found.map(({ level, subject, message }) => [level, subject, message]),
    );
    if (found.some(({ level }) => level === 'error')) session.exitCode = ExitCode.error;
  },
});

function sourceOf({ configurationSource }: QueueManager, file: string | undefined): string {
  // A file may leave the connections to the environment.
  if (file === undefined || configurationSource.endsWith(file)) return configurationSource;
  return `${file}; the connection is ${configurationSource}`;
}

async function opened(call: Call<ProjectFlags>, found: Diagnosis[]): Promise<QueueManager | undefined> {
  try {
    return await call.open();
  } catch (error) {
    found.push({ level: 'error', subject: 'configuration', message: errorText(error) });
    return undefined;
  }
}
