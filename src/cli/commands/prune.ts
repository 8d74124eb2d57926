/** `prune`: removes the failed jobs that nobody will look at any more. */
import type { Command } from 'commander';
import type { Duration } from '../../job/duration';
import { newCommand, refuse } from '../command';
import { counted } from '../counted';
import { failedCount } from '../failed-count';
import { openForFailed } from '../memory-remark';
import { addJsonOption, addProjectOptions, countOption, durationOption, type ProjectFlags } from '../options';
import type { Session } from '../session';

interface PruneFlags extends ProjectFlags {
  readonly olderThan?: Duration | undefined;
  readonly keep?: number | undefined;
  readonly queue?: string | undefined;
  readonly name?: string | undefined;
  readonly error?: string | undefined;
}

export function pruneCommand(session: Session): Command {
  const command = newCommand('prune', {
    summary: 'remove old failed jobs for good',
    description: 'Nothing else ever removes them: run it daily.',
    examples: [
      ['onqueue prune --older-than=30d', 'what failed more than 30 days ago'],
      ['onqueue prune --keep=1000', 'all but the newest 1000'],
      ['onqueue prune --queue=mail --keep=100', 'of one queue all but the newest 100'],
    ],
  })
    .addOption(durationOption('--older-than <time>', 'those that failed longer ago than this'))
    .addOption(countOption('--keep <count>', 'all but so many of the newest, of each store'))
    .option('--queue <name>', 'only those of this queue')
    .option('--name <name>', 'only jobs of this name')
    .option('--error <text>', 'only those with this text in their error');
  return addJsonOption(addProjectOptions(command)).action((flags: PruneFlags, command: Command) =>
    prune(session, flags, command),
  );
}

async function prune(session: Session, flags: PruneFlags, command: Command): Promise<void> {
  const { olderThan, keep, queue, name, error } = flags;
  if (olderThan === undefined && keep === undefined) {
    refuse(command, 'say which: --older-than=30d, --keep=1000, or both. (onqueue flush removes all.)');
  }
  const { output } = session;
  const manager = await openForFailed(session, flags);
  const pruned = await output.counting(
    'Removing failed jobs',
    () => failedCount(manager, queue),
    () => manager.failed.prune({ olderThan, keep, queue, name, error }),
  );
  if (flags.json === true) output.json({ pruned });
  else output.line(`Removed ${counted(pruned, 'failed job')}.`);
}
