/**
 * Keeps what happened to jobs, as their worker sees it: attempts that came to nothing, the progress of running jobs, and which
 * jobs have completed. Written in the background.
 */
import { within, type Milliseconds, type Seconds } from '../../base/clock';
import { errorMessage, errorName, exceptionText } from '../../base/exception-text';
import { OnqueueError } from '../../base/onqueue-error';
import type {
  Application,
  EndedRun,
  Observer,
  HistoryConfig,
  OperationsConnection,
} from '../../connections/application';
import type { Connection } from '../../connections/contract';
import { LONGEST_ID, type RecordStore, type StoreRecord } from '../../connections/record-store';
import { durationSeconds } from '../../job/duration';
import type { JobContext, Progress } from '../../job/job-context';
import { fenceAtRetry, type Counters } from '../../payload/counters';
import {
  COMPLETED,
  completedKept,
  HISTORY,
  HISTORY_KEPT,
  MOST_KEPT,
  historyText,
  lastErrorIn,
  PROGRESS,
  readHistory,
  withRun,
  deathsOf,
  type AttemptOutcome,
  type JobHistory,
  type KeptAttempt,
  type ToldRun,
  type SourceLines,
} from './attempt';
import { Backlog, type BacklogSettings } from './backlog';
import { MOST_LINES, writeLines, type KeptLine, type SaidLines } from './lines';
import { readFile, stat } from 'node:fs/promises';
import { dirname, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { pagesOf, Recent } from '../../base/collections';

const PROGRESS_KEPT: Seconds = 60 * 60;

/** Per second: nobody reads more, and a store in which all jobs fail has enough to do. */
const HISTORIES = { most: 2000, perSecond: 500 };
const PROGRESSES = { most: 10_000, perSecond: 5000 };
/**
 * A page each tenth of a second, so that whoever asks for a job that has just ended hardly ever comes too soon. The rest is left
 * out: of a store full of jobs only the last seconds would stay anyway.
 */
const COMPLETIONS = { most: 1000, perSecond: 1000, pause: 100 };

/** Concurrent calls to the store. */
const AT_ONCE = 10;
/** Runs of one job between two writes. */
const MOST_RUNS = 20;

/** Jobs of a chain that are remembered with one that has completed. */
const MOST_FOLLOWED = 50;
/** In characters. */
const LONGEST_STACK = 4096;
/** How long a job that fails waits for its last error. */
const PATIENCE: Milliseconds = 2000;

/** Errors of attempts that were given back without costing a try. */
const FREE: ReadonlySet<string> = new Set(['E_WORKER_STOPPING', 'E_LEASE_LOST']);
const TIMED_OUT = 'E_JOB_TIMED_OUT';

/** Runs of one job that are to be added to its record. */
interface Trail {
  readonly id: string;
  readonly blank: JobHistory;
  readonly runs: readonly (ToldRun & { readonly place?: SourcePlace | undefined })[];
  /** This was the only run: there is no earlier record to read. */
  readonly isWhole: boolean;
}

/** One for all workers of a connection in this process: each sees all runs. */
const started = new WeakMap<Connection, JobHistories>();

export class JobHistories implements Observer {
  readonly #application: Application;
  readonly #sourceLines: boolean;
  readonly #connection: Connection;
  readonly #records: RecordStore;
  readonly #source = new SourceReader();
  readonly #trails: Backlog<Trail>;
  /** Undefined if they are not remembered. */
  readonly #completed: Backlog<StoreRecord> | undefined;
  readonly #progress: Backlog<StoreRecord>;
  readonly #lines: Backlog<SaidLines>;
  /** What each run has said. */
  readonly #said = new WeakMap<JobContext, KeptLine[]>();
  #users = 0;

  /** Undefined if nothing is to be kept, or no connection can. */
  static start(application: Application, connection: Connection): JobHistories | undefined {
    const { history = {} } = application.configuration;
    const keeper = history === false ? undefined : application.operationsOf(connection);
    if (history === false || keeper === undefined) return undefined;
    const histories = started.get(connection) ?? new JobHistories(application, history, connection, keeper);
    started.set(connection, histories);
    application.observers.add(histories);
    histories.#users += 1;
    return histories;
  }

  /** The error of the job's last attempt. Undefined if nothing tells of it. Never rejects. */
  static async lastErrorOf(
    connection: Connection,
    { id, fence, payload }: JobContext,
    counters: Counters,
  ): Promise<Error | undefined> {
    const histories = started.get(connection);
    if (histories === undefined || id.length > LONGEST_ID) return undefined;
    const { clock } = histories.#application;
    const history = await within(clock, PATIENCE, histories.#historyOf(id)).catch(() => undefined);
    // What came before a retry was another life.
    return history && lastErrorIn(history, { fence, counters }, fenceAtRetry(payload));
  }

  private constructor(
    application: Application,
    { sourceLines = true }: HistoryConfig,
    connection: Connection,
    { name, records }: OperationsConnection,
  ) {
    this.#application = application;
    this.#sourceLines = sourceLines;
    this.#connection = connection;
    this.#records = records;
    const backlogOf = <Item>(
      what: string,
      limits: Pick<BacklogSettings<Item>, 'most' | 'perSecond' | 'pause'>,
      write: (page: readonly Item[]) => Promise<void>,
    ): Backlog<Item> =>
      new Backlog({ what, connection: name, clock: application.clock, logger: application.logger, ...limits, write });
    this.#trails = backlogOf('histories of jobs', HISTORIES, (page) => this.#write(page));
    const kept = completedKept(application);
    if (kept !== undefined) {
      const keep = durationSeconds(kept, 'history.completed');
      this.#completed = backlogOf('records of completed jobs', COMPLETIONS, (page) =>
        records.put(page, keep, MOST_KEPT),
      );
    }
    this.#lines = backlogOf('log lines of jobs', HISTORIES, (page) => writeLines(records, page));
    this.#progress = backlogOf('progress of jobs', PROGRESSES, (page) => records.put(page, PROGRESS_KEPT, MOST_KEPT));
  }

  /** Drops what is not written within two seconds. */
  async close(): Promise<void> {
    this.#users -= 1;
    if (this.#users > 0) return;
    this.#application.observers.delete(this);
    started.delete(this.#connection);
    await Promise.all(
      [this.#trails, this.#completed, this.#progress, this.#lines].map(async (backlog) => backlog?.close()),
    );
  }

  ended(run: EndedRun): void {
    const { job, reservation, outcome } = run;
    if (!this.#isOurs(job)) return;
    const { counters } = reservation;
    if (outcome === 'completed' && this.#completed?.hasRoom === true) this.#remember(run, this.#completed);
    const worth = outcome === 'completed' ? undefined : worthKeeping(run);
    if (worth === undefined && counters.crashes + counters.timeouts === 0) return;
    if (!this.#trails.hasRoom && this.#trails.get(job.id) === undefined) return this.#trails.leaveOut();
    const attempt = worth && this.#attemptOf(run, worth);
    const place = this.#sourceLines && run.error !== undefined ? placeOfError(run.error) : undefined;
    this.#tell(job, counters, attempt, outcome !== 'released' && outcome !== 'lost', place);
  }

  recovered(job: JobContext, { counters }: { readonly counters: Counters }): void {
    if (this.#isOurs(job)) this.#tell(job, counters, undefined, false);
  }

  progressed(job: JobContext, { value, text }: Progress): void {
    if (!this.#isOurs(job)) return;
    const at = this.#application.clock.now();
    const { id, fence } = job;
    this.#progress.set(id, { kind: PROGRESS, id, value: JSON.stringify({ value, text, at, fence }) });
  }

  logged(job: JobContext, text: string): void {
    if (!this.#isOurs(job)) return;
    const { id, fence } = job;
    // The lines of an earlier run may not have been written yet.
    const said = this.#said.get(job) ?? [...(this.#lines.get(id)?.said ?? [])];
    this.#said.set(job, said);
    said.push({ at: this.#application.clock.now(), fence, text });
    if (said.length > MOST_LINES) said.shift();
    this.#lines.set(id, { id, said });
  }

  #isOurs({ connectionName, id }: JobContext): boolean {
    return connectionName === this.#connection.name && id.length <= LONGEST_ID;
  }

  #attemptOf({ job, worker, error, took, exception }: EndedRun, outcome: AttemptOutcome): KeptAttempt {
    return {
      attempt: job.attempts,
      fence: job.fence,
      at: this.#application.clock.now(),
      ms: Math.round(took),
      // As `labelOf` has it, whose file a job need not pass.
      worker: `${worker}:${process.pid}`,
      outcome,
      ...(error !== undefined && {
        error: `${errorName(error)}: ${errorMessage(error)}`,
        stack: (exception ?? exceptionText(error)).slice(0, LONGEST_STACK).toWellFormed(),
      }),
    };
  }

  #tell(
    job: JobContext,
    counters: Counters,
    attempt: KeptAttempt | undefined,
    isLast: boolean,
    place?: SourcePlace,
  ): void {
    const { id, name, connectionName: connection, queue, fence } = job;
    const known = this.#trails.get(id);
    const run = { fence, counters, at: this.#application.clock.now(), attempt, place };
    const blank = { name, connection, queue, told: { crashes: 0, timeouts: 0 }, attempts: [] };
    const runs = [...(known?.runs ?? []), run].slice(-MOST_RUNS);
    this.#trails.set(id, { id, blank, runs, isWhole: isLast && fence === 1 });
  }

  #remember(run: EndedRun, completed: Backlog<StoreRecord>): void {
    const { id, name, connectionName: connection, queue, chain } = run.job;
    const { crashes, timeouts } = run.reservation.counters;
    const attempts = [this.#attemptOf(run, 'completed')];
    // With the job goes its payload, which names them.
    const followed = chain.length === 0 ? undefined : chain.slice(0, MOST_FOLLOWED);
    const told = { crashes, timeouts };
    const history: JobHistory = { name, connection, queue, chain: followed, told, attempts };
    completed.set(id, { kind: COMPLETED, id, value: JSON.stringify(history) });
  }

  async #write(page: readonly Trail[]): Promise<void> {
    const records: StoreRecord[] = [];
    for (const some of pagesOf(page, () => 0, AT_ONCE))
      records.push(...(await Promise.all(some.map((trail) => this.#recordOf(trail)))));
    await this.#records.put(records, HISTORY_KEPT, MOST_KEPT);
  }

  async #recordOf(trail: Trail): Promise<StoreRecord> {
    return { kind: HISTORY, id: trail.id, value: historyText(await this.#historyWith(trail)) };
  }

  /** What is kept of the job, with what is about to be written. */
  async #historyOf(id: string): Promise<JobHistory | undefined> {
    const trail = this.#trails.get(id);
    return trail === undefined ? readHistory(await this.#records.get(HISTORY, id)) : this.#historyWith(trail);
  }

  async #historyWith({ id, blank, runs, isWhole }: Trail): Promise<JobHistory> {
    const before = isWhole ? undefined : readHistory(await this.#records.get(HISTORY, id));
    let history: JobHistory = { ...blank, told: before?.told ?? blank.told, attempts: before?.attempts ?? [] };
    const isNews = runs.some(({ counters }) => counters.crashes > history.told.crashes);
    const deaths = isNews ? await deathsOf(this.#records, id) : [];
    for (const { place, attempt, ...run } of runs) {
      const source = attempt && place && (await this.#source.linesAt(place));
      history = withRun(history, { ...run, attempt: source === undefined ? attempt : { ...attempt!, source } }, deaths);
    }
    return history;
  }
}

/** The outcome under which an attempt that did not complete is kept. Undefined if it is not kept. */
function worthKeeping({ outcome, error, isAttempt }: EndedRun): AttemptOutcome | undefined {
  if (outcome === 'cancelled') return 'cancelled';
  if (!isAttempt) return undefined;
  if (outcome === 'lost') return 'lost';
  const code = error instanceof OnqueueError ? error.code : undefined;
  if (error === undefined || FREE.has(code ?? '')) return undefined;
  return code === TIMED_OUT ? 'timed-out' : 'failed';
}

export type SourcePlace = Pick<SourceLines, 'file' | 'line'>;

/** Lines before and after. */
const AROUND = 3;
const LONGEST_LINE = 200;
/** In bytes. Larger files are bundles, whose lines say nothing. */
const LARGEST_FILE = 1024 * 1024;
const MOST_PLACES = 1000;
/** Frames that are examined. */
const MOST_FRAMES = 50;
const LONGEST_FRAME = 1000;

const FRAME = /^\s+at (?:.* \()?(?<file>(?:file:\/\/|\/|[A-Za-z]:[\\/]).*?):(?<line>\d+):\d+\)?$/;
const INSTALLED = /[\\/]node_modules[\\/]/;
const OURS = `${dirname(dirname(__dirname))}${sep}`;
/** A message that imitates a frame must not make us read other kinds of files. */
const SOURCE_FILE = /\.[cm]?[jt]sx?$/;

/** Undefined if no frame is the program's own. Never throws. */
export function placeOfError(error: Error): SourcePlace | undefined {
  try {
    const { stack, message }: { readonly stack?: unknown; readonly message: unknown } = error;
    if (typeof stack !== 'string' || typeof message !== 'string') return undefined;
    // The message may look like a stack.
    const at = stack.indexOf(message);
    const frames = (at < 0 ? stack : stack.slice(at + message.length)).split('\n', MOST_FRAMES);
    for (const frame of frames) {
      const { file, line } = FRAME.exec(frame.slice(0, LONGEST_FRAME))?.groups ?? {};
      if (file === undefined) continue;
      const path = file.startsWith('file:') ? fileURLToPath(file) : file;
      if (SOURCE_FILE.test(path) && !INSTALLED.test(path) && !path.startsWith(OURS))
        return { file: path, line: Number(line) };
    }
    return undefined;
  } catch {
    return undefined;
  }
}

export class SourceReader {
  readonly #read = new Recent<string, Promise<SourceLines | undefined>>(MOST_PLACES);

  /** Reads each place once. Undefined if it cannot be read. Never rejects. */
  linesAt(place: SourcePlace): Promise<SourceLines | undefined> {
    return this.#read.ensure(`${place.file}:${place.line}`, () => read(place).catch(() => undefined));
  }
}

async function read({ file, line }: SourcePlace): Promise<SourceLines | undefined> {
  const found = await stat(file);
  // Anything but a file may block its reader.
  if (!found.isFile() || found.size > LARGEST_FILE) return undefined;
  const all = (await readFile(file, 'utf8')).split('\n');
  // Another version of the file, or a message that looked like a frame.
  if (line < 1 || line > all.length) return undefined;
  const from = Math.max(1, line - AROUND);
  const lines = all.slice(from - 1, line + AROUND).map((text) => text.slice(0, LONGEST_LINE).trimEnd());
  return { file, line, from, lines };
}
