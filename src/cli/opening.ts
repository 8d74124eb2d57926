/** What `work` prints at its start: the store, the queues, the registered jobs, and warnings about them. */
import type { QueueManager } from '../application/queue-manager';
import { strangeQueuesRemark } from '../worker/companions';
import { resolveWorkerOptions } from '../worker/worker-options';
import { commandLineOf, quoted, type Flag } from './flags';
import { JOB_HEADINGS, jobRow, listedJobs, shortNamesRemark, type RegisteredJob } from './job-list';
import { memoryRemark } from './named-queues';
import { logFormat, type Session } from './session';
import { counted, formatTable } from './table';
import { WORK_FLAGS, workerOptions, type WorkFlags } from './work-flags';

/** What a worker was told to do. */
interface Work {
  /** The connection as the command line named it, if it did. */
  readonly given: string | undefined;
  readonly flags: WorkFlags;
  /** The connection that it works on. */
  readonly connection: string;
  readonly queues: readonly string[];
}

export function printOpening(
  session: Session,
  manager: QueueManager,
  given: string | undefined,
  flags: WorkFlags,
): void {
  const { name: connection, driver, address } = manager.driver(given);
  const options = resolveWorkerOptions(workerOptions(given, flags));
  const queues = options.queues?.map((queue) => queue.name) ?? [manager.settings(connection).queue];
  const jobs = listedJobs(manager, options.defaults);
  const store = `${address} (connection ${connection}, driver ${driver})`;
  if (logFormat(session.surroundings.stderr, flags) === 'json') {
    const facts = { connection, driver, store: address, queues, jobs };
    manager.logger.info(facts, `The worker starts. Store: ${store}. Queues: ${queues.join(', ')}.`);
  } else if (flags.quiet !== true) {
    const table = jobs.length === 0 ? [] : ['', formatTable(JOB_HEADINGS, jobs.map(jobRow))];
    session.output.note([`Store    ${store}`, `Queues   ${queues.join(', ')}`, ...table, ''].join('\n'));
  }
  const warn = (remark: string | undefined): void => {
    if (remark !== undefined) manager.logger.warn({}, remark);
  };
  const work = { given, flags, connection, queues };
  warn(memoryRemark(manager, connection));
  warn(shortNamesRemark(manager));
  warn(strangeQueuesRemark(manager, work, (where, others) => commandWith(work, others, where)));
  // An unreachable store must not hold up the worker, which reports it itself.
  void waitingElsewhereRemark(manager, jobs, work).then(warn, () => undefined);
}

/** A worker looks at no more queues than this when it starts. */
const MOST_QUEUES = 50;

/** Undefined if nothing waits elsewhere, or the store does not say. */
async function waitingElsewhereRemark(
  manager: QueueManager,
  jobs: readonly RegisteredJob[],
  work: Work,
): Promise<string | undefined> {
  const driver = manager.driver(work.connection);
  if (!driver.capabilities.counts) return undefined;
  const mine = new Set(jobs.filter(({ connection }) => connection === work.connection).map(({ queue }) => queue));
  const others = (await driver.queues()).filter((queue) => mine.has(queue) && !work.queues.includes(queue));
  const pauses = others.length > 0 ? ((await driver.control?.paused()) ?? []) : [];
  const paused = new Set(pauses.map(({ queue }) => queue));
  const waiting: { readonly queue: string; readonly ready: number }[] = [];
  for (const queue of others.filter((name) => !paused.has(name)).slice(0, MOST_QUEUES)) {
    const { ready } = await driver.counts(queue);
    if (ready > 0) waiting.push({ queue, ready });
  }
  if (waiting.length === 0) return undefined;
  const told = waiting.map(({ queue, ready }) => `${queue} (${counted(ready, 'job')})`).join(', ');
  const queues = [...work.queues, ...waiting.map(({ queue }) => queue)];
  return `Jobs are waiting on ${told}, which this worker does not work on. If no other worker does: ${commandWith(work, queues)}`;
}

/** The given command line, with these queues. */
function commandWith({ given, flags, connection: own }: Work, queues: readonly string[], connection = own): string {
  const table: Readonly<Record<string, Flag<unknown>>> = WORK_FLAGS;
  const shown = Object.entries(flags).filter(([name]) => table[name]?.isHidden !== true);
  const where = connection === own ? given : connection;
  // A supervisor gives its processes the remainder of --max-time.
  const processes = flags.processes === 1 ? undefined : flags.processes;
  const line = commandLineOf({ ...Object.fromEntries(shown), processes, maxTime: undefined, queue: queues });
  return ['onqueue', 'work', ...(where === undefined ? [] : [where]), ...line.map(quoted)].join(' ');
}
