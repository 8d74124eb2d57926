/**
 * The main thread, seen from another thread while its event loop stands still: finds out where it stands, and ends the
 * process.
 *
 * Uses the inspector, which can interrupt a thread in the middle of its JavaScript. A thread that waits in native code, as
 * in `execSync`, is out of reach: then its place is unknown, and a signal ends the process.
 */
import type { Debugger, Session } from 'node:inspector';
import { isAbsolute, join, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { systemClock, within, type Milliseconds, type Clock } from '../../../base/clock';
import { BLOCKED, type BlockReport, type HeldJob } from '../../supervisor/supervision';
import type { SettleResult, Reservation, Settlement } from '../../../connections/contract';
import { writeSync } from 'node:fs';
import { ConsoleLogger } from '../../../base/logger';
import { errorMessage } from '../../../base/exception-text';
import { groupsOf, pagesOf } from '../../../base/collections';
import { afterTimedOut } from '../../../payload/counters';
import { bytesOf, type Held } from '../renewal';
import type { HeldJobs } from './held-jobs';

/** How long the main thread may take to halt, and the process to end. Three seconds were too short on a busy machine. */
const REACH: Milliseconds = 10_000;

const OURS = `${join(__dirname, '..', '..', '..')}${sep}`;

const IS_DEBUGGED = "process.getBuiltinModule('node:inspector').url() !== undefined";

/** The job whose code runs in the main thread. Nothing may be loaded there to find out. */
const callerIn = (scope: string): string => `{
  const { cache } = process.getBuiltinModule('node:module').createRequire(${JSON.stringify(scope)});
  const { name, id, queue } = cache[${JSON.stringify(scope)}]?.exports.callerOf() ?? {};
  ({ job: name, id, queue });
}`;

interface Place {
  readonly file: string;
  /** Like the column, counted from 0. */
  readonly line: number;
  readonly column: number;
}

/** Finds the sources of compiled places, as the stacks of the process show them. */
const sourcesOf = (places: readonly Place[]): string => `(${JSON.stringify(places)}).map(({ file, line, column }) => {
  const entry = process.getBuiltinModule('node:module').findSourceMap(file)?.findEntry(line, column);
  return entry?.originalSource && { file: entry.originalSource, line: entry.originalLine, column: entry.originalColumn };
})`;

/** Stack frames to show: enough to tell who called what. */
const FRAMES = 8;

export class BlockedLoop {
  readonly #files = new Map<string, string>();
  #session: Session | undefined;

  /**
   * Whether a debugger is attached, even since after the start: then the main thread may wait at a breakpoint. To be called
   * first: it also finds out whether the thread is in reach. The thread goes on meanwhile.
   */
  async isDebugged(): Promise<boolean> {
    const session = (this.#session = await connected());
    if (session === undefined) return false;
    const isDebugged = await evaluate<boolean>(session, IS_DEBUGGED);
    if (isDebugged === undefined) this.letGo();
    return isDebugged ?? false;
  }

  /**
   * Halts the main thread and returns where it stands, innermost frame first. Undefined if it is out of reach and not
   * halted.
   */
  async hold(): Promise<readonly string[] | undefined> {
    const session = this.#session;
    if (session === undefined) return undefined;
    const held = await answer<Debugger.CallFrame[]>((resolve) => {
      session.on('Debugger.scriptParsed', ({ params }) => this.#files.set(params.scriptId, params.url));
      session.once('Debugger.paused', ({ params }) => resolve(params.callFrames));
      session.post('Debugger.enable');
      session.post('Debugger.pause');
    });
    if (held === undefined) this.letGo();
    return held && this.#shown(session, held);
  }

  /** The job whose code the halted main thread runs. Undefined if that is unknown. */
  async blocker(scope: string): Promise<HeldJob | undefined> {
    const session = this.#session;
    if (session === undefined) return undefined;
    const found = await evaluate<Partial<HeldJob>>(session, callerIn(scope));
    return typeof found?.id === 'string' ? (found as HeldJob) : undefined;
  }

  /** Lets the main thread go on. */
  letGo(): void {
    this.#session?.disconnect();
    this.#session = undefined;
  }

  /**
   * Tells the supervisor and exits if the main thread is halted; otherwise a signal ends the process. No `exit` handler runs.
   */
  endProcess(report: BlockReport): void {
    const told = `try { process.send?.(${JSON.stringify(report)}); } catch {}`;
    // Node.js would print that it waits for a debugger to disconnect. There is none.
    const silently = "try { process.getBuiltinModule('node:fs').closeSync(2); } catch {}";
    this.#session?.post('Runtime.evaluate', { expression: `${told} ${silently} process.reallyExit(${BLOCKED});` });
    const kill = (): void => void process.kill(process.pid, 'SIGKILL');
    if (this.#session === undefined) kill();
    else systemClock.after(REACH, kill, true);
  }

  // Frames of Node.js and of Onqueue would tell the user nothing.
  async #shown(session: Session, frames: readonly Debugger.CallFrame[]): Promise<readonly string[]> {
    const theirs = frames
      .map(({ functionName, location }) => ({ functionName, ...this.#place(location) }))
      .filter(({ file }) => isAbsolute(file) && !file.startsWith(OURS))
      .slice(0, FRAMES);
    const sources = await evaluate<readonly (Place | null)[]>(session, sourcesOf(theirs));
    return theirs.map(({ functionName, ...place }, index) => {
      const { file, line, column } = sources?.[index] ?? place;
      const at = `${pathOf(file)}:${line + 1}:${column + 1}`;
      return functionName === '' ? at : `${functionName} (${at})`;
    });
  }

  #place({ scriptId, lineNumber, columnNumber = 0 }: Debugger.Location): Place {
    return { file: pathOf(this.#files.get(scriptId) ?? ''), line: lineNumber, column: columnNumber };
  }
}

const pathOf = (file: string): string => (file.startsWith('file:') ? fileURLToPath(file) : file);

// Undefined if no answer came.
function evaluate<T>(session: Session, expression: string): Promise<T | undefined> {
  return answer<T | undefined>((resolve) => {
    session.post('Runtime.evaluate', { expression, returnByValue: true }, (_error, reply) =>
      resolve(reply?.result?.value as T | undefined),
    );
  });
}

// Undefined if none came.
function answer<T>(ask: (resolve: (answer: T) => void) => void): Promise<T | undefined> {
  return within(systemClock, REACH, new Promise<T>(ask)).catch(() => undefined);
}

// Undefined if this Node.js was built without the inspector.
async function connected(): Promise<Session | undefined> {
  try {
    const { Session: Inspector } = await import('node:inspector');
    const session = new Inspector();
    session.connectToMainThread();
    return session;
  } catch {
    return undefined;
  }
}

const LOOK_EVERY: Milliseconds = 500;
/**
 * Looks without an answer. Counted rather than timed, so that the worker gets its time again after the whole process was
 * suspended.
 */
const SILENT_LOOKS = 4;

export interface OverdueWatchSettings {
  readonly clock: Clock;
  /** Whether a job is overdue. Undefined if there are no jobs at all. */
  readonly overdue: () => boolean | undefined;
  /** Asks the event loop to answer. */
  readonly ask: () => void;
  /** Called when it did not answer; again after a while, as long as a job is overdue. */
  readonly blocked: () => void;
}

/**
 * Notices that the workers' event loop stands still: a job is past its timeout and grace, and the worker, which should have
 * recorded that, does not even answer.
 */
export class OverdueWatch {
  /** The event loop has not answered since it was last asked. */
  isSilent = false;
  readonly #settings: OverdueWatchSettings;
  #isScheduled = false;
  /** Looks since the event loop was asked. Undefined if it owes no answer. */
  #silence: number | undefined;

  constructor(settings: OverdueWatchSettings) {
    this.#settings = settings;
  }

  /** To be called when there are jobs. */
  start(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    this.#settings.clock.after(LOOK_EVERY, () => this.#look());
  }

  /** The event loop has answered. */
  answered(): void {
    this.isSilent = false;
    this.#silence = undefined;
  }

  #look(): void {
    const { overdue, ask, blocked } = this.#settings;
    this.#isScheduled = false;
    const isOverdue = overdue();
    if (isOverdue !== undefined) this.start();
    if (isOverdue !== true) this.#silence = undefined;
    else if (this.#silence === undefined) {
      this.#silence = 0;
      this.isSilent = true;
      ask();
    } else if ((this.#silence += 1) >= SILENT_LOOKS) {
      this.#silence = undefined;
      blocked();
    }
  }
}

/** At most this many jobs are named. */
const NAMED = 5;

export interface BlockedFacts {
  readonly pid: number;
  /** The job whose code blocks the event loop. Undefined if that is unknown. */
  readonly blocker: HeldJob | undefined;
  readonly overdue: readonly HeldJob[];
  /** The store's answers to the timeouts, in the order of `overdue`; the jobs after the last one got no answer. */
  readonly results: readonly SettleResult[];
  /** Why answers are missing. */
  readonly why: string | undefined;
  /** How many other jobs its workers hold, if the process ends. Undefined if it goes on. */
  readonly neighbours: number | undefined;
  /** Innermost first. Undefined if the stack is out of reach. */
  readonly frames: readonly string[] | undefined;
}

/**
 * The report about an event loop that stands still: which jobs caused it, what happened to them, and where in the code it
 * was.
 */
export function blockedAccount({ pid, blocker, overdue, results, why, neighbours, frames }: BlockedFacts): string {
  const isAlone = overdue.length === 1 && overdue[0]!.id === blocker?.id;
  const where = blocker === undefined || isAlone ? '' : ` in ${nameOf(blocker)},`;
  const names = overdue.slice(0, NAMED).map(nameOf);
  if (overdue.length > NAMED) names.push(`${overdue.length - NAMED} more`);
  const place =
    frames === undefined
      ? ' It waits in native code, such as execSync().'
      : frames.map((frame) => `\n    at ${frame}`).join('');
  return (
    `The event loop of process ${pid} stands still${where} past timeout and grace of ${names.join(', ')}: ` +
    `${fateOf(overdue.length, results, why)}. ${endOf(neighbours)} Put such work into a worker thread or a process.${place}`
  );
}

function fateOf(jobs: number, results: readonly SettleResult[], why: string | undefined): string {
  const lost = results.filter((result) => result === 'lost').length;
  const fates: [count: number, fate: string][] = [
    [results.length - lost, 'recorded as timed out'],
    [lost, 'not recorded, because the lease was lost before'],
    [jobs - results.length, `not recorded (${why})`],
  ];
  const met = fates.filter(([count]) => count > 0);
  return met.map(([count, fate]) => (met.length === 1 ? fate : `${count} ${fate}`)).join(', ');
}

function endOf(neighbours: number | undefined): string {
  if (neighbours === undefined) return 'The worker goes on when its event loop does.';
  return `The process ends${neighbours === 0 ? '' : `; other jobs, which run again when their leases end: ${neighbours}`}.`;
}

const nameOf = ({ job, id }: HeldJob): string => (id === '' ? job : `${job} ${id}`);

/** How long the stores may take to store the outcomes. */
const SETTLE_DEADLINE: Milliseconds = 5000;

const UNANSWERED = 'the store has not answered';

/** What is recorded about a job that is past timeout and grace. */
interface Verdict {
  readonly worker: HeldJobs;
  readonly held: Held;
  readonly settlement: Settlement;
  /** The store's answer. Undefined if none has come. */
  result: SettleResult | undefined;
}

export interface BlockedJobsSettings {
  readonly workers: ReadonlyMap<number, HeldJobs>;
  /** Whether the event loop is the main thread's, whose stack can be read. */
  readonly ofMainThread: boolean;
  /** The path of the module there that knows whose code runs. */
  readonly scope: string;
  /** Asks the event loop for an answer. */
  readonly ask: () => void;
}

/**
 * Records timeouts that the workers cannot, because the event loop of all of them stands still past the timeout and grace of
 * a job.
 */
export class BlockedJobs {
  readonly #settings: BlockedJobsSettings;
  readonly #watch: OverdueWatch;
  /** The event loop stands still, and that was reported. */
  #told = false;
  /** The outcomes are being recorded. */
  #acting = false;

  constructor(settings: BlockedJobsSettings) {
    this.#settings = settings;
    this.#watch = new OverdueWatch({
      clock: systemClock,
      overdue: () => {
        const held = this.#workers.flatMap(({ all }) => all);
        return held.length === 0 ? undefined : held.some(isLate);
      },
      ask: settings.ask,
      blocked: () => void this.#act(),
    });
  }

  /** To be called when there are jobs. */
  watch(): void {
    this.#watch.start();
  }

  /** The event loop moves. */
  answered(): void {
    this.#told = false;
    this.#watch.answered();
  }

  get #workers(): readonly HeldJobs[] {
    return [...this.#settings.workers.values()];
  }

  async #act(): Promise<void> {
    if (this.#acting) return;
    this.#acting = true;
    const loop = new BlockedLoop();
    // A process that stands at a breakpoint must not end under its debugger. The next look asks again.
    const debugged = await loop.isDebugged();
    const ends = this.#workers.some(({ endsProcess }) => endsProcess);
    const isBlocked = this.#watch.isSilent && !debugged;
    const overdue = isBlocked ? this.#workers.flatMap(timeoutsOf) : [];
    if (overdue.length > 0) await this.#record(overdue, loop, ends);
    else loop.letGo();
    this.#acting = false;
  }

  async #record(overdue: readonly Verdict[], loop: BlockedLoop, ends: boolean): Promise<void> {
    // Nobody may renew jobs whose end is about to be recorded.
    if (ends) for (const { worker, held } of overdue) worker.drop(held);
    const { ofMainThread, scope } = this.#settings;
    const frames = ofMainThread ? await loop.hold() : [];
    // In a thread of the user's: whatever the main thread runs at the moment has nothing to do with it.
    const blocker = ofMainThread ? await loop.blocker(scope) : undefined;
    if (!ends) loop.letGo();
    const why = await settleWithin(overdue);
    const late = overdue.map(({ held }) => heldJobOf(held.reservation));
    const account = blockedAccount({
      pid: process.pid,
      blocker,
      overdue: late,
      results: overdue.flatMap(({ result }) => result ?? []),
      why,
      neighbours: ends ? this.#workers.flatMap(({ all }) => all).length : undefined,
      frames,
    });
    const jobs = blocker === undefined ? late : [blocker];
    if (!this.#told)
      say(
        account,
        jobs,
        this.#workers.some(({ log }) => log === 'json'),
      );
    this.#told = true;
    if (ends) loop.endProcess({ onqueue: 'blocked', jobs });
    else tellWorkers(overdue, account);
  }
}

const isLate = ({ record }: Held): boolean => record.overdueAt <= systemClock.monotonic();

const timeoutsOf = (worker: HeldJobs): readonly Verdict[] =>
  worker.all.filter(isLate).map((held) => ({ worker, held, settlement: timedOut(held), result: undefined }));

/** A timed-out attempt, as the worker would record it. Whoever meets the job next finds out whether it was the last. */
function timedOut({ reservation, record: { delay } }: Held): Settlement {
  return { outcome: 'released', reservation, delay, counters: afterTimedOut(reservation.counters) };
}

/**
 * Collects the stores' answers until the deadline; returns the reason if one does not answer. A silent store is no reason to
 * keep the process as it is: the leases will end by themselves.
 */
function settleWithin(verdicts: readonly Verdict[]): Promise<string | undefined> {
  // Separate calls for each queue: one that is refused or not answered holds up no other.
  const calls = [...groupsOf(verdicts, workerOf)].flatMap(([worker, own]) => {
    const queues = groupsOf(own, ({ held }) => held.reservation.queue).values();
    return Array.from(queues, (ended) => settleQueue(worker, ended));
  });
  return within(systemClock, SETTLE_DEADLINE, Promise.all(calls)).then(
    (reasons) => reasons.find((reason) => reason !== undefined),
    () => UNANSWERED,
  );
}

async function settleQueue(worker: HeldJobs, ended: readonly Verdict[]): Promise<string | undefined> {
  try {
    for (const page of pagesOf(ended, ({ held }) => bytesOf(held))) {
      const store = await worker.store();
      const { results } = await store.exchange(page.map(({ settlement }) => settlement));
      for (const [at, one] of page.entries()) {
        const result = results[at]!;
        if (result === 'unanswered') return UNANSWERED;
        one.result = result;
      }
    }
    return undefined;
  } catch (error) {
    return errorMessage(error);
  }
}

/** The workers no longer wait for jobs that were recorded. One worker gets the account, for the log. */
function tellWorkers(overdue: readonly Verdict[], account: string): void {
  let said: string | undefined = account;
  for (const [worker, own] of groupsOf(overdue, workerOf)) {
    const recorded = own.filter(({ result }) => result !== undefined).map(({ held }) => held);
    for (const held of recorded) worker.drop(held);
    worker.tell({ kind: 'blocked', numbers: recorded.map(({ number }) => number), account: said });
    said = undefined;
  }
}

const workerOf = ({ worker }: Verdict): HeldJobs => worker;

function heldJobOf({ queue, payload }: Reservation): HeldJob {
  try {
    // oxlint-disable-next-line typescript/no-require-imports, typescript/consistent-type-imports -- most threads never need it
    const { decodeEnvelope } = require('../../../payload/envelope') as typeof import('../../../payload/envelope');
    const { displayName, id = 'without an id' } = decodeEnvelope(payload);
    return { job: displayName, id, queue };
  } catch {
    return { job: 'a job', id: '', queue };
  }
}

function say(account: string, jobs: readonly HeldJob[], isJson: boolean): void {
  if (isJson) new ConsoleLogger({ write: writeNow }, 'error', 'json').error({ pid: process.pid, jobs }, account);
  else writeNow(`onqueue: ${account}\n`);
}

// Not process.stderr, which needs the event loop that stands still.
function writeNow(text: string): void {
  try {
    writeSync(2, text);
  } catch {
    // A full pipe that nobody reads must not stop us.
  }
}
