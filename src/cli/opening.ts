/** What `work` opens with: the store, the queues, the jobs that it knows, and what there is to say of them. */
import type { QueueManager } from '../queue/queue-manager';
import { resolveWorkerOptions } from '../worker/worker-options';
import { HOW_TO_REGISTER, JOB_HEADINGS, jobRow, listedJobs, shortNamesRemark } from './job-list';
import { memoryRemark } from './memory-remark';
import type { Session } from './session';
import { type WorkFlags, workerOptions } from './worker-flags';

export function printOpening(
  { output, surroundings }: Session,
  manager: QueueManager,
  connection: string | undefined,
  flags: WorkFlags,
): void {
  const { name, driver, address } = manager.driver(connection);
  const { queues, defaults } = resolveWorkerOptions(workerOptions(connection, flags));
  const queueNames = queues?.map((queue) => queue.name) ?? [manager.settings(name).queue];
  const jobs = listedJobs(manager, defaults);
  if (flags.json === true) {
    const time = new Date(surroundings.clock.now()).toISOString();
    const facts = { connection: name, driver, store: address, queues: queueNames, jobs };
    output.line(JSON.stringify({ level: 'info', time, msg: 'The worker starts.', ...facts }));
  } else {
    output.line(`Store    ${address} (connection ${name}, driver ${driver})`);
    output.line(`Queues   ${queueNames.join(', ')}`);
    if (jobs.length > 0) {
      output.line('');
      output.table(JOB_HEADINGS, jobs.map(jobRow));
    }
    output.line('');
  }
  for (const remark of [memoryRemark(manager, name), shortNamesRemark(manager)]) {
    if (remark !== undefined) manager.logger.warn({}, remark);
  }
  if (jobs.length === 0) {
    manager.logger.warn({}, `${HOW_TO_REGISTER} Until then every job that comes is given back to its queue.`);
  }
}
