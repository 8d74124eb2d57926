/** `retry`: sends failed jobs back to their queues. */
import type { QueueManager } from '../../application/queue-manager';
import { type Call, defineCommand } from '../command';
import { invalidOption } from '../errors';
import {
  actOnFailed,
  checkChoice,
  counting,
  type FailedFlags,
  FILTER_FLAGS,
  filterOf,
  openForFailed,
} from '../failed-jobs';
import type { Flag } from '../flags';
import { counted } from '../table';

interface Range {
  readonly from: number;
  readonly to: number;
}

const range: Flag<Range> = {
  value: '<places>',
  help: 'those at these places of the list: 1-5, of one queue with --queue',
  read(value, flag) {
    const [, first = '', last = first] = /^(\d{1,9})(?:-(\d{1,9}))?$/.exec(value) ?? [];
    const [from, to] = [Number(first), Number(last)];
    if (from >= 1 && to >= from) return { from, to };
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
    ['onqueue retry --range=1-5', 'the newest five, as onqueue failed lists them'],
  ],
  words: ['[ids...]', "ids, as onqueue failed lists them, or 'all'"],
  flags: { range, ...FILTER_FLAGS },
  async run(call) {
    const { flags, words } = call;
    const isAll = words.includes('all');
    const ids = isAll ? [] : words;
    if (flags.range !== undefined && words.length > 0) call.refuse('give ids, or --range: not both.');
    if (!isAll && flags.range === undefined) checkChoice(call, ids);
    const manager = await openForFailed(call);
    const sent = (count: number): string =>
      `Sent ${counted(count, 'failed job')} back to ${count === 1 ? 'its queue' : 'their queues'}.`;
    await actOnFailed(call, ids, 'retried', sent, {
      all: () => counting(call, manager, 'Sending failed jobs back', () => retryThose(call, manager, flags.range)),
      one: (id) => manager.failed.retry(id, flags),
      unknown: (id) => `There is no failed job '${id}'; it may have been retried already.`,
    });
  },
});

async function retryThose({ flags }: Call<FailedFlags>, { failed }: QueueManager, places?: Range): Promise<number> {
  const filter = filterOf(flags);
  if (places === undefined) return failed.retry(filter ?? 'all');
  const jobs = await failed.list({ ...filter, offset: places.from - 1, limit: places.to - places.from + 1 });
  let retried = 0;
  for (const { id, queue, connection } of jobs) if (await failed.retry(id, { queue, connection })) retried += 1;
  return retried;
}
