/** `prune`: removes old failed jobs, and forgets old batches, for good. */
import type { QueueManager } from '../../application/queue-manager';
import type { Duration } from '../../job/duration';
import { type Call, defineCommand } from '../command';
import { type FailedFlags, FILTER_FLAGS, filterOf, openForFailed } from '../failed-jobs';
import { count, type Given, on, time } from '../flags';
import { keepingConnections } from '../named-queues';
import { fromLeft, showingProgress, withoutTotal } from '../progress';
import { counted } from '../table';

const FLAGS = {
  keep: count('<count>', 'all but so many of the newest, of each store'),
  ...FILTER_FLAGS,
  batches: time('batches that finished longer ago than this', { preset: '1d' }),
  unfinished: on('with --batches: those as well that were created longer ago and have not finished'),
  dryRun: on('only say how many these are'),
};

type PruneFlags = Given<typeof FLAGS> & FailedFlags;

export const prune = defineCommand({
  name: 'prune',
  summary: 'remove old failed jobs, and old batches, for good',
  description:
    'Of each queue workers keep the newest 10,000 (`failed: { keep }`); nothing else ever removes them: run it daily. Finished batches go after a day by themselves; those that never finish stay.',
  examples: [
    ['onqueue prune --older-than=30d', 'what failed more than 30 days ago'],
    ['onqueue prune --keep=1000', 'all but the newest 1000'],
    ['onqueue prune --queue=mail --keep=100', 'of one queue all but the newest 100'],
    ['onqueue prune --older-than=30d --dry-run', 'only say how many these are'],
    ['onqueue prune --batches=7d --unfinished', 'batches of which nothing has come within a week'],
  ],
  flags: FLAGS,
  async run(call) {
    const { olderThan, keep, batches, unfinished, dryRun = false } = call.flags;
    const isOfFailed = olderThan !== undefined || keep !== undefined;
    if (!isOfFailed && batches === undefined) {
      call.refuse('say which: --older-than=30d, --keep=1000, --batches=7d. (onqueue flush removes all failed jobs.)');
    }
    if (!isOfFailed && filterOf({ ...call.flags, connection: undefined }) !== undefined) {
      call.refuse('--queue, --name, --batch and --error choose failed jobs: give --older-than or --keep as well.');
    }
    if (unfinished === true && batches === undefined)
      call.refuse('--unfinished says which batches: give --batches=7d.');
    const manager = await openForFailed(call);
    const pruned = isOfFailed ? await pruneFailed(call, manager) : undefined;
    const forgotten = batches === undefined ? undefined : await pruneBatches(call, manager, batches);
    const [removed, forgot] = dryRun ? ['Would remove', 'Would forget'] : ['Removed', 'Forgot'];
    call.output.result(
      { ...(dryRun && { dryRun }), pruned, batches: forgotten },
      ...(pruned === undefined ? [] : [`${removed} ${counted(pruned, 'failed job')}.`]),
      ...(forgotten === undefined ? [] : [`${forgot} ${counted(forgotten, 'batch', 'batches')}.`]),
    );
  },
});

function pruneFailed(call: Call<PruneFlags>, manager: QueueManager): Promise<number> {
  const { keep, dryRun } = call.flags;
  const which = { ...filterOf(call.flags), keep, dryRun };
  if (dryRun === true) return manager.failed.prune(which);
  const gone = withoutTotal(fromLeft(() => manager.failed.kept(which.queue)));
  return showingProgress(call, 'Removing', () => manager.failed.prune(which), gone);
}

/** Of all connections that keep some. @throws CapabilityError none does, or not the one that is named */
function pruneBatches(call: Call<PruneFlags>, manager: QueueManager, olderThan: Duration): Promise<number> {
  const { connection, unfinished, dryRun } = call.flags;
  const able = keepingConnections(manager).filter((name) => manager.driver(name).batches !== undefined);
  const meant = connection === undefined && able.length > 0 ? able : [connection];
  return showingProgress(call, 'Forgetting batches', async () => {
    let forgotten = 0;
    for (const one of meant)
      forgotten += await manager.batches.prune({ connection: one, olderThan, unfinished, dryRun });
    return forgotten;
  });
}
