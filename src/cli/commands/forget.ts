/** `forget`: removes single failed jobs for good. */
import type { Command } from 'commander';
import { newCommand } from '../command';
import { counted } from '../counted';
import { eachFailedJob } from '../each-failed-job';
import { openForFailed } from '../memory-remark';
import { addJsonOption, addProjectOptions, type ProjectFlags } from '../options';
import type { Session } from '../session';

export function forgetCommand(session: Session): Command {
  const command = newCommand('forget', {
    summary: 'remove failed jobs for good',
    examples: [['onqueue forget 0193a6c1-…', 'this one']],
  }).argument('<ids...>', 'ids, as onqueue failed lists them');
  return addJsonOption(addProjectOptions(command)).action((ids: readonly string[], flags: ProjectFlags) =>
    forget(session, ids, flags),
  );
}

async function forget(session: Session, ids: readonly string[], flags: ProjectFlags): Promise<void> {
  const { output } = session;
  const { failed } = await openForFailed(session, flags);
  const { done: forgotten, unknown } = await eachFailedJob(
    session,
    ids,
    (id) => failed.forget(id),
    (id) => `There is no failed job '${id}'.`,
  );
  if (flags.json === true) output.json({ forgotten, unknown });
  else output.line(`Forgot ${counted(forgotten, 'failed job')}.`);
}
