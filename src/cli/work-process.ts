/** A worker in this very process, from loading the project to the end. */
import { hostname } from 'node:os';
import type { Seconds } from '../base/clock';
import { tagged, type Logger } from '../base/logger';
import type { QueueManager } from '../application/queue-manager';
import type { JobCounts } from '../operations/figures/job-counts';
import { UNBORN } from '../worker/health';
import { keepDeath } from '../operations/history/deaths';
import type { StopReason } from '../worker/stop';
import { unsupervisedHealth, type SeenDeath, type SupervisorHealth } from '../worker/supervisor/supervision';
import { processWorker, type Worker } from '../worker/worker';
import { resolveWorkerOptions, type ResolvedWorkerOptions } from '../worker/worker-options';
import { noJobs } from './errors';
import { ExitCode, STOP_REASONS } from './exit-codes';
import { serveHealth } from './health-server';
import { LoadedFiles } from './loaded-files';
import { checkConnection } from './named-queues';
import { printOpening } from './opening';
import { logFormat, type Session } from './session';
import { stopAtSignals } from './stop-signals';
import { SupervisorLink } from './supervisor-link';
import { workerOptions, type WorkFlags } from './work-flags';

/** Seconds that a process without its supervisor has left after the grace period. Then it counts as blocked, and is killed. */
const ORPHAN_MARGIN: Seconds = 2;

/** Seconds that a store has left, after `sleep`, to answer a worker with `--once`. */
const ANSWER_MARGIN: Seconds = 5;

export class WorkProcess {
  readonly #session: Session;
  readonly #connection: string | undefined;
  readonly #flags: WorkFlags;
  readonly #options: ResolvedWorkerOptions;
  /** Called at the end. */
  readonly #undo: (() => void)[] = [];
  #manager: QueueManager | undefined;
  #worker: Worker | undefined;
  #link: SupervisorLink | undefined;
  #orphaned = false;
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
    const { fresh, processNumber, opened = false, afterCrash } = this.#flags;
    if (fresh !== undefined || processNumber !== undefined) this.#endWithParent();
    const address = await this.#serveHealth();
    const manager = (this.#manager = await this.#open());
    if (fresh === 'again' || opened) manager.leaveStoreUnnamed();
    checkConnection(manager, 'work', this.#connection);
    const { logger, registry, configurationSource } = manager;
    // A worker without jobs would give back everything.
    if (registry.all().length === 0) throw noJobs(configurationSource);
    const options = workerOptions(this.#connection, this.#flags);
    const changed = (): void => this.#link?.changed();
    const { stderr, onStray: uncaught } = this.#session.surroundings;
    const log = logFormat(stderr, this.#flags);
    const worker = processWorker(options, manager, { endsProcess: true, log, afterCrash, changed, uncaught });
    this.#worker = worker;
    if (this.#orphaned) void worker.stop();
    // Listens before the log says that the worker runs: whoever reads that may send a signal.
    this.#stopAtSignals(logger);
    if (fresh !== 'again' && !opened) printOpening(this.#session, manager, this.#connection, this.#flags);
    if (address !== undefined) logger.info({}, `Health is served at ${address}/health.`);
    if (processNumber !== undefined) return this.#runSupervised(manager, worker);
    if (fresh !== undefined) this.#stopWhenStale(manager, worker);
    else if (this.#options.once) this.#stopUnanswered(logger, worker);
    const reason = await worker.run();
    if (fresh === undefined && !this.#isUnanswered)
      logger.info({ reason }, `The worker stopped: ${STOP_REASONS[reason]}.`);
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
      const worker = `${name}:${String(pid)}`;
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
    const stopListening = stopAtSignals(surroundings, logger, () => this.#stop(), surroundings.exit);
    this.#undo.push(stopListening);
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
