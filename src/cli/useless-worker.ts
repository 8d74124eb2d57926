/** What to say of a worker that cannot help: it knows no job, or jobs wait on queues that it was not told of. */
import type { QueueManager } from '../application/queue-manager';
import { noJobs } from './errors';
import { listedJobs } from './job-list';
import { commandLineOf } from './flags';
import { counted } from './table';
import type { WorkFlags } from './work-flags';

/** Of a store with more queues than this only the first are looked at: a start is no inspection. */
const MOST_QUEUES = 50;

export interface Work {
  /** As it was named, or not. */
  readonly given: string | undefined;
  readonly flags: WorkFlags;
  /** The one that it works on. */
  readonly connection: string;
  readonly queues: readonly string[];
}

/** Every job that comes would be given back to its queue. @throws E_NO_JOBS */
export function checkJobs({ registry, configurationSource }: QueueManager): void {
  if (registry.all().length === 0) throw noJobs(configurationSource);
}

/** Undefined: some job that is registered here goes to one of the worker's queues. */
export function strangeQueuesRemark(manager: QueueManager, work: Work): string | undefined {
  const jobs = listedJobs(manager);
  if (jobs.some(({ connection, queue }) => connection === work.connection && work.queues.includes(queue)))
    return undefined;
  const here = jobs.filter(({ connection }) => connection === work.connection);
  const [first] = here.length > 0 ? here : jobs;
  if (first === undefined) return undefined;
  const { connection } = first;
  const queues = [...new Set(jobs.filter((job) => job.connection === connection).map(({ queue }) => queue))];
  const isElsewhere = connection !== work.connection;
  const [ofThis, ofOther] = isElsewhere ? [` of the connection '${work.connection}'`, ` of '${connection}'`] : ['', ''];
  return (
    `No job that is registered here goes to ${work.queues.join(', ')}${ofThis} by itself; they go to ${queues.join(', ')}${ofOther}. ` +
    `To work those: ${commandWith(work, queues, connection)}`
  );
}

/** Undefined: nothing waits elsewhere, or the store does not say. */
export async function waitingElsewhereRemark(manager: QueueManager, work: Work): Promise<string | undefined> {
  const driver = manager.driver(work.connection);
  if (!driver.capabilities.counts) return undefined;
  const mine = new Set(
    listedJobs(manager)
      .filter(({ connection }) => connection === work.connection)
      .map(({ queue }) => queue),
  );
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
  return `Jobs wait on ${told}, which this worker was not told to work. If no other does: ${commandWith(work, queues)}`;
}

/** The command line that was given, with these queues. */
function commandWith({ given, flags, connection: own }: Work, queues: readonly string[], connection = own): string {
  const {
    fresh: _fresh,
    processNumber: _number,
    opened: _opened,
    afterCrash: _crash,
    maxTime: _time,
    ...others
  } = flags;
  const where = connection === own ? given : connection;
  const line = commandLineOf({
    ...others,
    processes: others.processes === 1 ? undefined : others.processes,
    queue: queues,
  });
  return ['onqueue', 'work', ...(where === undefined ? [] : [where]), ...line.map(quoted)].join(' ');
}

// Patterns are to reach the command, and not the shell.
function quoted(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", String.raw`'\''`)}'`;
}
