/** `workers`: lists the workers and their running jobs. */
import type { Milliseconds } from '../../base/clock';
import { oneLine } from '../../base/plain-text';
import type { RunningWorker } from '../../operations/worker-record';
import { defineCommand } from '../command';
import { CONNECTION } from '../flags';
import { spanText } from '../moments';
import { openConnection } from '../named-queues';
import type { Cell } from '../table';

/** Seconds after which a worker is reported as silent: it has missed a record. */
const SILENT = 10;
/** Running jobs named in the table; JSON has up to 50. */
const MOST_NAMED = 3;
/** Columns that the names of jobs need. */
const READABLE_NAMES = 20;

export const workers = defineCommand({
  name: 'workers',
  summary: 'list the workers and their running jobs',
  description:
    'Lists the workers of all machines that keep records in the same store as the connection, and reported within the last minute. ' +
    'A worker appears after its first second. The exit code is 0 whether there are any or not.',
  examples: [
    ['onqueue workers', "workers of the default connection's store"],
    ['onqueue workers --connection=redis', 'workers of another one'],
    ["onqueue workers --json | jq '.[] | select(.silentFor > 10)'", 'silent workers, for a program'],
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
        `No worker has reported within the last minute${isOff ? ': with `metrics: false` none does' : ''}.`,
      );
    }
    const headings = ['worker', 'queues', 'busy', 'done', 'failed', 'for', 'state', 'runs'];
    output.list(headings, found.map(rowOf), READABLE_NAMES);
  },
});

function rowOf(worker: RunningWorker): Cell[] {
  const { name, pid, connection, queues, busy, concurrency, outcomes } = worker;
  return [
    oneLine(`${name}:${pid}`),
    oneLine(`${connection}: ${queues.join(',')}`),
    `${busy}/${concurrency}`,
    outcomes.completed,
    outcomes.failed,
    spanText(ageOf(worker, worker.since)),
    stateText(worker),
    runsText(worker),
  ];
}

function stateText({ state, silentFor }: RunningWorker): string {
  return silentFor > SILENT ? `silent for ${Math.round(silentFor)}s` : state;
}

function runsText(worker: RunningWorker): string {
  const { running, busy, waiting } = worker;
  const named = running
    .slice(0, MOST_NAMED)
    .map(({ name, since }) => `${oneLine(name)} ${spanText(ageOf(worker, since))}`);
  const more = busy - named.length;
  const waits = waiting === undefined ? [] : [`${oneLine(waiting.name)} waits to run alone`];
  return [...named, ...(more > 0 && named.length > 0 ? [`${more} more`] : []), ...waits].join(', ');
}

/** Uses only the store's clock: ours may be off. */
function ageOf({ heardAt, silentFor }: RunningWorker, moment: Date): Milliseconds {
  return Math.max(heardAt.getTime() + silentFor * 1000 - moment.getTime(), 0);
}
