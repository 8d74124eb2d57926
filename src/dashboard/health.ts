/** What is wrong, as far as queues, workers and schedules tell: the rules by which the overview says that all is well. */
import type { Seconds } from '../base/clock';
import type { QueueSnapshot, Snapshot } from '../operations/snapshot';
import type { RunningWorker } from '../operations/worker-record';
import type { ScheduleListing } from '../schedule/schedules';
import { address } from './addresses';
import { html, type Html } from './html';
import { counted } from './parts/number';
import { secondsText } from './parts/time';

export interface Finding {
  /** `bad`: somebody should look now. */
  readonly tone: 'bad' | 'warn';
  readonly text: Html;
}

/** A job that is ready and waits for longer is late. */
const LATE: Seconds = 60;
const VERY_LATE: Seconds = 600;
/** A worker writes of itself each five seconds. */
const SILENT: Seconds = 10;
/** Milliseconds: leases are renewed by an event loop that is late. */
const SLOW_LOOP = 1000;

export function findingsIn(snapshot: Snapshot): readonly Finding[] {
  const { connection, queues, workers } = snapshot;
  const own = workers?.filter((worker) => worker.connection === connection);
  return [
    ...queues.flatMap((queue) => queueFindings(connection, queue, own)),
    ...failedFindings(connection, queues),
    ...(own ?? []).flatMap(workerFindings),
  ].toSorted((a, b) => Number(b.tone === 'bad') - Number(a.tone === 'bad'));
}

export function scheduleFindings(schedules: readonly ScheduleListing[]): readonly Finding[] {
  return schedules.filter(isNeglected).map(({ name, problem }) => ({
    tone: 'warn',
    text: html`<a href="${address('schedules')}"><bdi>${name}</bdi></a> is sent by nobody: ${problem === undefined ? 'no worker keeps it' : problem.message}.`,
  }));
}

/** Nobody sends it, though it is to be sent. */
export function isNeglected({ declared, isKept, problem, pausedAt }: ScheduleListing): boolean {
  return problem !== undefined || (declared !== undefined && !isKept && pausedAt === undefined);
}

/** What may be said where nothing was found: no more than what these have looked at. */
export function wellText(snapshots: readonly Snapshot[]): string {
  const queues = snapshots.flatMap((snapshot) => snapshot.queues);
  const isCounted = queues.every(({ failures }) => failures !== undefined);
  const isKept = queues.every(({ failed }) => failed !== undefined);
  const text = [
    ...(isCounted ? ['nothing has failed within the last five minutes'] : []),
    ...(isKept ? ['no failed job is left'] : []),
    'nothing waits for longer than a minute',
  ].join(', ');
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;
}

/** Of all queues together: figures are late and forget, and these stay until somebody has dealt with them. */
function failedFindings(connection: string, queues: readonly QueueSnapshot[]): readonly Finding[] {
  const count = queues.reduce((sum, { failed = 0 }) => sum + failed, 0);
  if (count === 0) return [];
  const jobs = html`<a href="${address('failed', { connection })}">${counted(count, 'failed job')}</a>`;
  return [
    {
      tone: 'warn',
      text: html`${jobs} on <bdi>${connection}</bdi> ${count === 1 ? 'waits' : 'wait'} to be retried or forgotten.`,
    },
  ];
}

function queueFindings(
  connection: string,
  { queue, ready, oldestWait = 0, failures = 0, isPaused }: QueueSnapshot,
  workers: readonly RunningWorker[] | undefined,
): readonly Finding[] {
  const name = html`<a href="${address('queue', { connection, queue })}"><bdi>${queue}</bdi></a>`;
  const found: Finding[] = [];
  const isWorked = workers?.some(({ queues }) => queues.includes(queue)) ?? true;
  const waits = html`${counted(ready, 'job waits', 'jobs wait')} in ${name}`;
  if (ready > 0 && isPaused) found.push({ tone: 'warn', text: html`${waits}, which is paused.` });
  else if (ready > 0 && !isWorked) found.push({ tone: 'bad', text: html`${waits}, and no worker works it.` });
  else if (oldestWait >= LATE)
    found.push({
      tone: oldestWait >= VERY_LATE ? 'bad' : 'warn',
      text: html`${waits}, the first for ${secondsText(oldestWait)}.`,
    });
  if (failures > 0) {
    const failed = html`<a href="${address('failed', { connection, queue })}">${counted(failures, 'failure')}</a>`;
    found.push({
      tone: 'bad',
      text: html`${failed} in ${name} within the last five minutes.`,
    });
  }
  return found;
}

function workerFindings({ host, pid, silentFor, lag }: RunningWorker): readonly Finding[] {
  const name = html`<a href="${address('workers')}"><bdi>${host}</bdi> ${String(pid)}</a>`;
  if (silentFor > SILENT)
    return [{ tone: 'bad', text: html`The worker ${name} is silent for ${secondsText(silentFor)}.` }];
  if (lag >= SLOW_LOOP)
    return [
      {
        tone: 'warn',
        text: html`The worker ${name} is late by ${secondsText(lag / 1000)}: its event loop is blocked.`,
      },
    ];
  return [];
}
