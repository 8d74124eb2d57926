/** What `work` opens with: the store, the queues, the jobs that it knows, and what there is to say of them. */
import type { QueueManager } from '../application/queue-manager';
import { resolveWorkerOptions } from '../worker/worker-options';
import { JOB_HEADINGS, jobRow, listedJobs, shortNamesRemark } from './job-list';
import { memoryRemark } from './named-queues';
import { logFormat, type Session } from './session';
import { formatTable } from './table';
import { strangeQueuesRemark, waitingElsewhereRemark } from './useless-worker';
import { type WorkFlags, workerOptions } from './work-flags';

export function printOpening(
  session: Session,
  manager: QueueManager,
  connection: string | undefined,
  flags: WorkFlags,
): void {
  const { name, driver, address } = manager.driver(connection);
  const { queues, defaults } = resolveWorkerOptions(workerOptions(connection, flags));
  const queueNames = queues?.map((queue) => queue.name) ?? [manager.settings(name).queue];
  const jobs = listedJobs(manager, defaults);
  const store = `${address} (connection ${name}, driver ${driver})`;
  if (logFormat(session.surroundings.stderr, flags) === 'json') {
    const facts = { connection: name, driver, store: address, queues: queueNames, jobs };
    manager.logger.info(facts, `The worker starts. Store: ${store}. Queues: ${queueNames.join(', ')}.`);
  } else if (flags.quiet !== true) {
    const table = jobs.length === 0 ? [] : ['', formatTable(JOB_HEADINGS, jobs.map(jobRow), {})];
    const lines = [`Store    ${store}`, `Queues   ${queueNames.join(', ')}`, ...table, ''];
    session.output.note(lines.join('\n'));
  }
  const work = { given: connection, flags, connection: name, queues: queueNames };
  const remarks = [memoryRemark(manager, name), shortNamesRemark(manager), strangeQueuesRemark(manager, work)];
  for (const remark of remarks) {
    if (remark !== undefined) manager.logger.warn({}, remark);
  }
  // The store may be away, which holds up no worker: it says so itself.
  void waitingElsewhereRemark(manager, work).then(
    (remark) => remark !== undefined && manager.logger.warn({}, remark),
    () => undefined,
  );
}
