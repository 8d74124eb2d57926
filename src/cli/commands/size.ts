/** `size`: how many jobs the queues hold, and which of them are paused. */
import type { Command } from 'commander';
import { newCommand } from '../command';
import { addConnectionArgument, namedQueues, type QueueFlags } from '../named-queues';
import { addJsonOption, addProjectOptions, queueOption } from '../options';
import type { Session } from '../session';

export function sizeCommand(session: Session): Command {
  const command = newCommand('size', {
    summary: 'show how many jobs the queues hold, and which are paused',
    examples: [
      ['onqueue size', 'all queues of the default connection'],
      ['onqueue size --queue=high,default', 'these two'],
      ['onqueue size redis --json', 'of another connection, for a program'],
    ],
  }).addOption(queueOption('queues to show: high,default (default: all that were ever used)'));
  return addJsonOption(addProjectOptions(addConnectionArgument(command))).action(
    (_connection: string | undefined, flags: QueueFlags) => size(session, command, flags),
  );
}

async function size(session: Session, command: Command, flags: QueueFlags): Promise<void> {
  const { output } = session;
  const manager = await session.open(flags);
  const { connection, queues: named } = namedQueues(session, manager, command, flags);
  const driver = manager.driver(connection.name);
  const count = async (queue: string) => {
    const { ready, delayed, reserved } = await connection.counts(queue);
    const failed = (await (manager.failedStoreFor(driver) ?? driver.buried)?.count(queue)) ?? 0;
    return { queue, ready, delayed, reserved, failed };
  };
  // Before all else: of a store that is away, it is to be said that nothing was counted.
  const counts = await Promise.all((named.length > 0 ? named : [connection.defaultQueue]).map(count));
  const pauses = driver.capabilities.control ? await connection.pauses() : [];
  const paused = new Map(pauses.map(({ queue, until }) => [queue, until?.toISOString()]));
  if (named.length === 0) {
    const others = new Set([...(await driver.queues()), ...paused.keys()]);
    others.delete(connection.defaultQueue);
    counts.push(...(await Promise.all([...others].map(count))));
    counts.sort((a, b) => (a.queue < b.queue ? -1 : 1));
  }
  const sizes = counts.map((each) => {
    const until = paused.get(each.queue);
    return { ...each, paused: paused.has(each.queue), ...(until !== undefined && { until }) };
  });
  const isExact = driver.capabilities.exactCounts;
  if (flags.json === true) output.json(isExact ? sizes : sizes.map((size) => ({ ...size, approximate: true })));
  else {
    if (!isExact)
      output.note(`What is ready, delayed and reserved is an estimate of ${driver.driver}, some minutes old.`);
    const headings = ['queue', 'ready', 'delayed', 'reserved', 'failed', ...(paused.size > 0 ? ['paused'] : [])];
    const rows = sizes.map(({ until, ...size }) =>
      Object.values({ ...size, paused: until === undefined ? (size.paused ? 'yes' : '') : `until ${until}` }),
    );
    output.table(headings, rows);
  }
}
