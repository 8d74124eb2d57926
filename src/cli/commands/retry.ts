/** `retry`: sends failed jobs back to their queues. */
import type { QueueManager } from '../../application/queue-manager';
import { type Call, defineCommand } from '../command';
import { invalidOption } from '../errors';
import {
  actOnFailed,
  checkChoice,
  DRY_RUN,
  type FailedAction,
  type FailedFlags,
  FILTER_FLAGS,
  filterOf,
  type Places,
  sweeping,
} from '../failed-jobs';
import type { Flag } from '../flags';
import { openKeeping } from '../named-queues';
import { showingProgress } from '../progress';
import { counted } from '../table';

const range: Flag<Places> = {
  value: '<places>',
  help: 'jobs at these places of the list, such as 1-5; with --queue, of the list of that queue',
  read(value, flag) {
    const [, first = '', last = first] = /^(\d{1,9})(?:-(\d{1,9}))?$/.exec(value) ?? [];
    const [from, to] = [Number(first), Number(last)];
    if (from >= 1 && to >= from) return { offset: from - 1, limit: to - from + 1 };
    const remedy = 'Give places of the list that onqueue failed shows, such as 1-5; 1 is the newest.';
    throw invalidOption(flag, value, remedy);
  },
};

export const retry = defineCommand({
  name: 'retry',
  summary: 'send failed jobs back to their queues, with all their tries',
  examples: [
    ['onqueue retry 0193a6c1-…', 'one job'],
    ['onqueue retry 0193a6c1-… --queue=mail', 'one job, if its id failed on several queues'],
    ['onqueue retry all', 'all failed jobs'],
    ['onqueue retry --queue=mail --error=ECONNREFUSED', 'the failures of an outage'],
    ['onqueue retry --error=ECONNREFUSED --dry-run', 'only list the jobs and their number'],
    ['onqueue retry --range=1-5', 'the newest five, as listed by onqueue failed'],
  ],
  words: ['[ids...]', "ids, as listed by onqueue failed, or 'all'"],
  flags: { range, dryRun: DRY_RUN, ...FILTER_FLAGS },
  async run(call) {
    const { flags, words } = call;
    const { range: places } = flags;
    const isAll = words.includes('all');
    const ids = isAll ? [] : [...new Set(words)];
    if (places !== undefined && words.length > 0) call.refuse('give either ids or --range, not both.');
    if (!isAll && places === undefined) checkChoice(call, ids);
    const manager = await openKeeping(call);
    const { failed } = manager;
    const action: FailedAction = {
      done: 'retried',
      line: (count) => `Sent ${counted(count, 'failed job')} back to ${count === 1 ? 'its queue' : 'their queues'}.`,
      all: () =>
        places === undefined
          ? sweeping(call, manager, 'Retrying', () => failed.retry(filterOf(flags) ?? 'all'))
          : retryAt(call, manager, places),
      one: (id) => failed.retry(id, flags),
      unknown: (id) => `There is no failed job '${id}'; it may have been retried already.`,
    };
    await actOnFailed(call, ids, manager, action, places);
  },
});

async function retryAt(call: Call<FailedFlags>, { failed }: QueueManager, places: Places): Promise<number> {
  const jobs = await failed.list({ ...filterOf(call.flags), ...places });
  let retried = 0;
  const retryThem = async (): Promise<void> => {
    for (const { id, queue, connection } of jobs) if (await failed.retry(id, { queue, connection })) retried += 1;
  };
  await showingProgress(call, 'Retrying', retryThem, async () => ({ done: retried, total: jobs.length }));
  return retried;
}
