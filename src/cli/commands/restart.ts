/** `restart`: tells all workers to end, so that they are started anew with the code of today. */
import type { Command } from 'commander';
import { CapabilityError } from '../../connections/errors';
import type { QueueManager } from '../../application/queue-manager';
import { newCommand } from '../command';
import { errorText } from '../error-text';
import { ExitCode } from '../exit-codes';
import { memoryRemark, noteMemory } from '../memory-remark';
import { addConnectionOption, addJsonOption, addProjectOptions, type ProjectFlags } from '../options';
import type { Session } from '../session';

interface RestartFlags extends ProjectFlags {
  readonly connection?: string | undefined;
}

export function restartCommand(session: Session): Command {
  const command = newCommand('restart', {
    summary: 'tell all workers to finish what they run and start anew, as after a deploy',
    description:
      'It reaches the workers of all machines through the stores of all connections, or of the one that is named. onqueue work ' +
      'starts its processes anew by itself; other workers, also those of --once and --no-supervisor, end, and whoever started ' +
      'them starts them again. It does not wait for them. Workers that start later are not meant.',
    examples: [
      ['onqueue restart', 'all workers'],
      ['onqueue restart --connection=redis', 'those of one connection'],
    ],
  });
  return addJsonOption(addProjectOptions(addConnectionOption(command))).action((flags: RestartFlags) =>
    restart(session, flags),
  );
}

async function restart(session: Session, flags: RestartFlags): Promise<void> {
  const { output } = session;
  const manager = await session.open(flags);
  const names =
    flags.connection === undefined ? connectionsWithWorkers(manager) : [manager.connection(flags.connection).name];
  for (const name of names) noteMemory(session, manager, name);
  // One that is away must not keep the order from the workers of the others, nor hold it up.
  const answers = await Promise.all(names.map((name) => tell(session, manager, name)));
  const told = answers.filter((answer) => answer !== undefined);
  if (flags.json === true) output.json(told);
  else {
    for (const { connection, address } of told) {
      output.line(`Told the workers of ${connection} (${address}) to finish what they run and start anew.`);
    }
  }
}

async function tell(
  session: Session,
  manager: QueueManager,
  name: string,
): Promise<{ connection: string; address: string } | undefined> {
  try {
    const connection = manager.connection(name);
    await connection.restart();
    return { connection: name, address: connection.address };
  } catch (error) {
    const reason =
      error instanceof CapabilityError
        ? `its driver ${error.facts.driver} takes no orders. Stop those that run by SIGTERM, and start them anew. (${error.code})`
        : errorText(error);
    session.output.note(`The workers of ${name} were not told: ${reason}`);
    session.exitCode = ExitCode.error;
    return undefined;
  }
}

function connectionsWithWorkers(manager: QueueManager): readonly string[] {
  const names = manager.connectionNames().filter((name) => {
    const { driver } = manager.settings(name);
    return driver !== 'sync' && driver !== 'null' && memoryRemark(manager, name) === undefined;
  });
  return names.length > 0 ? names : [manager.defaultConnection];
}
