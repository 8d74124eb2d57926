/** Does something to each of the failed jobs that a command line names; one that is not there keeps it from no other. */
import { ambiguousFailedJob, failedJobsOutOfReach } from '../application/failed/errors';
import { errorText } from './error-text';
import { ExitCode } from './exit-codes';
import type { Session } from './session';

/**
 * @param act gives false where there is no such job
 * @param remark what to say of an id that is not there
 */
export async function eachFailedJob(
  session: Session,
  ids: readonly string[],
  act: (id: string) => Promise<boolean>,
  remark: (id: string) => string,
): Promise<{ readonly done: number; readonly unknown: readonly string[] }> {
  const unknown: string[] = [];
  for (const id of ids) {
    try {
      if (await act(id)) continue;
      session.output.note(remark(id));
    } catch (error) {
      // The next one may be on a connection that can be asked, and there once.
      if (!(failedJobsOutOfReach.is(error) || ambiguousFailedJob.is(error))) throw error;
      session.output.note(errorText(error));
    }
    unknown.push(id);
    session.exitCode = ExitCode.error;
  }
  return { done: ids.length - unknown.length, unknown };
}
