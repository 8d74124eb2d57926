/** `retry`: sends failed jobs back to their queues. */
import type { Command } from 'commander';
import type { FailedPlace } from '../../failed/failed-jobs';
import type { QueueManager } from '../../queue/queue-manager';
import { newCommand } from '../command';
import { counted } from '../counted';
import { eachFailedJob } from '../each-failed-job';
import { failedCount } from '../failed-count';
import { openForFailed } from '../memory-remark';
import { addJsonOption, addPlaceOptions, addProjectOptions, type ProjectFlags } from '../options';
import type { Session } from '../session';

export function retryCommand(session: Session): Command {
  const command = newCommand('retry', {
    summary: 'send failed jobs back to their queues, with all their tries',
    examples: [
      ['onqueue retry 0193a6c1-…', 'this one'],
      ['onqueue retry 0193a6c1-… --queue=mail', 'this one, where jobs of its id failed on several queues'],
      ['onqueue retry all', 'all that have failed until now'],
      ['onqueue retry all --queue=mail', 'all of one queue'],
    ],
  }).argument('<ids...>', "ids, as onqueue failed lists them, or 'all'");
  return addJsonOption(addProjectOptions(addPlaceOptions(command))).action(
    (ids: readonly string[], flags: ProjectFlags & FailedPlace) => retry(session, ids, flags),
  );
}

async function retry(session: Session, ids: readonly string[], flags: ProjectFlags & FailedPlace): Promise<void> {
  const { output } = session;
  const manager = await openForFailed(session, flags);
  const { done: retried, unknown } = ids.includes('all')
    ? { done: await retryAll(session, manager, flags), unknown: [] }
    : await eachFailedJob(
        session,
        ids,
        (id) => manager.failed.retry(id, flags),
        (id) => `There is no failed job '${id}'; it may have been retried already.`,
      );
  if (flags.json === true) output.json({ retried, unknown });
  else output.line(`Sent ${counted(retried, 'failed job')} back to ${retried === 1 ? 'its queue' : 'their queues'}.`);
}

function retryAll({ output }: Session, manager: QueueManager, { queue, connection }: FailedPlace): Promise<number> {
  const isAll = queue === undefined && connection === undefined;
  return output.counting(
    'Sending failed jobs back',
    () => failedCount(manager, queue),
    () => manager.failed.retry(isAll ? 'all' : { queue, connection }),
  );
}
