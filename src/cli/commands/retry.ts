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
  openForFailed,
  type Places,
  sweeping,
  tellFailed,
} from '../failed-jobs';
import type { Flag } from '../flags';
import { showingProgress } from '../progress';
import { counted } from '../table';

const range: Flag<Places> = {
  value: '<places>',
  help: 'those at these places of the list: 1-5, of one queue with --queue',
  read(value, flag) {
    const [, first = '', last = first] = /^(\d{1,9})(?:-(\d{1,9}))?$/.exec(value) ?? [];
    const [from, to] = [Number(first), Number(last)];
    if (from >= 1 && to >= from) return { offset: from - 1, limit: to - from + 1 };
    const remedy = 'Give two places of the list that onqueue failed shows, such as 1-5; 1 is the newest.';
    throw invalidOption(flag, value, remedy);
  },
};

export const retry = defineCommand({
  name: 'retry',
  summary: 'send failed jobs back to their queues, with all their tries',
  examples: [
    ['onqueue retry 0193a6c1-…', 'this one'],
    ['onqueue retry 0193a6c1-… --queue=mail', 'this one, where jobs of its id failed on several queues'],
    ['onqueue retry all', 'all that have failed until now'],
    ['onqueue retry --queue=mail --error=ECONNREFUSED', 'what an outage broke'],
    ['onqueue retry --error=ECONNREFUSED --dry-run', 'only say how many these are, and which'],
    ['onqueue retry --range=1-5', 'the newest five, as onqueue failed lists them'],
  ],
  words: ['[ids...]', "ids, as onqueue failed lists them, or 'all'"],
  flags: { range, dryRun: DRY_RUN, ...FILTER_FLAGS },
  async run(call) {
    const { flags, words } = call;
    const { range: places, dryRun = false } = flags;
    const isAll = words.includes('all');
    const ids = isAll ? [] : [...new Set(words)];
    if (places !== undefined && words.length > 0) call.refuse('give ids, or --range: not both.');
    if (!isAll && places === undefined) checkChoice(call, ids);
    const manager = await openForFailed(call);
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
    await (dryRun ? tellFailed(call, ids, manager, action, places) : actOnFailed(call, ids, action));
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
