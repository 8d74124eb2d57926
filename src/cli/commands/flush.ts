/** `flush`: removes all failed jobs for good. */
import type { Duration } from '../../job/duration';
import { defineCommand } from '../command';
import { invalidOption } from '../errors';
import { DRY_RUN, tellChosen } from '../failed-jobs';
import { type Flag, FORCE, text } from '../flags';
import { openKeeping } from '../named-queues';
import { fromLeft, showingProgress, withoutTotal } from '../progress';
import { counted } from '../table';

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
