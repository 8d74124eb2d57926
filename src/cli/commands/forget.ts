/** `forget`: removes the failed jobs that are named, or that fit, for good. */
import { defineCommand } from '../command';
import {
  actOnFailed,
  checkChoice,
  DRY_RUN,
  type FailedAction,
  FILTER_FLAGS,
  filterOf,
  openForFailed,
  sweeping,
  tellFailed,
} from '../failed-jobs';
import { counted } from '../table';

export const forget = defineCommand({
  name: 'forget',
  summary: 'remove failed jobs for good',
  examples: [
    ['onqueue forget 0193a6c1-…', 'this one'],
    ['onqueue forget 0193a6c1-… --queue=mail', 'this one, where jobs of its id failed on several queues'],
    ['onqueue forget --name=SendMail --older-than=1d', 'all that fit'],
    ['onqueue forget --name=SendMail --dry-run', 'only say how many these are, and which'],
  ],
  words: ['[ids...]', 'ids, as onqueue failed lists them'],
  flags: { dryRun: DRY_RUN, ...FILTER_FLAGS },
  async run(call) {
    const { flags } = call;
    const ids = [...new Set(call.words)];
    checkChoice(call, ids);
    const manager = await openForFailed(call);
    const action: FailedAction = {
      done: 'forgotten',
      line: (count) => `Forgot ${counted(count, 'failed job')}.`,
      all: () => sweeping(call, manager, 'Forgetting', () => manager.failed.forget(filterOf(flags) ?? {})),
      one: (id) => manager.failed.forget(id, flags),
      unknown: (id) => `There is no failed job '${id}'.`,
    };
    await (flags.dryRun === true ? tellFailed(call, ids, manager, action) : actOnFailed(call, ids, action));
  },
});
