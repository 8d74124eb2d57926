/** All jobs in a state of a queue, read page by page. */
import type { Connection, PeekedJob, WaitingState } from '../../src/connections/contract';

const MANY = 10_000_000;

export async function allJobs(
  connection: Pick<Connection, 'queues'>,
  queue: string,
  state: WaitingState,
): Promise<readonly PeekedJob[]> {
  const jobs: PeekedJob[] = [];
  let page: readonly PeekedJob[];
  do {
    page = await connection.queues.peek!(queue, state, MANY, jobs.at(-1)?.place);
    jobs.push(...page);
  } while (page.at(-1)?.place !== undefined);
  return jobs;
}
