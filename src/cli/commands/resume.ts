/** `resume`: workers take jobs from paused queues again. */
import type { Command } from 'commander';
import { newCommand } from '../command';
import { addConnectionArgument, checkAll, namedQueues, type QueuesFlags } from '../named-queues';
import { addJsonOption, addProjectOptions, queueOption } from '../options';
import type { Session } from '../session';

export function resumeCommand(session: Session): Command {
  const command = newCommand('resume', {
    summary: 'let workers take jobs from paused queues again',
    description: 'size shows which queues are paused. A queue that is not paused is left as it is, and is no error.',
    examples: [
      ['onqueue resume', "the default connection's own queue"],
      ['onqueue resume --queue=high,default', 'these two'],
      ['onqueue resume --all', 'whatever is paused on the connection'],
      ['onqueue resume redis --queue=high', 'on another connection; also written redis:high'],
    ],
  })
    // Laravel's name for it.
    .alias('continue')
    .addOption(queueOption("queues to resume: high,default (default: the connection's own)"))
    .option('--all', 'all queues of the connection that are paused');
  return addJsonOption(addProjectOptions(addConnectionArgument(command))).action(
    (_connection: string | undefined, flags: QueuesFlags) => resume(session, command, flags),
  );
}

async function resume(session: Session, command: Command, flags: QueuesFlags): Promise<void> {
  const { output } = session;
  const manager = await session.open(flags);
  const resumed: { connection: string; queue: string; paused: false; changed: boolean }[] = [];
  const { connection, queues } = namedQueues(session, manager, command, flags);
  checkAll(command, flags, queues);
  const named = queues.length === 0 ? [connection.defaultQueue] : queues;
  for (const queue of flags.all === true ? await connection.pausedQueues() : named) {
    const changed = await connection.resume(queue);
    resumed.push({ connection: connection.name, queue, paused: false, changed });
    if (flags.json !== true) output.line(changed ? `Resumed ${queue}.` : `${queue} was not paused.`);
  }
  if (flags.json === true) output.json(resumed);
  else if (resumed.length === 0) output.line(`No queue of ${connection.name} is paused.`);
}
