/** `workers` and `restart`: the workers and their running jobs, and how to make them start anew. */
import type { QueueManager } from '../../application/queue-manager';
import { keepingConnections } from '../../connections/driver';
import { oneLine } from '../../base/text';
import { shortSpanText } from '../../base/span';
import { CapabilityError } from '../../connections/errors';
import { ageOf, isSilent, labelOf, type RunningWorker } from '../../operations/worker-record';
import { defineCommand, type Call } from '../command';
import { errorText } from '../errors';
import { CONNECTION } from '../flags';
import { memoryRemark, noteMemory, openConnection } from '../named-queues';
import { defineList } from '../list';
import { type Cell, failures } from '../output';

export const workers = defineList({
  name: 'workers',
  summary: 'list the workers and their running jobs',
  description:
    'Lists the workers of all machines that keep records in the same store as the connection, and reported within the last minute. ' +
    'A worker appears after its first second. The exit code is 0 whether there are any or not.',
  examples: [
    ['onqueue workers', "workers of the default connection's store"],
    ['onqueue workers --connection=redis', 'workers of another one'],
    ['onqueue workers --watch', 'redrawn every two seconds'],
    ["onqueue workers --json | jq '.items[] | select(.silentFor > 10)'", 'silent workers, for a program'],
  ],
  flags: { connection: CONNECTION },
  async run(call) {
    const { output } = call;
    const { manager, connection } = await openConnection(call);
    const found = await connection.workers();
    output.result(found);
    if (found.length === 0) {
      const isOff = manager.configuration.metrics === false;
      return output.line(
        `No worker runs, or none has reported within the last minute${isOff ? ': with `metrics: false` none does' : ''}.`,
      );
    }
    const headings = ['worker', 'queues', 'busy', 'done', 'failed', 'for', 'state', 'runs'];
    output.list(headings, found.map(rowOf), READABLE_NAMES);
  },
});

/** Running jobs named in the table; JSON has up to 50. */
const MOST_NAMED = 3;

/** Columns that the names of jobs need. */
const READABLE_NAMES = 12;

function rowOf(worker: RunningWorker): Cell[] {
  const { connection, queues, busy, concurrency, outcomes } = worker;
  return [
    oneLine(labelOf(worker)),
    oneLine(`${connection}: ${queues.join(',')}`),
    `${busy}/${concurrency}`,
    outcomes.completed,
    failures(outcomes.failed),
    shortSpanText(ageOf(worker, worker.since)),
    stateCell(worker),
    runsText(worker),
  ];
}

function stateCell(worker: RunningWorker): Cell {
  const { state, silentFor } = worker;
  return isSilent(worker) ? { text: `silent for ${Math.round(silentFor)}s`, tone: 'bad' } : state;
}

function runsText(worker: RunningWorker): string {
  const { running, busy, waiting } = worker;
  const named = running
    .slice(0, MOST_NAMED)
    .map(({ name, since }) => `${oneLine(name)} ${shortSpanText(ageOf(worker, since))}`);
  const more = busy - named.length;
  const waits = waiting === undefined ? [] : [`${oneLine(waiting.name)} waits to run alone`];
  return [...named, ...(more > 0 && named.length > 0 ? [`${more} more`] : []), ...waits].join(', ');
}

export const restart = defineCommand({
  name: 'restart',
  summary: 'tell all workers to finish their jobs and restart, as after a deployment',
  description:
    'The order reaches workers on all machines, through the stores of all connections or of the named one. onqueue work ' +
    'restarts its processes by itself; other workers, including those with --once or --no-supervisor, exit, and whatever ' +
    'started them must start them again. The command does not wait for them, and does not affect workers that start later.',
  examples: [
    ['onqueue restart', 'all workers'],
    ['onqueue restart --connection=redis', 'workers of one connection'],
  ],
  flags: { connection: CONNECTION },
  async run(call) {
    const { connection } = call.flags;
    const manager = await call.open();
    const names = connection === undefined ? connectionsWithWorkers(manager) : [manager.connection(connection).name];
    for (const name of names) noteMemory(call, manager, [name]);
    // An unreachable store must neither stop nor delay the order to the workers of others.
    const answers = await Promise.all(names.map((name) => tell(call, manager, name)));
    const told = answers.filter((answer) => answer !== undefined);
    const lines = told.map(
      ({ connection: name, address }) => `Told the workers of ${name} (${address}) to finish their jobs and restart.`,
    );
    call.output.result(told, ...lines);
  },
});

async function tell(
  call: Call,
  manager: QueueManager,
  name: string,
): Promise<{ connection: string; address: string } | undefined> {
  try {
    const connection = manager.connection(name);
    await connection.restart();
    return { connection: name, address: connection.address };
  } catch (error) {
    const reason =
      error instanceof CapabilityError
        ? `its driver ${error.facts.driver} takes no orders. Stop them with SIGTERM, and start them again. (${error.code})`
        : errorText(error);
    call.fail(`The workers of ${name} were not told: `, reason);
    return undefined;
  }
}

function connectionsWithWorkers(manager: QueueManager): readonly string[] {
  const names = keepingConnections(manager).filter((name) => memoryRemark(manager, name) === undefined);
  return names.length > 0 ? names : [manager.defaultConnection];
}
