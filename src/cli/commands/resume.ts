/** `resume`: workers take jobs from paused queues again. */
import type { Command } from 'commander';
import { newCommand } from '../command';
import { addConnectionArgument, namedQueues, type QueueFlags } from '../named-queues';
import { addJsonOption, addProjectOptions, queueOption } from '../options';
import type { Session } from '../session';

export function resumeCommand(session: Session): Command {
  const command = newCommand('resume', {
    summary: 'let workers take jobs from paused queues again',
    description: 'size shows which queues are paused. A queue that is not paused is left as it is, and is no error.',
    examples: [
      ['onqueue resume', "the default connection's own queue"],
      ['onqueue resume --queue=high,default', 'these two'],
      ['onqueue resume redis --queue=high', 'on another connection; also written redis:high'],
    ],
  })
    // Laravel's name for it.
    .alias('continue')
    .addOption(queueOption("queues to resume: high,default (default: the connection's own)"));
  return addJsonOption(addProjectOptions(addConnectionArgument(command))).action(
    (_connection: string | undefined, flags: QueueFlags) => resume(session, command, flags),
  );
}

async function resume(session: Session, command: Command, flags: QueueFlags): Promise<void> {
  const { output } = session;
  const manager = await session.open(flags);
  const resumed: { connection: string; queue: string; paused: false; changed: boolean }[] = [];
  const { connection, queues } = namedQueues(session, manager, command, flags);
  for (const queue of queues.length === 0 ? [connection.defaultQueue] : queues) {
    const changed = await connection.resume(queue);
    resumed.push({ connection: connection.name, queue, paused: false, changed });
    if (flags.json !== true) output.line(changed ? `Resumed ${queue}.` : `${queue} was not paused.`);
  }
  if (flags.json === true) output.json(resumed);
}
