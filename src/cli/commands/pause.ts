/** `pause`: nothing more is taken from a queue, until it is resumed. */
import type { Command } from 'commander';
import { nearest } from '../../job/nearest';
import type { QueueConnection } from '../../queue/queue-connection';
import { newCommand } from '../command';
import { addConnectionArgument, namedQueues, type QueueFlags } from '../named-queues';
import { addJsonOption, addProjectOptions, queueOption } from '../options';
import type { Session } from '../session';

export function pauseCommand(session: Session): Command {
  const command = newCommand('pause', {
    summary: 'let no worker take jobs from queues, until they are resumed',
    description:
      'Jobs that run go on, and what is dispatched waits. It holds for the workers of all machines, also for those that are ' +
      'started later. size shows which queues are paused.',
    examples: [
      ['onqueue pause', "the default connection's own queue"],
      ['onqueue pause --queue=high,default', 'these two'],
      ['onqueue pause redis --queue=high', 'on another connection; also written redis:high'],
    ],
  }).addOption(queueOption("queues to pause: high,default (default: the connection's own)"));
  return addJsonOption(addProjectOptions(addConnectionArgument(command))).action(
    (_connection: string | undefined, flags: QueueFlags) => pause(session, command, flags),
  );
}

async function pause(session: Session, command: Command, flags: QueueFlags): Promise<void> {
  const { output } = session;
  const manager = await session.open(flags);
  const paused: { connection: string; queue: string; paused: true; changed: boolean }[] = [];
  const { connection, queues } = namedQueues(session, manager, command, flags);
  for (const queue of queues.length === 0 ? [connection.defaultQueue] : queues) {
    const changed = await connection.pause(queue);
    paused.push({ connection: connection.name, queue, paused: true, changed });
    if (flags.json !== true) output.line(changed ? `Paused ${queue}.` : `${queue} was paused already.`);
    const remark = unusedRemark(connection, queue, await manager.driver(connection.name).queues());
    if (remark !== undefined) output.note(remark);
  }
  if (flags.json === true) output.json(paused);
}

// A mistyped name would pause nothing, and nobody would notice.
function unusedRemark(connection: QueueConnection, queue: string, used: readonly string[]): string | undefined {
  if (queue === connection.defaultQueue || used.includes(queue)) return undefined;
  const [meant] = nearest(queue, used);
  const question =
    meant === undefined ? '' : ` Did you mean ${meant}? Then: onqueue resume ${connection.name} --queue=${queue}`;
  return `No job is known to have been on a queue ${queue} of ${connection.name} yet; it is paused all the same.${question}`;
}
