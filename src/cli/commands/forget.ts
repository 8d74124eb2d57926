/** `forget`: removes given or matching failed jobs for good. */
import { defineCommand } from '../command';
import { actOnFailed, checkChoice, DRY_RUN, type FailedAction, FILTER_FLAGS, filterOf, sweeping } from '../failed-jobs';
import { openKeeping } from '../named-queues';
import { counted } from '../table';

export const forget = defineCommand({
  name: 'forget',
  summary: 'remove failed jobs for good',
  examples: [
    ['onqueue forget 0193a6c1-…', 'one job'],
    ['onqueue forget 0193a6c1-… --queue=mail', 'one job, if its id failed on several queues'],
    ['onqueue forget --name=SendMail --older-than=1d', 'all jobs that match'],
    ['onqueue forget --name=SendMail --dry-run', 'only list the jobs and their number'],
  ],
  words: ['[ids...]', 'ids, as listed by onqueue failed'],
  flags: { dryRun: DRY_RUN, ...FILTER_FLAGS },
  async run(call) {
    const { flags } = call;
    const ids = [...new Set(call.words)];
    checkChoice(call, ids);
    const manager = await openKeeping(call);
    const action: FailedAction = {
      done: 'forgotten',
      line: (count) => `Forgot ${counted(count, 'failed job')}.`,
      all: () => sweeping(call, manager, 'Forgetting', () => manager.failed.forget(filterOf(flags) ?? {})),
      one: (id) => manager.failed.forget(id, flags),
      unknown: (id) => `There is no failed job '${id}'.`,
    };
    await actOnFailed(call, ids, manager, action);
  },
});
