/** `check`: looks at everything that a worker needs, and says what is wrong. */
import type { Command } from 'commander';
import { findConfigFile, projectFolder } from '../../application/configuration/config-file';
import type { Diagnosis } from '../../connections/contract';
import type { QueueManager } from '../../application/queue-manager';
import { newCommand } from '../command';
import { errorText } from '../error-text';
import { ExitCode } from '../exit-codes';
import { addJsonOption, addProjectOptions, type ProjectFlags } from '../options';
import type { Session } from '../session';

export function checkCommand(session: Session): Command {
  const command = newCommand('check', {
    summary: 'check configuration, connections, versions and jobs',
    description: 'The exit code is 1 when there is an error, and 0 when there are warnings only.',
    examples: [
      ['onqueue check', 'before a deploy, with its environment'],
      ['onqueue check --json | jq \'.[] | select(.level != "ok")\'', 'for a program'],
    ],
  });
  return addJsonOption(addProjectOptions(command)).action((flags: ProjectFlags) => check(session, flags));
}

async function check(session: Session, flags: ProjectFlags): Promise<void> {
  const { output, surroundings } = session;
  // It looks into containers: other commands are spared them.
  const { diagnoseConnections, diagnoseJobs, diagnoseSource, diagnoseVersions } =
    require('../diagnosis') as typeof import('../diagnosis');
  const found = diagnoseVersions(projectFolder(surroundings.folder));
  const manager = await opened(session, flags, found);
  if (manager !== undefined) {
    const folder = projectFolder(surroundings.folder);
    const file = flags.config ?? findConfigFile(folder);
    found.push({ level: 'ok', subject: 'configuration', message: sourceOf(manager, file) });
    found.push(...diagnoseSource(file, folder));
    found.push(...(await diagnoseConnections(manager)), ...diagnoseJobs(manager));
  }
  if (flags.json === true) output.json(found);
  else
    output.table(
      ['', 'what', 'found'],
      found.map(({ level, subject, message }) => [level, subject, message]),
    );
  if (found.some(({ level }) => level === 'error')) session.exitCode = ExitCode.error;
}

function sourceOf({ configurationSource }: QueueManager, file: string | undefined): string {
  // A file may leave the connections to the environment.
  if (file === undefined || configurationSource.endsWith(file)) return configurationSource;
  return `${file}; the connection is ${configurationSource}`;
}

async function opened(session: Session, flags: ProjectFlags, found: Diagnosis[]): Promise<QueueManager | undefined> {
  try {
    return await session.open(flags);
  } catch (error) {
    found.push({ level: 'error', subject: 'configuration', message: errorText(error) });
    return undefined;
  }
}
