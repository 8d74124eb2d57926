/** `resume`: workers take jobs from paused queues again. */
import type { Command } from 'commander';
import { newCommand } from '../command';
import { namedQueues, type QueueFlags } from '../named-queues';
import { addConnectionOption, addJsonOption, addProjectOptions, type ProjectFlags, queueOption } from '../options';
import type { Session } from '../session';

export function resumeCommand(session: Session): Command {
  const command = newCommand('resume', {
    summary: 'let workers take jobs from paused queues again',
    description: 'size shows which queues are paused. A queue that is not paused is left as it is, and is no error.',
    examples: [
      ['onqueue resume', "the default connection's own queue"],
      ['onqueue resume high default', 'these two; also written high,default'],
      ['onqueue resume --connection=redis high', 'on another connection; also written redis:high'],
    ],
  })
    // Laravel's name for it.
    .alias('continue')
    .argument('[queues...]', "names, also separated by commas (default: the connection's own queue)")
    .addOption(queueOption('the same, as an option'));
  return addJsonOption(addProjectOptions(addConnectionOption(command))).action(
    (queues: readonly string[], flags: QueueFlags & ProjectFlags) => resume(session, queues, flags),
  );
}

async function resume(session: Session, queues: readonly string[], flags: QueueFlags & ProjectFlags): Promise<void> {
  const { output } = session;
  const manager = await session.open(flags);
  const resumed: { connection: string; queue: string; paused: false; changed: boolean }[] = [];
  for (const { connection, queue } of namedQueues(session, manager, queues, flags)) {
    const changed = await connection.resume(queue);
    resumed.push({ connection: connection.name, queue, paused: false, changed });
    if (flags.json !== true) output.line(changed ? `Resumed ${queue}.` : `${queue} was not paused.`);
  }
  if (flags.json === true) output.json(resumed);
}
