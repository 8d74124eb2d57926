/** A snapshot as text: the queues, and the running jobs. */
import type { Milliseconds } from '../base/clock';
import { oneLine } from '../base/plain-text';
import type { QueueSnapshot, Snapshot } from '../operations/snapshot';
import { momentText, spanText } from './moments';
import { type Cell, counted, formatTable } from './table';

/** Chosen so that a terminal of 60 columns has room for the name of the queue. */
const HEADINGS = ['ready', 'delayed', 'running', 'failed', 'wait', '/min', 'queue'];

export interface MonitorView {
  /** Queues with more ready jobs are marked. */
  readonly max: number;
  /** The queue that keys act on. */
  readonly selected?: string | undefined;
}

export interface SnapshotTexts {
  /** The connection, the time, and the number of workers. */
  readonly summary: string;
  /** Beginning with the headings. */
  readonly queues: readonly string[];
  /** Beginning with the headings; empty if nothing runs. */
  readonly running: readonly string[];
}

export function snapshotTexts(snapshot: Snapshot, view: MonitorView): SnapshotTexts {
  const { connection, at, isExact, queues } = snapshot;
  const long = crowded(snapshot, view.max);
  const marks = queues.map((queue) => (queue.queue === view.selected ? '>' : ' ') + (long.includes(queue) ? '!' : ' '));
  const estimate = isExact ? [] : ['estimated'];
  return {
    summary: [connection, momentText(at), workersText(snapshot), ...estimate].join('   '),
    queues: formatTable(HEADINGS, queues.map(rowOf))
      .split('\n')
      .map((line, row) => `${marks[row - 1] ?? '  '} ${line}`),
    running: runningLines(snapshot),
  };
}

/** The queues with more than `max` ready jobs. */
export function crowded({ queues }: Snapshot, max: number): readonly QueueSnapshot[] {
  return queues.filter(({ ready }) => ready > max);
}

function rowOf(queue: QueueSnapshot): Cell[] {
  const { ready, delayed, running, oldestWait, rate, isPaused } = queue;
  const wait = oldestWait === undefined ? '' : spanText(oldestWait * 1000);
  const perMinute = rate === undefined ? '' : Math.round(rate * 10) / 10;
  const name = oneLine(queue.queue) + (isPaused ? ' paused' : '');
  return [ready, delayed, running, failedText(queue), wait, perMinute, name];
}

/** `12, 3 in 5 min`: the failures of the last five minutes include jobs that were retried since. */
function failedText({ failed, failures = 0 }: QueueSnapshot): Cell {
  if (failures === 0) return failed ?? '';
  return `${failed === undefined ? '' : `${failed}, `}${failures} in 5 min`;
}

function workersText({ workers }: Snapshot): string {
  if (workers === undefined) return 'workers unknown';
  const busy = workers.reduce((sum, worker) => sum + worker.busy, 0);
  const slots = workers.reduce((sum, worker) => sum + worker.concurrency, 0);
  return workers.length === 0 ? 'no workers' : `${counted(workers.length, 'worker')}, ${busy} of ${slots} slots busy`;
}

/** Longest-running first. */
function runningLines({ workers = [], at }: Snapshot): readonly string[] {
  const running = workers
    .flatMap(({ host, pid, running }) => running.map((job) => ({ ...job, worker: `${host}:${pid}` })))
    .toSorted((a, b) => a.since.getTime() - b.since.getTime());
  if (running.length === 0) return [];
  const span = (since: Date): Milliseconds => Math.max(at.getTime() - since.getTime(), 0);
  const rows = running.map(({ name, id, queue, attempt, since, worker }) => [
    ...[spanText(span(since)), attempt, oneLine(name), oneLine(queue), oneLine(worker), oneLine(id)],
  ]);
  return formatTable(['for', 'attempt', 'job', 'queue', 'worker', 'id'], rows)
    .split('\n')
    .map((line) => `   ${line}`);
}
