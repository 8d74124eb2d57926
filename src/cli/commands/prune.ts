/** `prune`: removes old failed jobs, and forgets old batches, for good. */
import type { QueueManager } from '../../application/queue-manager';
import type { Duration } from '../../job/duration';
import { type Call, defineCommand } from '../command';
import { type FailedFlags, FILTER_FLAGS, filterOf } from '../failed-jobs';
import { count, type Given, on, time } from '../flags';
import { keepingConnections, openKeeping } from '../named-queues';
import { fromLeft, showingProgress, withoutTotal } from '../progress';
import { counted } from '../table';

const FLAGS = {
  keep: count('<count>', 'all but this many of the newest failed jobs of each store'),
  ...FILTER_FLAGS,
  batches: time('forget batches that finished longer ago than this', { preset: '1d' }),
  unfinished: on('with --batches: also batches that were created longer ago and have not finished'),
  dryRun: on('only print the numbers; change nothing'),
};

type PruneFlags = Given<typeof FLAGS> & FailedFlags;

export const prune = defineCommand({
  name: 'prune',
  summary: 'remove old failed jobs and old batches for good',
  description:
    'Workers keep the newest 10,000 failed jobs of each queue (`failed: { keep }`), and nothing else removes them: run this daily. Finished batches are forgotten after a day; batches that never finish stay.',
  examples: [
    ['onqueue prune --older-than=30d', 'jobs that failed more than 30 days ago'],
    ['onqueue prune --keep=1000', 'all but the newest 1000'],
    ['onqueue prune --queue=mail --keep=100', 'all but the newest 100 of one queue'],
    ['onqueue prune --older-than=30d --dry-run', 'only print the number'],
    ['onqueue prune --batches=7d --unfinished', 'batches older than a week, finished or not'],
  ],
  flags: FLAGS,
  async run(call) {
    const { olderThan, keep, batches, unfinished, dryRun = false } = call.flags;
    const isOfFailed = olderThan !== undefined || keep !== undefined;
    if (!isOfFailed && batches === undefined) {
      call.refuse(
        'say what to prune, such as --older-than=30d, --keep=1000 or --batches=7d. (onqueue flush removes all failed jobs.)',
      );
    }
    if (!isOfFailed && filterOf({ ...call.flags, connection: undefined }) !== undefined) {
      call.refuse('--queue, --name, --batch and --error choose failed jobs: also give --older-than or --keep.');
    }
    if (unfinished === true && batches === undefined)
      call.refuse('--unfinished only works with --batches, such as --batches=7d.');
    const manager = await openKeeping(call);
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

/** Prunes all connections that keep batches. @throws CapabilityError none does, or the named one does not */
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
