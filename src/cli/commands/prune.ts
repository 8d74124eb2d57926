/** `prune`: removes old failed jobs for good. */
import { defineCommand } from '../command';
import { FILTER_FLAGS, openForFailed, removeFailed } from '../failed-jobs';
import { count } from '../flags';

export const prune = defineCommand({
  name: 'prune',
  summary: 'remove old failed jobs for good',
  description:
    'Of each queue workers keep the newest 10,000 (`failed: { keep }`); nothing else ever removes them: run it daily.',
  examples: [
    ['onqueue prune --older-than=30d', 'what failed more than 30 days ago'],
    ['onqueue prune --keep=1000', 'all but the newest 1000'],
    ['onqueue prune --queue=mail --keep=100', 'of one queue all but the newest 100'],
  ],
  flags: { keep: count('<count>', 'all but so many of the newest, of each store'), ...FILTER_FLAGS },
  async run(call) {
    const { olderThan, keep, queue, connection, name, error } = call.flags;
    if (olderThan === undefined && keep === undefined) {
      call.refuse('say which: --older-than=30d, --keep=1000, or both. (onqueue flush removes all.)');
    }
    const manager = await openForFailed(call);
    const which = { olderThan, keep, queue, connection, name, error };
    await removeFailed(call, manager, 'pruned', () => manager.failed.prune(which));
  },
});
