/** `forget`: removes single failed jobs for good. */
import type { Command } from 'commander';
import type { FailedPlace } from '../../failed/failed-jobs';
import { newCommand } from '../command';
import { counted } from '../counted';
import { eachFailedJob } from '../each-failed-job';
import { openForFailed } from '../memory-remark';
import { addJsonOption, addPlaceOptions, addProjectOptions, type ProjectFlags } from '../options';
import type { Session } from '../session';

export function forgetCommand(session: Session): Command {
  const command = newCommand('forget', {
    summary: 'remove failed jobs for good',
    examples: [
      ['onqueue forget 0193a6c1-…', 'this one'],
      ['onqueue forget 0193a6c1-… --queue=mail', 'this one, where jobs of its id failed on several queues'],
    ],
  }).argument('<ids...>', 'ids, as onqueue failed lists them');
  return addJsonOption(addProjectOptions(addPlaceOptions(command))).action(
    (ids: readonly string[], flags: ProjectFlags & FailedPlace) => forget(session, ids, flags),
  );
}

async function forget(session: Session, ids: readonly string[], flags: ProjectFlags & FailedPlace): Promise<void> {
  const { output } = session;
  const { failed } = await openForFailed(session, flags);
  const { done: forgotten, unknown } = await eachFailedJob(
    session,
    ids,
    (id) => failed.forget(id, flags),
    (id) => `There is no failed job '${id}'.`,
  );
  if (flags.json === true) output.json({ forgotten, unknown });
  else output.line(`Forgot ${counted(forgotten, 'failed job')}.`);
}
