/** The public face of a worker: its options, and its life from `run()` to `stop()`. */
import { hostname } from 'node:os';
import { systemRandom, type Seconds } from '../base/clock';
import { noFailedStore } from '../application/failed/errors';
import type { JobContext } from '../job/job-context';
import type { Closable } from '../application/shutdown';
import { CapabilityError } from '../connections/errors';
import { defaultManager } from '../application/default-manager';
import { failedStoreOf, inRootContext } from '../connections/application';
import type { QueueManager } from '../application/queue-manager';
import { startCompanions, type Companion } from './companions';
import { workerAlreadyRun } from './errors';
import { UNBORN, type WorkerHealth } from './health';
import { namesLikeWeights, parseQueues, strangeQueuesRemark, type WeightedQueue } from './queues';
import {
  resolveWorkerOptions,
  type ResolvedWorkerOptions,
  type WorkerOptions,
  type WorkersProcess,
} from './worker-options';
import { WORKER_MARGIN, type StopReason } from './stop';
import { Loop } from './loop';

export class Worker implements Closable {
  readonly #options: ResolvedWorkerOptions;
  readonly #manager: QueueManager | undefined;
  readonly #process: WorkersProcess;
  #loop: Loop | undefined;
  #ended: Promise<StopReason> | undefined;
  #stopped = false;

  /**
   * Checks the options and touches nothing until `run()`.
   *
   * @param manager the application to work for; by default the one behind `Queue`
   * @throws E_INVALID_WORKER_OPTION, E_INVALID_DURATION, E_INVALID_QUEUE_NAME
   */
  constructor(options?: WorkerOptions, manager?: QueueManager);
  constructor(options: WorkerOptions = {}, manager?: QueueManager, ofProcess: WorkersProcess = {}) {
    this.#options = resolveWorkerOptions(options);
    this.#manager = manager;
    this.#process = ofProcess;
  }

  get closeDeadline(): Seconds {
    return this.#options.grace + WORKER_MARGIN;
  }

  /**
   * Works until it is stopped or a stop condition holds. Resolves with the reason once everything is settled. Waits for a
   * store that is away. Installs no signal handlers, and never ends the process.
   *
   * @throws E_WORKER_ALREADY_RUN; E_MANAGER_CLOSED once `Queue.close()` was called, until that has resolved;
   *   ConfigurationError; E_UNKNOWN_CONNECTION; CapabilityError on `sync` and `null`;
   *   E_DATABASE_NEWER_TABLES if a later version made the tables of a database, E_DATABASE_FOREIGN_TABLE if somebody else
   *   did;
   *   E_NO_FAILED_STORE if neither the connection nor the one that `failed` names can keep failed jobs or bury them
   */
  run(): Promise<StopReason> {
    if (this.#ended !== undefined) return Promise.reject(workerAlreadyRun());
    this.#ended = this.#stopped ? Promise.resolve('stopped') : this.#run();
    return this.#ended;
  }

  /**
   * Reserves nothing more, lets running jobs finish within the grace, and gives the rest back. Resolves when `run` has; at
   * once if it is called by a job or a hook that the worker waits for.
   */
  async stop(): Promise<void> {
    const closed = this.close();
    if (!this.isCaller) await closed;
  }

  /**
   * The current health. May be called at any time and waits for nothing: whether the store answers is checked in the
   * background.
   */
  health(): WorkerHealth {
    return this.#loop?.health ?? UNBORN;
  }

  /** The jobs whose handlers run now. */
  get running(): readonly JobContext[] {
    return this.#loop?.runs.running ?? [];
  }

  get isCaller(): boolean {
    return this.#loop?.isCaller ?? false;
  }

  async close(): Promise<void> {
    this.#stopped = true;
    // Jobs that outlast the grace hear of it in the worker's context, not in the caller's.
    inRootContext(() => this.#loop?.stop());
    // A rejection of `run` is for its own caller.
    await this.#ended?.catch(() => undefined);
  }

  async #run(): Promise<StopReason> {
    const manager = this.#manager ?? defaultManager();
    return inRootContext(() => this.#work(manager), manager);
  }

  async #work(manager: QueueManager): Promise<StopReason> {
    const connection = manager.driver(this.#options.connection);
    if (!connection.capabilities.reserve) throw new CapabilityError(connection.name, connection.driver, 'reserve');
    const failedStore = failedStoreOf(connection, manager);
    if (failedStore === undefined && connection.buried === undefined)
      throw noFailedStore([...new Set([connection.name, manager.failedConnection])]);
    const { queue, retryAfter } = manager.settings(connection.name);
    const queues = this.#options.queues ?? parseQueues([queue], false);
    const mistaken = this.#options.fair ? [] : namesLikeWeights(queues);
    if (mistaken.length > 0) manager.logger.warn({ queues: mistaken }, askAboutWeights(mistaken));
    else this.#warnOfStrangeQueues(manager, connection.name, queues);
    const untrack = manager.track(this);
    const name = this.#options.name ?? nameHere();
    const loop = (this.#loop = new Loop({
      name,
      options: this.#options,
      connection,
      queues,
      lease: retryAfter,
      application: manager,
      failedStore,
      records: manager.operationsOf(connection)?.records,
      process: this.#process,
    }));
    // Everything that an idle worker waits on is unreferenced: without this timer the process would end under it.
    const alive = manager.clock.after(Infinity, () => undefined, true);
    let companions: readonly Companion[] = [];
    try {
      await (connection.failover?.first ?? connection).migrations?.check?.();
      companions = startCompanions({ name, manager, connection, options: this.#options, loop });
      return await loop.run();
    } finally {
      alive.cancel();
      await Promise.all(companions.map((companion) => companion.close()));
      untrack();
    }
  }

  // The command says it once, with the command line to use instead.
  #warnOfStrangeQueues(manager: QueueManager, connection: string, queues: readonly WeightedQueue[]): void {
    if (this.#process.endsProcess === true) return;
    const worker = { connection, queues: queues.map(({ name }) => name) };
    const remark = strangeQueuesRemark(manager, worker, (where, others) => {
      const given = where === manager.defaultConnection ? '' : `connection: '${where}', `;
      return `new Worker({ ${given}queue: ${JSON.stringify(others).replaceAll('"', "'")} })`;
    });
    if (remark !== undefined) manager.logger.warn({ connection, queues: worker.queues }, remark);
  }
}

/** A worker that has its process to itself, as the command's workers have: the only one that may end the process. */
export function processWorker(options: WorkerOptions, manager: QueueManager, process: WorkersProcess): Worker {
  const ofProcess: new (...parameters: [WorkerOptions, QueueManager, WorkersProcess]) => Worker = Worker;
  return new ofProcess(options, manager, process);
}

/** Two containers may have the same host and process id; no two workers have the same random part. */
function nameHere(): string {
  const part = Math.floor(systemRandom() * 36 ** 5)
    .toString(36)
    .padStart(5, '0');
  return process.env['ONQUEUE_WORKER_NAME'] || `${hostname()}-${part}`;
}

function askAboutWeights(names: readonly string[]): string {
  return `Without fair, the number after a colon is part of the name: this worker takes jobs from queues named ${names.join(' and ')}. If you meant weights, set fair (--fair).`;
}
