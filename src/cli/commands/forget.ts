/** `forget`, `flush` and `prune`: remove failed jobs, and old batches, for good. */
import { keepingConnections } from '../../connections/driver';
import type { QueueManager } from '../../application/queue-manager';
import type { Duration } from '../../job/duration';
import { type Call, defineCommand } from '../command';
import { invalidOption } from '../errors';
import { count, type Flag, FORCE, type Given, on, text, time } from '../flags';
import { openKeeping } from '../named-queues';
import { counted } from '../output';
import { fromLeft, showingProgress, withoutTotal } from '../progress';
import {
  actOnFailed,
  checkChoice,
  DRY_RUN,
  type FailedAction,
  type FailedFlags,
  FILTER_FLAGS,
  filterOf,
  sweeping,
  tellChosen,
} from './failed';

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
      unknown: (id) => `There is no failed job '${id}'.${id === 'all' ? ' To remove all: onqueue flush.' : ''}`,
    };
    await actOnFailed(call, ids, manager, action);
  },
});

const hours: Flag<Duration> = {
  value: '<count>',
  help: 'only jobs that failed more than this many hours ago',
  read(value, flag) {
    if (/^\d{1,6}(\.\d+)?$/.test(value)) return `${Number(value)}h`;
    throw invalidOption(flag, value, 'Give a number of hours.');
  },
};

export const flush = defineCommand({
  name: 'flush',
  summary: 'remove all failed jobs for good',
  description:
    'With NODE_ENV=production it asks first, and without a terminal it refuses unless --force is given. To keep the newest, see prune.',
  examples: [
    ['onqueue flush', 'all'],
    ['onqueue flush --queue=mail', 'jobs of one queue'],
    ['onqueue flush --hours=48', 'jobs that failed more than two days ago'],
    ['onqueue flush --queue=mail --dry-run', 'only list the jobs and their number'],
  ],
  flags: {
    queue: text('<name>', 'only jobs of this queue'),
    hours,
    dryRun: DRY_RUN,
    force: FORCE,
  },
  async run(call) {
    const { queue, hours: olderThan, force, dryRun = false } = call.flags;
    const manager = await openKeeping(call);
    if (dryRun) return tellChosen(call, manager, { queue, olderThan });
    const which = queue === undefined ? '' : ` of the queue ${queue}`;
    const age = olderThan === undefined ? counted(await manager.failed.kept(queue), 'job') : 'the older ones';
    await call.session.confirm(`Remove failed jobs${which} for good (${age})`, force);
    const left = fromLeft(() => manager.failed.kept(queue));
    const flushed = await (olderThan === undefined
      ? showingProgress(call, 'Removing', () => manager.failed.flush(queue), left)
      : showingProgress(call, 'Removing', () => manager.failed.prune({ olderThan, queue }), withoutTotal(left)));
    call.output.result({ flushed }, `Removed ${counted(flushed, 'failed job')}.`);
  },
});

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
