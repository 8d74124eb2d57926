/**
 * What each worker keeps of itself in the store: a record that it writes anew every five seconds, and that ends by itself a minute after
 * the last one. Whoever asks which workers there are reads these, and asks no worker.
 */
import type { Milliseconds, Seconds } from '../base/clock';
import type { Connection } from '../connections/contract';
import { fieldsIn, type RecordStore } from '../connections/record-store';
import { isRecord } from '../payload/kinds';
import type { SeenApplication } from './listed-job';

/** A job that runs, as its worker's record has it: never its data. */
export interface WorkersJob {
  readonly id: string;
  readonly name: string;
  readonly queue: string;
  /** Which run of it this is: 1 is the first. */
  readonly attempt: number;
  readonly since: Date;
}

/** A worker, as its record has it. All moments are by the clock of the store. */
export interface RunningWorker {
  /** Of this run of it. */
  readonly id: string;
  readonly host: string;
  readonly pid: number;
  /** Of Onqueue. */
  readonly version: string;
  readonly connection: string;
  readonly queues: readonly string[];
  /** Jobs at once. */
  readonly concurrency: number;
  readonly state: 'running' | 'stopping';
  /** When it began. */
  readonly since: Date;
  /** When it was last heard of. */
  readonly heardAt: Date;
  /** Seconds since then. More than 10: it is stuck, its store was away, or its process has died. */
  readonly silentFor: Seconds;
  /** How late its event loop was. */
  readonly lag: Milliseconds;
  /** Those of its queues that are paused. */
  readonly paused: readonly string[];
  /** How many runs ended in which way since it began. */
  readonly outcomes: Readonly<Record<'completed' | 'released' | 'failed' | 'cancelled' | 'lost', number>>;
  /** How many jobs have a slot. */
  readonly busy: number;
  /** These jobs, 50 at most. */
  readonly running: readonly WorkersJob[];
}

/** As a worker writes it: what it says, and when. */
export interface WorkerReport extends Omit<RunningWorker, 'since' | 'heardAt' | 'silentFor' | 'running'> {
  /** By the clock of the store. */
  readonly at: Milliseconds;
  readonly since: Milliseconds;
  readonly running: readonly (Omit<WorkersJob, 'since'> & { readonly since: Milliseconds })[];
}

const KIND = 'workers';
/** So often it is written. */
export const BEAT: Milliseconds = 5000;
/** A worker that is silent for longer is gone. */
const KEPT: Seconds = 60;
const MOST_RUNNING = 50;
const MOST_QUEUES = 100;
/** Characters of a name: of a longer one its beginning tells enough. */
const LONGEST_NAME = 100;
const PAGE = 100;
/** A fleet of more is shown in part. */
const MOST_WORKERS = 1000;

export function putWorker(records: RecordStore, report: WorkerReport): Promise<void> {
  const { id, queues, paused, running } = report;
  const bounded = {
    ...report,
    queues: queues.slice(0, MOST_QUEUES).map(shortened),
    paused: paused.slice(0, MOST_QUEUES).map(shortened),
    running: running
      .slice(0, MOST_RUNNING)
      .map((job) => ({ ...job, id: shortened(job.id), name: shortened(job.name), queue: shortened(job.queue) })),
  };
  return records.put([{ kind: KIND, id, value: JSON.stringify(bounded) }], KEPT);
}

export function removeWorker(records: RecordStore, id: string): Promise<void> {
  return records.put([{ kind: KIND, id, value: '' }], 0);
}

/**
 * Those that have been heard of within the last minute: those that began first come first. At most 1000.
 *
 * @throws E_NO_RECORDS nothing keeps records for this connection
 */
export async function listWorkers(connection: Connection, application: SeenApplication): Promise<RunningWorker[]> {
  const store = application.neededOperationsOf(connection);
  const now = (await store.now?.()) ?? application.clock.now();
  const found = new Map<string, RunningWorker>();
  const read = async (offset: number): Promise<boolean> => {
    const page = await store.records.list(KIND, { limit: PAGE, offset });
    for (const { id, value } of page) {
      const worker = workerOf(value, now);
      if (worker !== undefined) found.set(id, worker);
    }
    return page.length === PAGE;
  };
  let offset = 0;
  for (let isMore = true; isMore && offset < MOST_WORKERS; offset += PAGE) isMore = await read(offset);
  // What was written meanwhile stands before the others now, and was perhaps on no page.
  if (offset > PAGE) await read(0);
  return [...found.values()].toSorted((a, b) => a.since.getTime() - b.since.getTime() || (a.id < b.id ? -1 : 1));
}

/** Undefined: another version wrote it, and this one cannot read it. */
function workerOf(text: string, now: Milliseconds): RunningWorker | undefined {
  const report: unknown = fieldsIn(text);
  if (!isReport(report)) return undefined;
  const { at, since, running, ...told } = report;
  return {
    ...told,
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
    Array.isArray(report['running']) &&
    report['running'].every(isRecord) &&
    isRecord(report['outcomes'])
  );
}

const shortened = (name: string): string => name.slice(0, LONGEST_NAME);
