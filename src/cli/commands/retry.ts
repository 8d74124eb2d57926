/** `retry`: sends failed jobs back to their queues. */
import type { Command } from 'commander';
import type { QueueManager } from '../../queue/queue-manager';
import { newCommand } from '../command';
import { counted } from '../counted';
import { eachFailedJob } from '../each-failed-job';
import { failedCount } from '../failed-count';
import { openForFailed } from '../memory-remark';
import { addJsonOption, addProjectOptions, type ProjectFlags } from '../options';
import type { Session } from '../session';

export function retryCommand(session: Session): Command {
  const command = newCommand('retry', {
    summary: 'send failed jobs back to their queues, with all their tries',
    examples: [
      ['onqueue retry 0193a6c1-…', 'this one'],
      ['onqueue retry all', 'all that have failed until now'],
    ],
  }).argument('<ids...>', "ids, as onqueue failed lists them, or 'all'");
  return addJsonOption(addProjectOptions(command)).action((ids: readonly string[], flags: ProjectFlags) =>
    retry(session, ids, flags),
  );
}

async function retry(session: Session, ids: readonly string[], flags: ProjectFlags): Promise<void> {
  const { output } = session;
  const manager = await openForFailed(session, flags);
  const { done: retried, unknown } = ids.includes('all')
    ? { done: await retryAll(session, manager), unknown: [] }
    : await eachFailedJob(
        session,
        ids,
        (id) => manager.failed.retry(id),
        (id) => `There is no failed job '${id}'; it may have been retried already.`,
      );
  if (flags.json === true) output.json({ retried, unknown });
  else output.line(`Sent ${counted(retried, 'failed job')} back to ${retried === 1 ? 'its queue' : 'their queues'}.`);
}

function retryAll({ output }: Session, manager: QueueManager): Promise<number> {
  return output.counting(
    'Sending failed jobs back',
    () => failedCount(manager),
    () => manager.failed.retry('all'),
  );
}
