/** A worker in this very process, from loading the project to the end; its opening words, its link to a supervisor. */
import { hostname } from 'node:os';
import type { QueueManager } from '../application/queue-manager';
import { endOfTurn, type Milliseconds, type Seconds, type Timer } from '../base/clock';
import { type Logger, tagged } from '../base/logger';
import { shellWord } from '../base/text';
import type { JobCounters, JobCounts } from '../operations/figures/job-counters';
import { keepDeath } from '../operations/history/attempt';
import { labelOf } from '../operations/worker-record';
import { strangeQueuesRemark } from '../worker/queues';
import { UNBORN } from '../worker/health';
import type { StopReason } from '../worker/stop';
import {
  type HealthReport,
  type HeldJob,
  ownMessage,
  type SeenDeath,
  type SupervisorHealth,
  unsupervisedHealth,
} from '../worker/supervisor/supervision';
import { processWorker, type Worker } from '../worker/worker';
import { type ResolvedWorkerOptions, resolveWorkerOptions } from '../worker/worker-options';
import { JOB_HEADINGS, jobRow, listedJobs, type RegisteredJob, shortNamesRemark } from './commands/classes';
import { ExitCode, invalidOption, noJobs } from './errors';
import { commandLineOf, type Flag, namesIn, WORK_FLAGS, workerOptions, type WorkFlags } from './flags';
import { serveHealth } from './http-server';
import { checkConnection, memoryRemark } from './named-queues';
import { counted, formatTable } from './output';
import { LoadedFiles } from './project-files';
import { logFormat, type Session, type Surroundings } from './session';
import { STOP_REASONS, stopAtSignals, type StopSignal } from './stop-signals';

/** Seconds that a process without its supervisor has left after the grace period. Then it counts as blocked, and is killed. */
const ORPHAN_MARGIN: Seconds = 2;

/** Seconds that a store has left, after `sleep`, to answer a worker with `--once`. */
const ANSWER_MARGIN: Seconds = 5;

export class WorkProcess {
  readonly #session: Session;
  readonly #connection: string | undefined;
  #flags: WorkFlags;
  readonly #options: ResolvedWorkerOptions;
  /** Called at the end. */
  readonly #undo: (() => void)[] = [];
  #manager: QueueManager | undefined;
  #worker: Worker | undefined;
  #link: SupervisorLink | undefined;
  #orphaned = false;
  #stoppedBy: string | undefined;
  /** It stops because the store has never answered. */
  #isUnanswered = false;

  /** @throws E_INVALID_WORKER_OPTION, E_INVALID_QUEUE_NAME */
  constructor(session: Session, connection: string | undefined, flags: WorkFlags) {
    this.#session = session;
    this.#connection = connection;
    this.#flags = flags;
    // Checks the options before loading the project, so that mistakes are reported at once.
    this.#options = resolveWorkerOptions(workerOptions(connection, flags));
  }

  async run(): Promise<void> {
    try {
      await this.#run();
    } finally {
      for (const undo of this.#undo.toReversed()) undo();
    }
  }

  async #run(): Promise<void> {
    const { fresh, processNumber, opened = false, afterCrash, queue } = this.#flags;
    if (fresh !== undefined || processNumber !== undefined) this.#endWithParent();
    const address = await this.#serveHealth();
    const manager = (this.#manager = await this.#open());
    if (fresh === 'again' || opened) manager.leaveStoreUnnamed();
    checkConnection(manager, 'work', this.#connection);
    const { logger, registry, configurationSource } = manager;
    // A worker without jobs would give back everything.
    if (registry.all().length === 0) throw noJobs(configurationSource);
    const isAll = queue !== undefined && namesIn(queue, '--queue').includes(EVERY);
    if (isAll) this.#flags = withEveryQueue(manager, this.#connection, this.#flags);
    const options = workerOptions(this.#connection, this.#flags);
    const changed = (): void => this.#link?.changed();
    const { stderr, onStray: uncaught } = this.#session.surroundings;
    const log = logFormat(stderr, this.#flags);
    const worker = processWorker(options, manager, { endsProcess: true, log, afterCrash, changed, uncaught });
    this.#worker = worker;
    if (this.#orphaned) void worker.stop();
    // Listens before the log says that the worker runs: whoever reads that may send a signal.
    this.#stopAtSignals(logger);
    if (fresh !== 'again' && !opened) printOpening(this.#session, manager, this.#connection, this.#flags, isAll);
    if (address !== undefined) logger.info({}, `Health is served at ${address}/health.`);
    if (processNumber !== undefined) return this.#runSupervised(manager, worker);
    if (fresh !== undefined) this.#stopWhenStale(manager, worker);
    else if (this.#options.once) this.#stopUnanswered(logger, worker);
    const reason = await worker.run();
    if (fresh === undefined && !this.#isUnanswered)
      logger.info(
        { reason },
        `The worker stopped: ${(reason === 'stopped' && this.#stoppedBy) || STOP_REASONS[reason]}.`,
      );
    if (reason === 'memory') this.#session.exitCode = ExitCode.memory;
    this.#endedBy(reason);
  }

  async #runSupervised(manager: QueueManager, worker: Worker): Promise<void> {
    const { surroundings } = this.#session;
    const keep = (deaths: readonly SeenDeath[]): void => void this.#keepDeaths(manager, deaths);
    const link = (this.#link = new SupervisorLink(surroundings, worker, manager.counters, keep));
    this.#undo.push(() => link.close());
    const running = worker.run();
    link.begin();
    const reason = await running;
    link.tell();
    this.#endedBy(reason);
  }

  /** For the histories of the jobs that these processes ran. Never rejects: no job depends on it. */
  async #keepDeaths(manager: QueueManager, deaths: readonly SeenDeath[]): Promise<void> {
    const records = manager.operationsOf(manager.driver(this.#connection))?.records;
    if (records === undefined || manager.configuration.history === false) return;
    for (const { name = hostname(), pid, jobs, ...end } of deaths) {
      const worker = labelOf({ name, pid });
      for (const { id, fence } of jobs)
        if (fence !== undefined) await keepDeath(records, id, { ...end, worker, fence }).catch(() => undefined);
    }
  }

  #endedBy(reason: StopReason): void {
    if (reason === 'stuck') this.#session.exitCode = ExitCode.blocked;
    if (reason === 'uncaught') this.#session.exitCode = ExitCode.error;
  }

  get health(): SupervisorHealth {
    return unsupervisedHealth(this.#worker?.health() ?? UNBORN, process.pid);
  }

  get counts(): readonly JobCounts[] {
    return this.#manager?.counters.all ?? [];
  }

  #open(): Promise<QueueManager> {
    const { processes = 1, processNumber } = this.#flags;
    const tag = processes > 1 ? { process: processNumber } : {};
    return this.#session.open(this.#flags, tagged(this.#session.logger(this.#flags), tag));
  }

  #stop(): void {
    void this.#worker?.stop();
  }

  // Called before the project is loaded, which may take long, or hang.
  #endWithParent(): void {
    const hear = (): void => {
      this.#orphaned = true;
      this.#stop();
    };
    const { onOrphaned } = this.#session.surroundings;
    this.#undo.push(onOrphaned(hear, (this.#options.grace + ORPHAN_MARGIN) * 1000));
  }

  async #serveHealth(): Promise<string | undefined> {
    if (this.#flags.healthPort === undefined || this.#flags.processNumber !== undefined) return undefined;
    const server = await serveHealth(this.#flags, this);
    this.#undo.push(() => server.close());
    return server.address;
  }

  #stopAtSignals(logger: Logger): void {
    const { surroundings } = this.#session;
    if (this.#flags.processNumber !== undefined) {
      // A second signal goes to the supervisor, which then ends this process.
      this.#undo.push(surroundings.onStopSignal(() => this.#stop()));
      return;
    }
    const stop = (_signal: StopSignal, why: string): void => {
      this.#stoppedBy = why;
      this.#stop();
    };
    this.#undo.push(stopAtSignals(surroundings, logger, stop, surroundings.exit));
  }

  /** For a process of `listen`: stops it before it would run outdated code. */
  #stopWhenStale({ hooks }: QueueManager, worker: Worker): void {
    const files = new LoadedFiles(this.#session.surroundings.clock.now());
    const stopAsking = hooks.on('looping', () => {
      if (!files.haveChanged) return true;
      void worker.stop();
      return false;
    });
    this.#undo.push(stopAsking);
  }

  // A crontab that starts `--once` again and again must not pile up waiting processes during an outage.
  #stopUnanswered(logger: Logger, worker: Worker): void {
    const { clock } = this.#session.surroundings;
    const patience = this.#options.sleep + ANSWER_MARGIN;
    const timer = clock.after(patience * 1000, () => {
      if (worker.health().lastPoll !== undefined) return;
      logger.error(
        {},
        `The store has not answered for ${patience} s: the worker stops without having looked at its queues.`,
      );
      this.#session.exitCode = ExitCode.error;
      this.#isUnanswered = true;
      void worker.stop();
    });
    this.#undo.push(() => timer.cancel());
  }
}

/** In `--queue`: the queues of all registered jobs. */
const EVERY = '*';

/** `high,*` is `high`, and then the others to which registered jobs go. @throws E_INVALID_OPTION */
function withEveryQueue(manager: QueueManager, given: string | undefined, flags: WorkFlags): WorkFlags {
  const { name: connection } = manager.driver(given);
  const all = listedJobs(manager);
  const here = all.filter((job) => job.connection === connection);
  if (here.length === 0) {
    const others = [...new Set(all.map((job) => job.connection))].map((other) => `onqueue work ${other} --queue='*'`);
    const remedy = `No registered job goes to the connection '${connection}'. They go elsewhere: ${others.join(', ')}`;
    throw invalidOption('--queue', EVERY, remedy);
  }
  const named = new Set(resolveWorkerOptions(workerOptions(given, flags)).queues?.map((queue) => queue.name));
  const more = [...new Set(here.map((job) => job.queue))].filter((queue) => !named.has(queue)).toSorted();
  const queue = namesIn(flags.queue ?? EVERY, '--queue').flatMap((name) => (name === EVERY ? more : [name]));
  return { ...flags, queue: queue.join(',') };
}

/** How many classes the start of a worker lists. */
const MOST_LISTED = 20;

/** What `work` prints at its start: the store, the queues, the registered jobs of these queues, and warnings about them. */
function printOpening(
  session: Session,
  manager: QueueManager,
  given: string | undefined,
  flags: WorkFlags,
  isAll: boolean,
): void {
  const { name: connection, driver, address } = manager.driver(given);
  const options = resolveWorkerOptions(workerOptions(given, flags));
  const queues = options.queues?.map((queue) => queue.name) ?? [manager.settings(connection).queue];
  const jobs = listedJobs(manager, options.defaults);
  const listed = queues.join(', ') + (isAll ? ' (those of all registered jobs)' : '');
  const store = `${address} (connection ${connection}, driver ${driver})`;
  if (logFormat(session.surroundings.stderr, flags) === 'json') {
    const facts = { connection, driver, store: address, queues, jobs };
    manager.logger.info(facts, `The worker starts. Store: ${store}. Queues: ${listed}.`);
  } else if (flags.quiet !== true) {
    const own = jobs.filter((job) => job.connection === connection && queues.includes(job.queue));
    const table = own.length === 0 ? [] : ['', formatTable(JOB_HEADINGS, own.slice(0, MOST_LISTED).map(jobRow))];
    const others = jobs.length - Math.min(own.length, MOST_LISTED);
    if (others > 0)
      table.push(
        `${own.length === 0 ? '' : 'and '}${counted(others, 'job class', 'job classes')} more: onqueue classes`,
      );
    session.output.note([`Store    ${store}`, `Queues   ${listed}`, ...table, ''].join('\n'));
  }
  const warn = (remark: string | undefined): void => {
    if (remark !== undefined) manager.logger.warn({}, remark);
  };
  const work = { given, flags, connection, queues };
  warn(memoryRemark(manager, connection));
  warn(shortNamesRemark(manager));
  warn(strangeQueuesRemark(manager, work, (where, others) => commandWith(work, others, where)));
  // An unreachable store must not hold up the worker, which reports it itself.
  void waitingElsewhereRemark(manager, jobs, work).then(warn, () => undefined);
}

/** What a worker was told to do. */
interface Work {
  /** The connection as the command line named it, if it did. */
  readonly given: string | undefined;
  readonly flags: WorkFlags;
  /** The connection that it works on. */
  readonly connection: string;
  readonly queues: readonly string[];
}

/** A worker looks at no more queues than this when it starts. */
const MOST_QUEUES = 50;

/** Undefined if nothing waits elsewhere, or the store does not say. */
async function waitingElsewhereRemark(
  manager: QueueManager,
  jobs: readonly RegisteredJob[],
  work: Work,
): Promise<string | undefined> {
  const driver = manager.driver(work.connection);
  const mine = new Set(jobs.filter(({ connection }) => connection === work.connection).map(({ queue }) => queue));
  const others = (await driver.queues.names()).filter((queue) => mine.has(queue) && !work.queues.includes(queue));
  const pauses = others.length > 0 ? ((await driver.control?.paused()) ?? []) : [];
  const paused = new Set(pauses.map(({ queue }) => queue));
  const waiting: { readonly queue: string; readonly ready: number }[] = [];
  for (const queue of others.filter((name) => !paused.has(name)).slice(0, MOST_QUEUES)) {
    const { ready } = await driver.queues.counts(queue);
    if (ready > 0) waiting.push({ queue, ready });
  }
  if (waiting.length === 0) return undefined;
  const told = waiting.map(({ queue, ready }) => `${queue} (${counted(ready, 'job')})`).join(', ');
  const queues = [...work.queues, ...waiting.map(({ queue }) => queue)];
  return `Jobs are waiting on ${told}, which this worker does not work on. If no other worker does: ${commandWith(work, queues)}`;
}

/** The given command line, with these queues. */
function commandWith({ given, flags, connection: own }: Work, queues: readonly string[], connection = own): string {
  const table: Readonly<Record<string, Flag<unknown>>> = WORK_FLAGS;
  const shown = Object.entries(flags).filter(([name]) => table[name]?.isHidden !== true);
  const where = connection === own ? given : connection;
  // A supervisor gives its processes the remainder of --max-time.
  const processes = flags.processes === 1 ? undefined : flags.processes;
  const line = commandLineOf({ ...Object.fromEntries(shown), processes, maxTime: undefined, queue: queues });
  return ['onqueue', 'work', ...(where === undefined ? [] : [where]), ...line.map(shellWord)].join(' ');
}

const INTERVAL: Milliseconds = 1000;

/** The shortest time between two reports: thousands of jobs may start within a second. */
const LEAST_INTERVAL: Milliseconds = 100;

/** How many running jobs a report names. */
const NAMED = 10;

/** The link to the supervisor that started this process: reports the worker's health, and exits when told to. */
class SupervisorLink {
  readonly #surroundings: Surroundings;
  readonly #worker: Worker;
  readonly #counters: JobCounters;
  readonly #undo: (() => void)[] = [];
  #timer: Timer | undefined;
  #nextAt: Milliseconds = Infinity;
  #toldAt: Milliseconds = -Infinity;
  /** Whether the last report named jobs. */
  #hasNamed = false;
  #isOver = false;

  /** @param deaths told of processes that died at work */
  constructor(
    surroundings: Surroundings,
    worker: Worker,
    counters: JobCounters,
    deaths: (deaths: readonly SeenDeath[]) => void,
  ) {
    this.#surroundings = surroundings;
    this.#worker = worker;
    this.#counters = counters;
    const { channel, onExit, exit } = surroundings;
    if (channel === undefined) return;
    const stopHearing = channel.hear((given) => {
      const message = ownMessage(given);
      if (message?.onqueue === 'end') exit(message.code);
      else if (message?.onqueue === 'deaths') deaths(message.deaths);
    });
    // If a handler ends the process, this last report names the job.
    this.#undo.push(
      stopHearing,
      onExit(() => this.tell()),
    );
  }

  /** The first report says that the worker has started, at the end of this turn: a failed start throws within it. */
  begin(): void {
    void endOfTurn().then(() => this.#report());
  }

  /** Reports soon; at once if the last report named no job: a job that starts may kill the process before anything is sent. */
  changed(): void {
    const { clock } = this.#surroundings;
    const at = this.#toldAt + LEAST_INTERVAL;
    if (!this.#hasNamed || at <= clock.monotonic()) this.#report();
    else if (at < this.#nextAt) this.#reportAt(at);
  }

  close(): void {
    this.#isOver = true;
    this.#timer?.cancel();
    for (const undo of this.#undo) undo();
  }

  #report(): void {
    if (this.#isOver) return;
    this.tell();
    this.#reportAt(this.#toldAt + INTERVAL);
  }

  #reportAt(at: Milliseconds): void {
    const { clock } = this.#surroundings;
    this.#timer?.cancel();
    this.#nextAt = at;
    this.#timer = clock.after(at - clock.monotonic(), () => this.#report());
  }

  /** Reports now. At its end the worker reports why it has ended, unless it could not start. */
  tell(): void {
    const { channel, clock } = this.#surroundings;
    this.#toldAt = clock.monotonic();
    const jobs = this.#jobs;
    this.#hasNamed = jobs.length > 0;
    const counted = this.#counters.news('supervisor');
    const health = this.#worker.health();
    const report: HealthReport = { onqueue: 'health', health, jobs, counted: counted.length > 0 ? counted : undefined };
    channel?.tell(report);
  }

  get #jobs(): readonly HeldJob[] {
    return this.#worker.running.slice(0, NAMED).map(({ name, id, queue, fence }) => ({ job: name, id, queue, fence }));
  }
}
