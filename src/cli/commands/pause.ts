/** `pause`: nothing more is taken from a queue, for a time or until it is resumed. */
import type { Command } from 'commander';
import { nearest } from '../../base/nearest';
import type { PauseOptions, QueueConnection } from '../../dispatch/queue-connection';
import { newCommand } from '../command';
import { addConnectionArgument, checkAll, namedQueues, type QueuesFlags } from '../named-queues';
import { addJsonOption, addProjectOptions, durationOption, queueOption } from '../options';
import type { Session } from '../session';

type PauseFlags = QueuesFlags & PauseOptions;

export function pauseCommand(session: Session): Command {
  const command = newCommand('pause', {
    summary: 'let no worker take jobs from queues, for a time or until they are resumed',
    description:
      'Jobs that run go on, and what is dispatched waits. It holds for the workers of all machines, also for those that are ' +
      'started later. size shows which queues are paused, and until when.',
    examples: [
      ['onqueue pause', "the default connection's own queue"],
      ['onqueue pause --queue=high,default', 'these two'],
      ['onqueue pause --for=10m', 'it goes on by itself then'],
      ['onqueue pause --all', 'all queues of the connection that were ever used'],
      ['onqueue pause redis --queue=high', 'on another connection; also written redis:high'],
    ],
  })
    .addOption(queueOption("queues to pause: high,default (default: the connection's own)"))
    .option('--all', 'all queues of the connection that were ever used, and its own')
    .addOption(durationOption('--for <time>', 'how long: 30s, 10m (default: until they are resumed)'));
  return addJsonOption(addProjectOptions(addConnectionArgument(command))).action(
    (_connection: string | undefined, flags: PauseFlags) => pause(session, command, flags),
  );
}

async function pause(session: Session, command: Command, flags: PauseFlags): Promise<void> {
  const { output } = session;
  const manager = await session.open(flags);
  const paused: { connection: string; queue: string; paused: true; changed: boolean; until?: string | undefined }[] =
    [];
  const { connection, queues } = namedQueues(session, manager, command, flags);
  checkAll(command, flags, queues);
  const used = await manager.driver(connection.name).queues();
  const own = [connection.defaultQueue];
  const named = queues.length === 0 ? own : queues;
  for (const queue of flags.all === true ? new Set([...own, ...used]) : named) {
    const changed = await connection.pause(queue, flags);
    const until = (await connection.pauses()).find((pause) => pause.queue === queue)?.until?.toISOString();
    paused.push({ connection: connection.name, queue, paused: true, changed, ...(until !== undefined && { until }) });
    if (flags.json !== true) output.line(pausedLine(queue, changed, until));
    const remark = unusedRemark(connection, queue, used);
    if (remark !== undefined) output.note(remark);
  }
  if (flags.json === true) output.json(paused);
}

function pausedLine(queue: string, changed: boolean, until: string | undefined): string {
  if (until === undefined) return changed ? `Paused ${queue}.` : `${queue} was paused already.`;
  return changed ? `Paused ${queue} until ${until}.` : `${queue} was paused already; now it is until ${until}.`;
}

// A mistyped name would pause nothing, and nobody would notice.
function unusedRemark(connection: QueueConnection, queue: string, used: readonly string[]): string | undefined {
  if (queue === connection.defaultQueue || used.includes(queue)) return undefined;
  const [meant] = nearest(queue, used);
  const question =
    meant === undefined ? '' : ` Did you mean ${meant}? Then: onqueue resume ${connection.name} --queue=${queue}`;
  return `No job is known to have been on a queue ${queue} of ${connection.name} yet; it is paused all the same.${question}`;
}
