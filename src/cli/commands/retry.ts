/** `retry`: sends failed jobs back to their queues. */
import { type Command, Option } from 'commander';
import type { FailedFilter } from '../../application/failed/failed-filter';
import type { QueueManager } from '../../application/queue-manager';
import { newCommand, refuse } from '../command';
import { counted } from '../counted';
import { eachFailedJob } from '../each-failed-job';
import { InvalidOptionError } from '../errors';
import { failedCount } from '../failed-count';
import { addFilterOptions, checkChoice, filterOf } from '../filter-flags';
import { openForFailed } from '../memory-remark';
import { addJsonOption, addProjectOptions, type ProjectFlags } from '../options';
import type { Session } from '../session';

interface RetryFlags extends ProjectFlags, FailedFilter {
  readonly range?: { readonly from: number; readonly to: number } | undefined;
}

export function retryCommand(session: Session): Command {
  const command = newCommand('retry', {
    summary: 'send failed jobs back to their queues, with all their tries',
    examples: [
      ['onqueue retry 0193a6c1-…', 'this one'],
      ['onqueue retry 0193a6c1-… --queue=mail', 'this one, where jobs of its id failed on several queues'],
      ['onqueue retry all', 'all that have failed until now'],
      ['onqueue retry --queue=mail --error=ECONNREFUSED', 'what an outage broke'],
      ['onqueue retry --range=1-5', 'the newest five, as onqueue failed lists them'],
    ],
  })
    .argument('[ids...]', "ids, as onqueue failed lists them, or 'all'")
    .addOption(
      new Option('--range <places>', 'those at these places of the list: 1-5, of one queue with --queue').argParser(
        rangeOf,
      ),
    );
  return addJsonOption(addProjectOptions(addFilterOptions(command))).action(
    (ids: readonly string[], flags: RetryFlags) => retry(session, command, ids, flags),
  );
}

async function retry(session: Session, command: Command, given: readonly string[], flags: RetryFlags): Promise<void> {
  const { output } = session;
  const { range } = flags;
  const isAll = given.includes('all');
  const ids = isAll ? [] : given;
  if (range !== undefined && given.length > 0) refuse(command, 'give ids, or --range: not both.');
  if (!isAll && range === undefined) checkChoice(command, ids, flags);
  const manager = await openForFailed(session, flags);
  const { done: retried, unknown } =
    ids.length === 0
      ? { done: await retryThose(session, manager, flags), unknown: [] }
      : await eachFailedJob(
          session,
          ids,
          (id) => manager.failed.retry(id, flags),
          (id) => `There is no failed job '${id}'; it may have been retried already.`,
        );
  if (flags.json === true) output.json({ retried, unknown });
  else output.line(`Sent ${counted(retried, 'failed job')} back to ${retried === 1 ? 'its queue' : 'their queues'}.`);
}

function retryThose({ output }: Session, manager: QueueManager, flags: RetryFlags): Promise<number> {
  const { failed } = manager;
  const { range } = flags;
  const filter = filterOf(flags);
  return output.counting(
    'Sending failed jobs back',
    () => failedCount(manager, flags.queue),
    async () => {
      if (range === undefined) return failed.retry(filter ?? 'all');
      const jobs = await failed.list({ ...filter, offset: range.from - 1, limit: range.to - range.from + 1 });
      let retried = 0;
      for (const { id, queue, connection } of jobs) if (await failed.retry(id, { queue, connection })) retried += 1;
      return retried;
    },
  );
}

function rangeOf(value: string): RetryFlags['range'] {
  const [, first = '', last = first] = /^(\d{1,9})(?:-(\d{1,9}))?$/.exec(value) ?? [];
  const [from, to] = [Number(first), Number(last)];
  if (from >= 1 && to >= from) return { from, to };
  throw new InvalidOptionError(
    '--range',
    value,
    'Give two places of the list that onqueue failed shows, such as 1-5; 1 is the newest.',
  );
}
