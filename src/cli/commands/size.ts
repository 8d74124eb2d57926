/** `size`: how many jobs the queues hold, and which of them are paused. */
import type { Command } from 'commander';
import { newCommand } from '../command';
import { noteMemory } from '../memory-remark';
import { addConnectionOption, addJsonOption, addProjectOptions, namesIn, type ProjectFlags } from '../options';
import type { Session } from '../session';

interface SizeFlags extends ProjectFlags {
  readonly connection?: string | undefined;
}

export function sizeCommand(session: Session): Command {
  const command = newCommand('size', {
    summary: 'show how many jobs the queues hold, and which are paused',
    examples: [
      ['onqueue size', 'all queues of the default connection'],
      ['onqueue size high,default', 'these two'],
      ['onqueue size --connection=redis --json', 'for a program'],
    ],
  }).argument('[queues]', 'names separated by commas (default: all that were ever used)');
  return addJsonOption(addProjectOptions(addConnectionOption(command))).action(
    (queues: string | undefined, flags: SizeFlags) => size(session, queues, flags),
  );
}

async function size(session: Session, queues: string | undefined, flags: SizeFlags): Promise<void> {
  const { output } = session;
  const manager = session.open(flags);
  const connection = manager.connection(flags.connection);
  noteMemory(session, manager, flags.connection);
  const driver = manager.driver(flags.connection);
  const paused = driver.capabilities.control ? await connection.pausedQueues() : [];
  const names =
    queues === undefined
      ? [...new Set([connection.defaultQueue, ...(await driver.queues()), ...paused])].toSorted()
      : namesIn(queues);
  const sizes = await Promise.all(
    names.map(async (queue) => {
      const { ready, delayed, reserved } = await connection.counts(queue);
      const failed = (await (manager.failedStoreFor(driver) ?? driver.buried)?.count(queue)) ?? 0;
      return { queue, ready, delayed, reserved, failed, paused: paused.includes(queue) };
    }),
  );
  if (flags.json === true) output.json(sizes);
  else {
    const headings = ['queue', 'ready', 'delayed', 'reserved', 'failed', ...(paused.length > 0 ? ['paused'] : [])];
    const rows = sizes.map((size) => Object.values({ ...size, paused: size.paused ? 'yes' : '' }));
    output.table(headings, rows);
  }
}
