/** `flush`: removes all failed jobs for good. */
import { type Command, Option } from 'commander';
import type { Duration } from '../../job/duration';
import { newCommand } from '../command';
import { counted } from '../counted';
import { InvalidOptionError } from '../errors';
import { failedCount } from '../failed-count';
import { openForFailed } from '../memory-remark';
import { addJsonOption, addProjectOptions, type ProjectFlags } from '../options';
import type { Session } from '../session';

interface FlushFlags extends ProjectFlags {
  readonly queue?: string | undefined;
  readonly hours?: Duration | undefined;
  readonly force?: boolean | undefined;
}

export function flushCommand(session: Session): Command {
  const command = newCommand('flush', {
    summary: 'remove all failed jobs for good',
    description:
      'Under NODE_ENV=production it asks first, and where there is no terminal it refuses without --force. To keep the newest, see prune.',
    examples: [
      ['onqueue flush', 'all'],
      ['onqueue flush --queue=mail', 'those of one queue'],
      ['onqueue flush --hours=48', 'those that failed more than two days ago'],
    ],
  })
    .option('--queue <name>', 'only those of this queue')
    .addOption(new Option('--hours <count>', 'only those that failed more than so many hours ago').argParser(hoursOf))
    .option('--force', 'do not ask, also in production');
  return addJsonOption(addProjectOptions(command)).action((flags: FlushFlags) => flush(session, flags));
}

async function flush(session: Session, { queue, hours, ...flags }: FlushFlags): Promise<void> {
  const { output } = session;
  const manager = await openForFailed(session, flags);
  const count = (): Promise<number> => failedCount(manager, queue);
  const which = queue === undefined ? '' : ` of the queue ${queue}`;
  const age = hours === undefined ? counted(await count(), 'job') : 'the older ones';
  await session.confirm(`Remove failed jobs${which} for good (${age})`, flags.force);
  const flushed = await output.counting('Removing failed jobs', count, () =>
    hours === undefined ? manager.failed.flush(queue) : manager.failed.prune({ olderThan: hours, queue }),
  );
  if (flags.json === true) output.json({ flushed });
  else output.line(`Removed ${counted(flushed, 'failed job')}.`);
}

function hoursOf(value: string): Duration {
  if (/^\d{1,6}(\.\d+)?$/.test(value)) return `${Number(value)}h`;
  throw new InvalidOptionError('--hours', value, 'Give a number of hours.');
}
