/** `pause`: nothing more is taken from a queue, until it is resumed. */
import type { Command } from 'commander';
import { nearest } from '../../job/nearest';
import { newCommand } from '../command';
import { namedQueues, type NamedQueue, type QueueFlags } from '../named-queues';
import { addConnectionOption, addJsonOption, addProjectOptions, type ProjectFlags, queueOption } from '../options';
import type { Session } from '../session';

export function pauseCommand(session: Session): Command {
  const command = newCommand('pause', {
    summary: 'let no worker take jobs from queues, until they are resumed',
    description:
      'Jobs that run go on, and what is dispatched waits. It holds for the workers of all machines, also for those that are ' +
      'started later. size shows which queues are paused.',
    examples: [
      ['onqueue pause', "the default connection's own queue"],
      ['onqueue pause high default', 'these two; also written high,default'],
      ['onqueue pause --connection=redis high', 'on another connection; also written redis:high'],
    ],
  })
    .argument('[queues...]', "names, also separated by commas (default: the connection's own queue)")
    .addOption(queueOption('the same, as an option'));
  return addJsonOption(addProjectOptions(addConnectionOption(command))).action(
    (queues: readonly string[], flags: QueueFlags & ProjectFlags) => pause(session, queues, flags),
  );
}

async function pause(session: Session, queues: readonly string[], flags: QueueFlags & ProjectFlags): Promise<void> {
  const { output } = session;
  const manager = await session.open(flags);
  const paused: { connection: string; queue: string; paused: true; changed: boolean }[] = [];
  for (const named of namedQueues(session, manager, queues, flags)) {
    const { connection, queue } = named;
    const changed = await connection.pause(queue);
    paused.push({ connection: connection.name, queue, paused: true, changed });
    if (flags.json !== true) output.line(changed ? `Paused ${queue}.` : `${queue} was paused already.`);
    const remark = unusedRemark(named, await manager.driver(connection.name).queues());
    if (remark !== undefined) output.note(remark);
  }
  if (flags.json === true) output.json(paused);
}

// A mistyped name would pause nothing, and nobody would notice.
function unusedRemark({ connection, queue }: NamedQueue, used: readonly string[]): string | undefined {
  if (queue === connection.defaultQueue || used.includes(queue)) return undefined;
  const [meant] = nearest(queue, used);
  const question = meant === undefined ? '' : ` Did you mean ${meant}? Then: onqueue resume ${queue}`;
  return `No job is known to have been on a queue ${queue} of ${connection.name} yet; it is paused all the same.${question}`;
}
