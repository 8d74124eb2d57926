/** `forget`: removes failed jobs for good: single ones, or those that fit. */
import type { Command } from 'commander';
import type { FailedFilter } from '../../application/failed/failed-filter';
import { newCommand } from '../command';
import { counted } from '../counted';
import { eachFailedJob } from '../each-failed-job';
import { addFilterOptions, checkChoice, filterOf } from '../filter-flags';
import { openForFailed } from '../memory-remark';
import { addJsonOption, addProjectOptions, type ProjectFlags } from '../options';
import type { Session } from '../session';

type ForgetFlags = ProjectFlags & FailedFilter;

export function forgetCommand(session: Session): Command {
  const command = newCommand('forget', {
    summary: 'remove failed jobs for good',
    examples: [
      ['onqueue forget 0193a6c1-…', 'this one'],
      ['onqueue forget 0193a6c1-… --queue=mail', 'this one, where jobs of its id failed on several queues'],
      ['onqueue forget --name=SendMail --older-than=1d', 'all that fit'],
    ],
  }).argument('[ids...]', 'ids, as onqueue failed lists them');
  return addJsonOption(addProjectOptions(addFilterOptions(command))).action(
    (ids: readonly string[], flags: ForgetFlags) => forget(session, command, ids, flags),
  );
}

async function forget(session: Session, command: Command, ids: readonly string[], flags: ForgetFlags): Promise<void> {
  const { output } = session;
  checkChoice(command, ids, flags);
  const { failed } = await openForFailed(session, flags);
  const { done: forgotten, unknown } =
    ids.length === 0
      ? { done: await failed.forget(filterOf(flags)!), unknown: [] }
      : await eachFailedJob(
          session,
          ids,
          (id) => failed.forget(id, flags),
          (id) => `There is no failed job '${id}'.`,
        );
  if (flags.json === true) output.json({ forgotten, unknown });
  else output.line(`Forgot ${counted(forgotten, 'failed job')}.`);
}
