/**
 * The record that each worker keeps of itself in the store: rewritten every five seconds, it expires a minute after the last
 * time. Whoever asks for workers reads these records, and asks no worker.
 */
import type { Application } from '../connections/application';
import { timeOf, type Milliseconds, type Seconds } from '../base/clock';
import type { Connection } from '../connections/contract';
import { recordsOf, type RecordStore } from '../connections/record-store';
import { fieldsIn, isRecord } from '../payload/values';

/** A running job, as its worker's record shows it: never its data. */
export interface WorkersJob {
  readonly id: string;
  readonly name: string;
  readonly queue: string;
  /** Which attempt this is; the first is 1. */
  readonly attempt: number;
  /** Grows with each reservation of the job. Undefined if an earlier version runs it. */
  readonly fence?: number | undefined;
  readonly since: Date;
}

/** A worker, as its record shows it. All moments are by the store's clock. */
export interface RunningWorker {
  /** The id of this run of the worker. */
  readonly id: string;
  /** As it was given, or the name of the host and a random part. The processes of one supervisor may share a given name. */
  readonly name: string;
  readonly host: string;
  readonly pid: number;
  /** The version of Onqueue. */
  readonly version: string;
  readonly connection: string;
  readonly queues: readonly string[];
  /** How many jobs it runs concurrently. */
  readonly concurrency: number;
  readonly state: 'running' | 'stopping';
  /** When it began. */
  readonly since: Date;
  /** When it last reported. */
  readonly heardAt: Date;
  /** Seconds since then. If more than 10, it is stuck, its store was unreachable, or its process has died. */
  readonly silentFor: Seconds;
  /** How late its event loop was. */
  readonly lag: Milliseconds;
  /** The paused ones among its queues. */
  readonly paused: readonly string[];
  /** How many runs ended with which outcome since it began. */
  readonly outcomes: Readonly<Record<'completed' | 'released' | 'failed' | 'cancelled' | 'lost', number>>;
  /** How many of its slots are occupied. */
  readonly busy: number;
  /** The jobs in these slots, at most 50. */
  readonly running: readonly WorkersJob[];
  /**
   * A job whose next crash would be its last: it waits, for ten seconds at most, until the others have ended, so that it runs
   * alone. Meanwhile the worker takes no job.
   */
  readonly waiting?: Omit<WorkersJob, 'since'> | undefined;
}

/** Seconds after which a worker is silent: it has missed a record. */
const SILENT: Seconds = 10;

export const isSilent = ({ silentFor }: RunningWorker): boolean => silentFor > SILENT;

/** What histories and people call it: `mail-1:4711`. */
export const labelOf = ({ name, pid }: { readonly name: string; readonly pid: number | undefined }): string =>
  `${name}:${String(pid)}`;

/** The present moment by the store's clock, like all moments of the record: ours may be off. */
export function nowOf({ heardAt, silentFor }: RunningWorker): Milliseconds {
  return heardAt.getTime() + silentFor * 1000;
}

export function ageOf(worker: RunningWorker, moment: Date): Milliseconds {
  return Math.max(nowOf(worker) - moment.getTime(), 0);
}

/** A report as the worker writes it. */
export interface WorkerReport extends Omit<RunningWorker, 'name' | 'since' | 'heardAt' | 'silentFor' | 'running'> {
  /** Absent in those of earlier versions. */
  readonly name?: string | undefined;
  /** By the store's clock. */
  readonly at: Milliseconds;
  readonly since: Milliseconds;
  readonly running: readonly (Omit<WorkersJob, 'since'> & { readonly since: Milliseconds })[];
}

const KIND = 'workers';
/** How often it is written. */
export const BEAT: Milliseconds = 5000;
/** A worker that is silent for longer is gone. */
const KEPT: Seconds = 60;
const MOST_RUNNING = 50;
/** The record of a worker with this many may not name all. */
export const MOST_QUEUES = 100;
/** Names are cut after this many characters. */
const LONGEST_NAME = 100;
const PAGE = 100;
/** Of a larger fleet only a part is listed. */
const MOST_WORKERS = 1000;

export function putWorker(records: RecordStore, report: WorkerReport): Promise<void> {
  const { id, queues, paused, running, waiting } = report;
  const bounded = {
    ...report,
    queues: queues.slice(0, MOST_QUEUES).map(shortened),
    paused: paused.slice(0, MOST_QUEUES).map(shortened),
    running: running.slice(0, MOST_RUNNING).map(shortenedJob),
    waiting: waiting && shortenedJob(waiting),
  };
  return records.put([{ kind: KIND, id, value: JSON.stringify(bounded) }], KEPT);
}

export function removeWorker(records: RecordStore, id: string): Promise<void> {
  return records.put([{ kind: KIND, id, value: '' }], 0);
}

/**
 * The workers that have reported within the last minute, oldest first, at most 1000.
 *
 * @throws E_NO_RECORDS nothing keeps records for this connection
 */
export async function listWorkers(connection: Connection, application: Application): Promise<RunningWorker[]> {
  const store = application.neededOperationsOf(connection);
  const now = await timeOf(store, application.clock);
  const found = new Map<string, RunningWorker | undefined>();
  const read = async (to: number): Promise<void> => {
    const records = recordsOf(store.records, KIND, { page: PAGE, to });
    for await (const { id, value } of records) found.set(id, workerOf(value, now));
  };
  await read(MOST_WORKERS);
  // Records that were written meanwhile have moved to the front, and may have been on no page.
  if (found.size >= PAGE) await read(PAGE);
  return [...found.values()]
    .filter((worker) => worker !== undefined)
    .toSorted((a, b) => a.since.getTime() - b.since.getTime() || (a.id < b.id ? -1 : 1));
}

/** A job and the worker that runs it. */
export interface WorkersRun {
  readonly worker: RunningWorker;
  readonly job: WorkersJob;
}

/**
 * What these workers run, each job once: the record of a process that has died names its jobs for a minute, while another worker
 * may have taken them since.
 */
export function runsOf(workers: readonly RunningWorker[]): readonly WorkersRun[] {
  const latest = new Map<string, WorkersRun>();
  for (const worker of workers)
    for (const job of worker.running) {
      const key = JSON.stringify([worker.connection, job.queue, job.id]);
      const known = latest.get(key);
      if (known === undefined || known.job.since <= job.since) latest.set(key, { worker, job });
    }
  return [...latest.values()];
}

/** Undefined if another version wrote it, and this one cannot read it. */
function workerOf(text: string, now: Milliseconds): RunningWorker | undefined {
  const report: unknown = fieldsIn(text);
  if (!isReport(report)) return undefined;
  const { at, since, running, ...told } = report;
  return {
    ...told,
    name: typeof told.name === 'string' ? told.name : told.host,
    since: new Date(since),
    heardAt: new Date(at),
    silentFor: Math.max(0, Math.round(now - at) / 1000),
    running: running.map((job) => ({ ...job, since: new Date(job.since) })),
  };
}

function isReport(report: unknown): report is WorkerReport {
  return (
    isRecord(report) &&
    ['at', 'since', 'pid', 'concurrency', 'lag', 'busy'].every((field) => typeof report[field] === 'number') &&
    ['id', 'host', 'version', 'connection', 'state'].every((field) => typeof report[field] === 'string') &&
    ['queues', 'paused'].every((field) => Array.isArray(report[field])) &&
    (report['waiting'] === undefined || isRecord(report['waiting'])) &&
    Array.isArray(report['running']) &&
    report['running'].every(isRecord) &&
    isRecord(report['outcomes'])
  );
}

/** A name or an id as records contain it. */
export const shortened = (name: string): string => name.slice(0, LONGEST_NAME);

function shortenedJob<Job extends Omit<WorkersJob, 'since'>>(job: Job): Job {
  return { ...job, id: shortened(job.id), name: shortened(job.name), queue: shortened(job.queue) };
}
