/** `prune`: removes the failed jobs that nobody will look at any more. */
import type { Command } from 'commander';
import type { FailedFilter } from '../../application/failed/failed-filter';
import { newCommand, refuse } from '../command';
import { counted } from '../counted';
import { failedCount } from '../failed-count';
import { addFilterOptions } from '../filter-flags';
import { openForFailed } from '../memory-remark';
import { addJsonOption, addProjectOptions, countOption, type ProjectFlags } from '../options';
import type { Session } from '../session';

interface PruneFlags extends ProjectFlags, FailedFilter {
  readonly keep?: number | undefined;
}

export function pruneCommand(session: Session): Command {
  const command = newCommand('prune', {
    summary: 'remove old failed jobs for good',
    description:
      'Of each queue workers keep the newest 10,000 (`failed: { keep }`); nothing else ever removes them: run it daily.',
    examples: [
      ['onqueue prune --older-than=30d', 'what failed more than 30 days ago'],
      ['onqueue prune --keep=1000', 'all but the newest 1000'],
      ['onqueue prune --queue=mail --keep=100', 'of one queue all but the newest 100'],
    ],
  }).addOption(countOption('--keep <count>', 'all but so many of the newest, of each store'));
  return addJsonOption(addProjectOptions(addFilterOptions(command))).action((flags: PruneFlags, command: Command) =>
    prune(session, flags, command),
  );
}

async function prune(session: Session, flags: PruneFlags, command: Command): Promise<void> {
  const { olderThan, keep, queue, connection, name, error } = flags;
  if (olderThan === undefined && keep === undefined) {
    refuse(command, 'say which: --older-than=30d, --keep=1000, or both. (onqueue flush removes all.)');
  }
  const { output } = session;
  const manager = await openForFailed(session, flags);
  const pruned = await output.counting(
    'Removing failed jobs',
    () => failedCount(manager, queue),
    () => manager.failed.prune({ olderThan, keep, queue, connection, name, error }),
  );
  if (flags.json === true) output.json({ pruned });
  else output.line(`Removed ${counted(pruned, 'failed job')}.`);
}
