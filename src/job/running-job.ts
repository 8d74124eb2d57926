/** The job that the current code runs in. */
import { outsideRun } from '../container/errors';
import { inject } from '../container/scope';
import { noJobRuns } from './errors';
import { JobContext } from './job-context';

/** @throws E_NO_JOB_RUNS */
export function runningJob(call: string): JobContext {
  try {
    return inject(JobContext as never);
  } catch (error) {
    throw outsideRun.is(error) ? noJobRuns(call) : error;
  }
}
