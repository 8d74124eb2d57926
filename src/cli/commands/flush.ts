/** `flush`: removes all failed jobs for good. */
import type { Duration } from '../../job/duration';
import { defineCommand } from '../command';
import { invalidOption } from '../errors';
import { DRY_RUN, openForFailed, tellChosen } from '../failed-jobs';
import { type Flag, FORCE, text } from '../flags';
import { fromLeft, showingProgress, withoutTotal } from '../progress';
import { counted } from '../table';

const hours: Flag<Duration> = {
  value: '<count>',
  help: 'only those that failed more than so many hours ago',
  read(value, flag) {
    if (/^\d{1,6}(\.\d+)?$/.test(value)) return `${Number(value)}h`;
    throw invalidOption(flag, value, 'Give a number of hours.');
  },
};

export const flush = defineCommand({
  name: 'flush',
  summary: 'remove all failed jobs for good',
  description:
    'Under NODE_ENV=production it asks first, and where there is no terminal it refuses without --force. To keep the newest, see prune.',
  examples: [
    ['onqueue flush', 'all'],
    ['onqueue flush --queue=mail', 'those of one queue'],
    ['onqueue flush --hours=48', 'those that failed more than two days ago'],
    ['onqueue flush --queue=mail --dry-run', 'only say how many these are, and which'],
  ],
  flags: {
    queue: text('<name>', 'only those of this queue'),
    hours,
    dryRun: DRY_RUN,
    force: FORCE,
  },
  async run(call) {
    const { queue, hours: olderThan, force, dryRun = false } = call.flags;
    const manager = await openForFailed(call);
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
