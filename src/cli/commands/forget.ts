/** `forget`: removes the failed jobs that are named, or that fit, for good. */
import { defineCommand } from '../command';
import { actOnFailed, checkChoice, FILTER_FLAGS, filterOf, openForFailed } from '../failed-jobs';
import { counted } from '../table';

export const forget = defineCommand({
  name: 'forget',
  summary: 'remove failed jobs for good',
  examples: [
    ['onqueue forget 0193a6c1-…', 'this one'],
    ['onqueue forget 0193a6c1-… --queue=mail', 'this one, where jobs of its id failed on several queues'],
    ['onqueue forget --name=SendMail --older-than=1d', 'all that fit'],
  ],
  words: ['[ids...]', 'ids, as onqueue failed lists them'],
  flags: FILTER_FLAGS,
  async run(call) {
    const { flags, words: ids } = call;
    checkChoice(call, ids);
    const { failed } = await openForFailed(call);
    await actOnFailed(call, ids, 'forgotten', (count) => `Forgot ${counted(count, 'failed job')}.`, {
      all: () => failed.forget(filterOf(flags)!),
      one: (id) => failed.forget(id, flags),
      unknown: (id) => `There is no failed job '${id}'.`,
    });
  },
});
