/** `clear`: removes the jobs of queues, without running them. */
import type { Command } from 'commander';
import type { QueueConnection } from '../../dispatch/queue-connection';
import { newCommand } from '../command';
import { counted } from '../counted';
import { addConnectionArgument, namedQueues, type QueueFlags } from '../named-queues';
import { addJsonOption, addProjectOptions, queueOption } from '../options';
import type { Session } from '../session';

interface ClearFlags extends QueueFlags {
  readonly force?: boolean | undefined;
}

export function clearCommand(session: Session): Command {
  const command = newCommand('clear', {
    summary: 'remove all jobs of queues: ready, delayed and reserved ones',
    description:
      'Failed jobs stay (see flush). A job that runs meanwhile ends as lost. Under NODE_ENV=production it asks first, and where ' +
      'there is no terminal it refuses without --force.',
    examples: [
      ['onqueue clear', "the default connection's own queue"],
      ['onqueue clear redis --queue=high,default', 'these two of another connection'],
      ['onqueue clear --force', 'in a script, also in production'],
    ],
  })
    .addOption(queueOption("queues to clear: high,default (default: the connection's own)"))
    .option('--force', 'do not ask, also in production');
  return addJsonOption(addProjectOptions(addConnectionArgument(command))).action(
    (_connection: string | undefined, flags: ClearFlags) => clear(session, command, flags),
  );
}

async function clear(session: Session, command: Command, flags: ClearFlags): Promise<void> {
  const { output } = session;
  const manager = await session.open(flags);
  const { connection, queues } = namedQueues(session, manager, command, flags);
  const names = queues.length === 0 ? [connection.defaultQueue] : queues;
  const { address } = connection;
  await session.confirm(
    `Clear ${names.join(', ')} on ${address} (${counted(await sizeOf(connection, names), 'job')})`,
    flags.force,
  );
  const cleared: { queue: string; cleared: number }[] = [];
  for (const queue of names) {
    const count = await output.counting(
      `Clearing ${queue}`,
      () => connection.size(queue),
      () => connection.clear(queue),
    );
    cleared.push({ queue, cleared: count });
  }
  if (flags.json === true) output.json(cleared);
  else for (const one of cleared) output.line(`Removed ${counted(one.cleared, 'job')} from ${one.queue}.`);
}

async function sizeOf(connection: QueueConnection, queues: readonly string[]): Promise<number> {
  const sizes = await Promise.all(queues.map((queue) => connection.size(queue)));
  return sizes.reduce((sum, size) => sum + size, 0);
}
