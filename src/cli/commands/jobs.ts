/** `jobs`: what is registered here, as a worker would find it. */
import type { Command } from 'commander';
import { newCommand } from '../command';
import { NO_JOBS, JOB_HEADINGS, jobRow, listedJobs } from '../job-list';
import { addJsonOption, addProjectOptions, type ProjectFlags } from '../options';
import type { Session } from '../session';

export function jobsCommand(session: Session): Command {
  const command = newCommand('jobs', {
    summary: 'show the registered jobs, as a worker finds them',
    examples: [
      ['onqueue jobs', 'those that onqueue.config.* imports'],
      ["onqueue jobs --require 'dist/jobs/**/*.js'", 'and those of these files'],
    ],
  });
  return addJsonOption(addProjectOptions(command)).action((flags: ProjectFlags) => jobs(session, flags));
}

async function jobs(session: Session, flags: ProjectFlags): Promise<void> {
  const { output } = session;
  const listed = listedJobs(await session.open(flags));
  if (flags.json === true) output.json(listed);
  else if (listed.length > 0) output.table(JOB_HEADINGS, listed.map(jobRow));
  else output.note(NO_JOBS);
}
