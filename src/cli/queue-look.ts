/** A look into one queue: why its jobs failed, what runs, and what comes next. */
import { errorGroups } from '../application/failed/error-groups';
import type { QueueManager } from '../application/queue-manager';
import type { Milliseconds } from '../base/clock';
import { groupsOf } from '../base/collections';
import { shortSpanText } from '../base/span';
import { oneLine } from '../base/text';
import type { QueueConnection } from '../dispatch/queue-connection';
import type { ListedJob } from '../operations/listed-job';
import type { Snapshot } from '../operations/snapshot';
import { labelOf, runsOf } from '../operations/worker-record';
import { errorText } from './errors';
import { agoText, type Cell, counted, formatTable, momentText } from './output';

export interface QueueLook {
  readonly snapshot: Snapshot;
  lines(columns: number, isColored: boolean): readonly string[];
}

/** How many of the newest failed jobs are grouped. */
const GROUPED = 200;

/** Groups of errors, and jobs that come next. */
const FEW = 5;

/** Columns that an error needs. */
const READABLE = 30;

export async function lookInto(manager: QueueManager, connection: QueueConnection, queue: string): Promise<QueueLook> {
  const snapshot = await connection.snapshot({ queues: [queue] });
  const now = snapshot.at.getTime();
  const failures = table(
    async () => errorGroups(await manager.failed.list({ connection: connection.name, queue, limit: GROUPED })),
    (groups) =>
      `Why the newest ${counted(
        groups.reduce((sum, { count }) => sum + count, 0),
        'failed job',
      )} failed`,
    ['jobs', 'class', 'last', 'error'],
    ({ count, name, newest }) => [
      { text: count, tone: 'bad' },
      name,
      agoText(newest.failedAt, now),
      newest.exception.split('\n', 1)[0],
    ],
  );
  const next = (state: 'ready' | 'delayed', heading: string, when: (job: ListedJob) => string) =>
    table(
      async () => (await connection.jobs(queue, { state, limit: FEW })).jobs,
      () => `The next that are ${state}`,
      ['id', 'attempts', heading, 'job'],
      (job) => [job.id ?? '(none yet)', job.attempts, when(job), job.name],
    );
  const parts = await Promise.all([
    failures,
    next('ready', 'sent', ({ createdAt }) => (createdAt === undefined ? '' : agoText(createdAt, now))),
    next('delayed', 'ready at', ({ at }) => (at === undefined ? '' : `in ${shortSpanText(at.getTime() - now)}`)),
  ]);
  return {
    snapshot,
    lines(columns, isColored) {
      const [why = [], ...coming] = parts.map((part) => part(columns, isColored));
      const runs = runningLines(snapshot, columns, queue);
      const running = runs.length === 0 ? [] : ['', 'What runs', ...runs.slice(0, FEW + 1)];
      return [titleOf(snapshot, queue), ...why, ...running, ...coming.flat()];
    },
  };
}

type Lines = (columns: number, isColored: boolean) => readonly string[];

/** A part of the screen: nothing if there are no rows, and why they could not be read if that is so. */
async function table<Row>(
  read: () => Promise<readonly Row[]>,
  title: (rows: readonly Row[]) => string,
  headings: readonly string[],
  cells: (row: Row) => Cell[],
): Promise<Lines> {
  try {
    const rows = await read();
    if (rows.length === 0) return () => [];
    const shown = rows.slice(0, FEW).map(cells);
    return (columns, isColored) => {
      const lines = formatTable(headings, shown, columns - INDENT.length, isColored, READABLE);
      return ['', title(rows), ...indented(lines)];
    };
  } catch (error) {
    const [sentence = ''] = errorText(error).split('\n');
    return () => ['', oneLine(sentence)];
  }
}

const INDENT = '   ';

const indented = (lines: string): readonly string[] => lines.split('\n').map((line) => INDENT + line);

function titleOf({ connection, at, queues }: Snapshot, queue: string): string {
  const [{ ready, delayed, running, failed, failures = 0, oldestWait, isPaused, limit } = queues[0]!] = queues;
  const facts = [
    `${ready} ready`,
    `${delayed} delayed`,
    `${running} running${limit === undefined ? '' : ` of at most ${limit}`}`,
    ...(failed === undefined ? [] : [`${failed} failed`]),
    ...(failures === 0 ? [] : [`${failures} in 5 min`]),
    ...(oldestWait === undefined ? [] : [`the oldest waits ${shortSpanText(oldestWait * 1000)}`]),
    ...(isPaused ? ['paused'] : []),
  ];
  return [`${connection}, queue ${oneLine(queue)}`, momentText(at), facts.join(', ')].join('   ');
}

/**
 * Longest-running first. Those of one class, queue and worker share a line with the one that has run longest. @param only of this
 * queue of the connection
 */
export function runningLines(
  { workers = [], at, queues, connection, isExact }: Snapshot,
  columns = Infinity,
  only?: string,
): readonly string[] {
  // A worker tells what it runs every five seconds; the store knows at once that nothing does any more.
  const idle = new Set(isExact ? queues.filter(({ running }) => running === 0).map(({ queue }) => queue) : []);
  const running = runsOf(workers)
    .map(({ worker, job }) => ({ ...job, of: worker.connection, worker: labelOf(worker) }))
    .filter(({ queue, of }) => !(of === connection && idle.has(queue)))
    .filter(({ queue, of }) => only === undefined || (of === connection && queue === only))
    .toSorted((a, b) => a.since.getTime() - b.since.getTime());
  if (running.length === 0) return [];
  const span = (since: Date): Milliseconds => Math.max(at.getTime() - since.getTime(), 0);
  const alike = groupsOf(running, ({ name, queue, worker }) => JSON.stringify([name, queue, worker])).values();
  const rows = Array.from(alike, (group) => {
    const { name, id, queue, attempt, since, worker } = group[0]!;
    const more = group.length === 1 ? '' : ` and ${group.length - 1} more`;
    return [
      shortSpanText(span(since)),
      attempt,
      oneLine(name) + more,
      ...[queue, worker, id].map((text) => oneLine(text)),
    ];
  });
  return indented(formatTable(['for', 'attempt', 'job', 'queue', 'worker', 'id'], rows, columns - INDENT.length));
}
