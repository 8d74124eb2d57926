/** The flags that choose among the failed jobs: `--queue --connection --name --error --older-than`. */
import type { Command } from 'commander';
import type { FailedFilter } from '../application/failed/failed-filter';
import { refuse } from './command';
import { durationOption, failedConnectionOption } from './options';

export function addFilterOptions(command: Command): Command {
  return command
    .option('--queue <name>', 'only those of this queue')
    .addOption(failedConnectionOption())
    .option('--name <name>', 'only jobs of this name')
    .option('--error <text>', 'only those with this text in their error')
    .addOption(durationOption('--older-than <time>', 'only those that failed longer ago than this'));
}

/** Undefined: all are meant. */
export function filterOf({ queue, connection, name, error, olderThan }: FailedFilter): FailedFilter | undefined {
  const filter = { queue, connection, name, error, olderThan };
  return Object.values(filter).some((value) => value !== undefined) ? filter : undefined;
}

/** Refuses a line that says nothing, and ids that are to be chosen among: of one there may be a job on each queue, and no more. */
export function checkChoice(command: Command, ids: readonly string[], flags: FailedFilter): void {
  const { name, error, olderThan } = flags;
  if (ids.length === 0 && filterOf(flags) === undefined) {
    refuse(
      command,
      'say which: ids, as onqueue failed lists them, or --queue=mail, --error=ECONNREFUSED and the like.',
    );
  }
  const isChosen = [name, error, olderThan].some((value) => value !== undefined);
  if (ids.length > 0 && isChosen) refuse(command, 'give ids, or flags that choose among all: not both.');
}
