/** What is kept of the attempts of a job: the text of its record, which is bounded; and what a supervisor saw of the deaths of its workers. */
import type { Milliseconds, Seconds } from '../../base/clock';
import { countersIn, fenceOf, noCounters, type Counters } from '../../payload/counters';
import { fieldsIn, isRecord } from '../../payload/values';
import type { Application } from '../../connections/application';
import type { Connection } from '../../connections/contract';
import { LONGEST_ID, type RecordStore } from '../../connections/record-store';
import type { Duration } from '../../job/duration';
import type { ChainedJob } from '../../job/job-context';
import { shownJob } from '../listed-job';

/** `lost`: the store refused its outcome. `crashed`: its worker died, or froze until another one had the job. */
export type AttemptOutcome = 'failed' | 'timed-out' | 'crashed' | 'lost' | 'cancelled' | 'completed';

/** The place in the source that an error came from. */
export interface SourceLines {
  readonly file: string;
  readonly line: number;
  /** The number of the first of `lines`. */
  readonly from: number;
  /** Up to seven lines, with that one in the middle. */
  readonly lines: readonly string[];
}

/** One attempt of a job, as users see it. */
export interface Attempt {
  /** 1 for the first attempt. Attempts that cost no try have the number of the next one. */
  readonly attempt: number;
  /** The fence of the reservation, which tells attempts apart. */
  readonly fence: number;
  readonly outcome: AttemptOutcome;
  /**
   * When it ended, by the clock of the worker or supervisor that reports it, or of whoever cancelled it while it waited. For a crash
   * that no supervisor has seen, when it was noticed.
   */
  readonly at: Date;
  /** How long it ran. Undefined if unknown. */
  readonly ms?: Milliseconds | undefined;
  /** The name of the worker and its process id. Undefined if unknown. */
  readonly worker?: string | undefined;
  /** The signal that ended its worker, such as `SIGKILL`. */
  readonly signal?: string | undefined;
  /** One line. */
  readonly error?: string | undefined;
  /** With causes; cut if it is very long. */
  readonly stack?: string | undefined;
  readonly source?: SourceLines | undefined;
}

/** An attempt as it is stored. */
export interface KeptAttempt extends Omit<Attempt, 'at'> {
  readonly at: Milliseconds;
}

/** What is kept of one job. */
export interface JobHistory {
  readonly name: string;
  readonly connection: string;
  readonly queue: string;
  /** Of a completed job: the jobs that followed it, as far as they are kept. */
  readonly chain?: readonly ChainedJob[] | undefined;
  /** How many crashes and timeouts it already contains, by the counters of the job. */
  readonly told: Told;
  /** Sorted by their fences. */
  readonly attempts: readonly KeptAttempt[];
}

type Told = Pick<Counters, 'crashes' | 'timeouts'>;

interface Run {
  readonly fence: number;
  /** The counters that the job was reserved with. */
  readonly counters: Counters;
}

/** A run to add to a history. */
export interface ToldRun extends Run {
  readonly at: Milliseconds;
  /** Undefined if the run itself is not worth keeping. */
  readonly attempt: KeptAttempt | undefined;
}

export const HISTORY = 'history';
export const COMPLETED = 'completed';
export const PROGRESS = 'progress';

export const HISTORY_KEPT: Seconds = 7 * 24 * 60 * 60;
export const MOST_KEPT = 10_000;

const COMPLETED_KEPT: Duration = '1h';

/** How long workers with this configuration remember completed jobs. Undefined if they do not. */
export function completedKept({
  configuration: { history },
}: Pick<Application, 'configuration'>): Duration | undefined {
  const { completed = COMPLETED_KEPT } = history === false ? { completed: false as const } : (history ?? {});
  return completed === false ? undefined : completed;
}

/**
 * Forgets that a job has completed, before one with its id goes to a queue again: that one has not. Never rejects: no job waits for
 * what is only looked at.
 */
export async function forgetCompleted(application: Application, connection: Connection, id: string): Promise<void> {
  const records = completedKept(application) === undefined ? undefined : application.operationsOf(connection)?.records;
  if (records === undefined || id === '' || id.length > LONGEST_ID) return;
  await records.put([{ kind: COMPLETED, id, value: '' }], 0).catch(() => undefined);
}

/** A job that was cancelled while it waited. */
interface CancelledJob {
  readonly id: string;
  readonly queue: string;
  readonly payload: Buffer;
  readonly reason: string | undefined;
}

/**
 * Keeps what the job was, and that it was cancelled: no worker has seen its end. Not its data, which may be as large and as secret
 * as a payload may be. Never rejects, as above.
 */
export async function keepCancelled(
  application: Application,
  connection: Connection,
  { id, queue, payload, reason }: CancelledJob,
): Promise<void> {
  const isKept = application.configuration.history !== false && id.length <= LONGEST_ID;
  const records = isKept ? application.operationsOf(connection)?.records : undefined;
  if (records === undefined) return;
  const { name, attempts } = shownJob(payload, application);
  const counters = countersIn(payload) ?? noCounters;
  // It would have been the next attempt.
  const [fence, at] = [fenceOf(counters) + 1, application.clock.now()];
  const attempt: KeptAttempt = { attempt: attempts + 1, fence, at, outcome: 'cancelled', error: reason };
  try {
    const before = readHistory(await records.get(HISTORY, id)) ?? { told: { crashes: 0, timeouts: 0 }, attempts: [] };
    const history = { name, connection: connection.name, queue, told: before.told, attempts: before.attempts };
    const deaths = counters.crashes > history.told.crashes ? await deathsOf(records, id) : [];
    const value = historyText(withRun(history, { fence, counters, at, attempt }, deaths));
    await records.put([{ kind: HISTORY, id, value }], HISTORY_KEPT, MOST_KEPT);
  } catch {
    // The job is gone; only its story is shorter.
  }
}

/** Bytes of a record. */
const MOST_BYTES = 16 * 1024;

/**
 * How many attempts are added that are only known by counters: more would not fit into a record, and foreign programs may have
 * written the counters.
 */
const MOST_UNSAID = 100;

const UNSAID = {
  crashed: 'Its worker died, or was silent until another one had the job.',
  'timed-out': 'It blocked the event loop of its worker, which could not report more.',
} as const;

/** @param deaths what is known of crashes, oldest first; those that the counters do not confirm are left out */
export function withRun(history: JobHistory, run: ToldRun, deaths: readonly Death[] = []): JobHistory {
  const { told, attempts } = history;
  const { fence, counters, attempt } = run;
  const own = attempt === undefined ? [] : [attempt];
  const last = attempts.at(-1)?.fence ?? 0;
  // A later run, whose worker was quicker to write, has already added them.
  if (fence <= last) return { ...history, attempts: joined(attempts, own) };
  const untold = [...crashes(run, counters.crashes - told.crashes, deaths, last)];
  untold.push(...unsaid('timed-out', run, counters.timeouts - told.timeouts, untold.length));
  const timeouts = counters.timeouts + (attempt?.outcome === 'timed-out' ? 1 : 0);
  return {
    ...history,
    told: { crashes: counters.crashes, timeouts },
    attempts: joined(attempts, [...untold, ...own]),
  };
}

/** As many crashes as the counters tell of, each as it was seen if somebody saw it. */
function crashes(run: ToldRun, count: number, deaths: readonly Death[], last: number): readonly KeptAttempt[] {
  if (count <= 0) return [];
  const seen = deaths.filter(({ fence }) => fence > last && fence < run.fence).slice(-count);
  const told = seen.map(({ fence, at, worker, signal, code }): KeptAttempt => {
    const end = signal === undefined ? `ended with code ${String(code)}` : `was ended by ${signal}`;
    return {
      attempt: run.counters.attempts,
      fence,
      outcome: 'crashed',
      at,
      worker,
      signal,
      error: `Its worker ${end}.`,
    };
  });
  const fences = new Set(seen.map(({ fence }) => fence));
  const others = unsaid('crashed', run, count).filter(({ fence }) => !fences.has(fence));
  return [...told, ...others.slice(0, count - told.length)];
}

/** @param nearer how many attempts lie between these and the run */
function unsaid(
  outcome: keyof typeof UNSAID,
  { fence, at, counters }: ToldRun,
  count: number,
  nearer = 0,
): readonly KeptAttempt[] {
  // A retry sets the counters to 0; then the difference means nothing.
  const shown = Math.max(0, Math.min(count, fence - 1 - nearer, MOST_UNSAID));
  return Array.from({ length: shown }, (_, index) => ({
    attempt: counters.attempts,
    fence: fence - 1 - nearer - index,
    at,
    outcome,
    error: UNSAID[outcome],
  }));
}

/** If both have an attempt for one reservation, keeps the earlier one. */
function joined(before: readonly KeptAttempt[], after: readonly KeptAttempt[]): readonly KeptAttempt[] {
  const attempts = new Map(before.map((one) => [one.fence, one]));
  for (const one of after) if (attempts.get(one.fence)?.ms === undefined) attempts.set(one.fence, one);
  return [...attempts.values()].toSorted((a, b) => a.fence - b.fence);
}

/** The text of the record. If it is too long, the oldest attempts first lose their stacks, and then go. */
export function historyText(history: JobHistory): string {
  let attempts = [...history.attempts];
  const written = (): string => JSON.stringify({ ...history, attempts });
  let text = written();
  for (let place = 0; place < attempts.length - 1 && isTooLong(text); place += 1) {
    const { stack: _stack, source: _source, ...rest } = attempts[place]!;
    attempts[place] = rest;
    text = written();
  }
  while (attempts.length > 1 && isTooLong(text)) {
    attempts = attempts.slice(Math.ceil(attempts.length / 8));
    text = written();
  }
  return text;
}

const isTooLong = (text: string): boolean => Buffer.byteLength(text) > MOST_BYTES;

/** Undefined if there is no history, or none that this version understands. */
export function readHistory(text: string | undefined): JobHistory | undefined {
  const read = fieldsIn(text);
  return Array.isArray(read?.['attempts']) ? (read as unknown as JobHistory) : undefined;
}

export function attemptOf({ at, ...facts }: KeptAttempt): Attempt {
  return { ...facts, at: new Date(at) };
}

/**
 * The error of the last attempt before the given run. Undefined if none is kept, or if that attempt was a timeout that its
 * worker could not report.
 */
export function lastErrorIn(
  { told, attempts }: JobHistory,
  { fence, counters }: Run,
  retriedAt: number,
): Error | undefined {
  const last = attempts.findLast(({ outcome }) => outcome === 'failed' || outcome === 'timed-out');
  if (last?.error === undefined || counters.timeouts > told.timeouts) return undefined;
  if (last.fence <= retriedAt || last.fence >= fence) return undefined;
  const [, name = '', message = ''] = /^([^:]*): (.*)$/s.exec(last.error) ?? [];
  return Object.assign(new Error(message), { name, stack: last.stack ?? last.error });
}

/** The death of a worker's process while it ran a job. */
export interface Death {
  /** The fence of the job at that time. */
  readonly fence: number;
  /** By the supervisor's clock. */
  readonly at: Milliseconds;
  readonly worker: string;
  readonly signal?: string | undefined;
  readonly code?: number | undefined;
}

const KIND = 'deaths';
const KEPT: Seconds = 24 * 60 * 60;
const MOST_JOBS = 10_000;
/** More crashes than this are rare, because they are poison. */
const MOST = 20;

/** @throws what the store throws */
export async function keepDeath(records: RecordStore, id: string, death: Death): Promise<void> {
  if (id.length > LONGEST_ID) return;
  const all = [...(await deathsOf(records, id)), death].slice(-MOST);
  await records.put([{ kind: KIND, id, value: JSON.stringify({ deaths: all }) }], KEPT, MOST_JOBS);
}

/** Oldest first. @throws what the store throws */
export async function deathsOf(records: RecordStore, id: string): Promise<readonly Death[]> {
  const deaths = fieldsIn(await records.get(KIND, id))?.['deaths'];
  return Array.isArray(deaths) ? deaths.filter(isDeath) : [];
}

function isDeath(death: unknown): death is Death {
  if (!isRecord(death)) return false;
  const { fence, at, worker } = death;
  return typeof fence === 'number' && typeof at === 'number' && typeof worker === 'string';
}
