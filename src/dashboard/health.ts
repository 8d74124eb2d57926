/** What is wrong, as far as queues, workers and schedules tell: the rules by which the overview says that all is well. */
import type { Milliseconds, Seconds } from '../base/clock';
import { type QueueSnapshot, type Snapshot, totalsOf } from '../operations/snapshot';
import { isSilent, type RunningWorker } from '../operations/worker-record';
import type { ScheduleListing } from '../schedule/schedules';
import { address } from './addresses';
import { html, type Html } from './html';
import { queueLink } from './parts/links';
import { capitalised, counted, secondsText, someOf } from './parts/text';

export interface Finding {
  /** `bad`: somebody should look now. */
  readonly tone: 'bad' | 'warn';
  readonly text: Html;
}

const bad = (text: Html): Finding => ({ tone: 'bad', text });
const warn = (text: Html): Finding => ({ tone: 'warn', text });

/** A ready job that waits longer than this is late. */
const LATE: Seconds = 60;
const VERY_LATE: Seconds = 600;
/** Leases are renewed by the event loop, so it must not be late. */
export const SLOW_LOOP: Milliseconds = 1000;

/** @param needsWorkers its jobs run only in workers */
export function findingsIn(snapshot: Snapshot, needsWorkers: boolean): readonly Finding[] {
  const { connection, queues, workers } = snapshot;
  const own = workers?.filter((worker) => worker.connection === connection);
  // Nothing waits yet, but nothing would run either.
  const isIdle = needsWorkers && own?.length === 0 && queues.every(({ ready }) => ready === 0);
  const found = [
    isIdle
      ? warn(
          html`No worker runs on <bdi>${connection}</bdi>. Start one with <code>npx onqueue work ${connection}</code>.`,
        )
      : undefined,
    ...(own ?? []).map(workerFinding),
    ...queues.map((queue) => queueFinding(connection, queue, own)),
    failureFinding(connection, queues),
    failedFinding(connection, queues),
  ].filter((finding) => finding !== undefined);
  return found.toSorted((a, b) => Number(b.tone === 'bad') - Number(a.tone === 'bad'));
}

/** For all queues together: many that fail must not hide a worker that is silent. */
function failureFinding(connection: string, queues: readonly QueueSnapshot[]): Finding | undefined {
  const failing = queues.filter(({ failures = 0 }) => failures > 0);
  if (failing.length === 0) return undefined;
  const { failures: count } = totalsOf(failing);
  const named = someOf(failing, 3, ({ queue }) => queueLink({ connection, queue }), 'queue');
  return bad(html`${counted(count, 'failure')} in the last five minutes, in ${named}.`);
}

export function scheduleFindings(schedules: readonly ScheduleListing[]): readonly Finding[] {
  return schedules.filter(isNeglected).map(({ name, problem }) => {
    const why = problem === undefined ? 'no worker sends it' : problem.message;
    return warn(html`<a href="${address('schedules')}"><bdi>${name}</bdi></a> is not being sent: ${why}.`);
  });
}

/** A schedule that should send jobs, but does not. */
export function isNeglected({ declared, isKept, problem, pausedAt }: ScheduleListing): boolean {
  return problem !== undefined || (declared !== undefined && !isKept && pausedAt === undefined);
}

/** Whether its jobs wait too long, although it is not paused. */
export function hasLateJobs({ isPaused, oldestWait = 0 }: QueueSnapshot): boolean {
  return !isPaused && oldestWait >= LATE;
}

/** What can be said if nothing was found: not more than what was examined. */
export function wellText(snapshots: readonly Snapshot[]): string {
  const queues = snapshots.flatMap((snapshot) => snapshot.queues);
  const isCounted = queues.every(({ failures }) => failures !== undefined);
  const isKept = queues.every(({ failed }) => failed !== undefined);
  const text = [
    ...(isCounted ? ['no failures in the last five minutes'] : []),
    ...(isKept ? ['no failed jobs'] : []),
    'nothing has waited longer than a minute',
  ].join(', ');
  return `${capitalised(text)}.`;
}

/** For all queues together. Figures are late and expire, but failed jobs stay until somebody deals with them. */
function failedFinding(connection: string, queues: readonly QueueSnapshot[]): Finding | undefined {
  const { failed: count } = totalsOf(queues);
  if (count === 0) return undefined;
  const jobs = html`<a href="${address('failed', { connection })}">${counted(count, 'failed job')}</a>`;
  return warn(html`${jobs} on <bdi>${connection}</bdi> ${count === 1 ? 'waits' : 'wait'} to be retried or forgotten.`);
}

function queueFinding(
  connection: string,
  { queue, ready, oldestWait = 0, isPaused }: QueueSnapshot,
  workers: readonly RunningWorker[] | undefined,
): Finding | undefined {
  const name = queueLink({ connection, queue });
  const waits = html`${counted(ready, 'job waits', 'jobs wait')} in ${name}`;
  if (isPaused) return ready > 0 ? warn(html`${waits}, which is paused.`) : undefined;
  const isWorked = workers?.some(({ queues }) => queues.includes(queue)) ?? true;
  if (ready > 0 && !isWorked) return bad(html`${waits}, but no worker works on it.`);
  if (oldestWait < LATE) return undefined;
  const wait = secondsText(oldestWait);
  if (ready === 0) return bad(html`A delayed job in ${name} has been due for ${wait}, but no worker takes it.`);
  const tell = oldestWait >= VERY_LATE ? bad : warn;
  return tell(html`${waits}, the oldest for ${wait}.`);
}

function workerFinding(worker: RunningWorker): Finding | undefined {
  const { host, pid, silentFor, lag } = worker;
  const name = html`<a href="${address('workers')}"><bdi>${host}</bdi> ${String(pid)}</a>`;
  if (isSilent(worker)) return bad(html`The worker ${name} has been silent for ${secondsText(silentFor)}.`);
  if (lag < SLOW_LOOP) return undefined;
  return warn(html`The event loop of the worker ${name} is blocked: it is ${secondsText(lag / 1000)} late.`);
}
