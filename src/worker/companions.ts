/** What runs beside a worker: companions report on its jobs or send jobs of schedules. No job waits for them. */
import type { QueueManager } from '../application/queue-manager';
import type { Connection } from '../connections/contract';
import type { BusyEvent } from '../job/hooks';
import { FigureReporter } from '../operations/figures/figure-reporter';
import { QueueSampler } from '../operations/figures/queue-sampler';
import { EventTeller } from '../operations/events/event-teller';
import { JobHistories } from '../operations/history/job-histories';
import type { OperationsConnection } from '../connections/application';
import type { Loop } from './loop';
import type { ResolvedWorkerOptions } from './worker-options';
import { hostname } from 'node:os';
import { within, type Milliseconds, type Timer } from '../base/clock';
import { errorMessage } from '../base/exception-text';
import { isStoreAway } from '../connections/errors';
import { uuidv7 } from '../payload/uuid';
import { VERSION } from '../version';
import { BEAT, putWorker, removeWorker, type WorkerReport } from '../operations/worker-record';

/** What a companion may see of the worker. */
export interface Attended {
  readonly name: string;
  readonly manager: QueueManager;
  readonly connection: Connection;
  readonly options: ResolvedWorkerOptions;
  readonly loop: Pick<Loop, 'glance' | 'isOut' | 'runs'>;
}

export interface Companion {
  /** Stops it. Waits for the store for a few seconds at most; never rejects. */
  close(): Promise<void>;
}

export function startCompanions(worker: Attended): readonly Companion[] {
  const { manager, connection, options } = worker;
  // Undefined if the configuration turns metrics off, or no store keeps any.
  const operations = manager.configuration.metrics === false ? undefined : manager.operationsOf(connection);
  const companions: readonly (Companion | undefined)[] = [
    operations && new OwnRecord(worker, operations),
    JobHistories.start(manager, connection),
    EventTeller.start(manager, connection),
    // All workers of a process share them.
    options.schedule ? { close: manager.schedules.keep() } : undefined,
    operations && figuresOf(worker, operations),
  ];
  if (operations === undefined) warnOfBlindMonitors(worker);
  return companions.filter((companion) => companion !== undefined);
}

/** Stores the worker's figures and samples its queues. */
function figuresOf({ manager, connection, loop }: Attended, operations: OperationsConnection): Companion {
  const { logger, clock, counters, hooks, monitors } = manager;
  const limits = () => monitors.of(connection.name);
  const busy = (event: BusyEvent): void => void hooks.emit('busy', event);
  const sampler = new QueueSampler({ connection, operations, limits, busy });
  const isKnown = (): boolean => operations.name === connection.name && loop.isOut;
  return new FigureReporter({ connection, operations, counters, sampler, clock, logger, isKnown });
}

function warnOfBlindMonitors({ manager, connection: { name } }: Attended): void {
  const { configuration, logger, monitors } = manager;
  if (monitors.of(name).size === 0) return;
  const reason = configuration.metrics === false ? '`metrics` is false' : 'no connection keeps records';
  logger.warn({ connection: name }, `Queue.monitor() sees nothing of '${name}': ${reason}.`);
}

/** A worker that ends sooner leaves no record. */
const FIRST: Milliseconds = 1000;
/** How long the end of a worker waits for its record to be removed. A record that stays expires. */
const PATIENCE: Milliseconds = 2000;

/** Keeps a worker's record in the store while it runs, so that others see it. Nothing in the worker waits for it. */
export class OwnRecord implements Companion {
  readonly #worker: Attended;
  readonly #operations: OperationsConnection;
  readonly #id = uuidv7();
  readonly #startedAt: Milliseconds;
  #next: Timer;
  /** The write under way: the removal must not overtake it. */
  #putting: Promise<void> | undefined;
  #isKept = false;
  #isClosed = false;
  #isTold = false;

  constructor(worker: Attended, operations: OperationsConnection) {
    this.#worker = worker;
    this.#operations = operations;
    const { clock } = worker.manager;
    this.#startedAt = clock.monotonic();
    this.#next = clock.after(FIRST, () => this.#beat());
  }

  async close(): Promise<void> {
    const { clock } = this.#worker.manager;
    this.#isClosed = true;
    this.#next.cancel();
    if (this.#putting === undefined && !this.#isKept) return;
    const removed = Promise.resolve(this.#putting).then(() => removeWorker(this.#operations.records, this.#id));
    await within(clock, PATIENCE, removed).catch(() => undefined);
  }

  #beat(): void {
    this.#putting = this.#put()
      .catch((error: unknown) => this.#tell(error))
      .finally(() => {
        this.#putting = undefined;
        if (!this.#isClosed) this.#next = this.#worker.manager.clock.after(BEAT, () => this.#beat());
      });
  }

  async #put(): Promise<void> {
    const at = (await this.#operations.now?.()) ?? this.#worker.manager.clock.now();
    await putWorker(this.#operations.records, this.#report(at));
    this.#isKept = true;
    this.#isTold = false;
  }

  #report(at: Milliseconds): WorkerReport {
    const { name, manager, connection, options, loop } = this.#worker;
    const { state, queues, lag, paused, outcomes, running: busy } = loop.glance;
    const { waiting } = loop.runs;
    // Durations are measured here and placed by the store's clock, because our wall clock may be off.
    const moment = (monotonic: Milliseconds): Milliseconds => Math.round(at - manager.clock.monotonic() + monotonic);
    return {
      id: this.#id,
      name,
      host: hostname(),
      pid: process.pid,
      version: VERSION,
      connection: connection.name,
      queues,
      concurrency: options.concurrency,
      state: state === 'stopping' ? 'stopping' : 'running',
      at,
      since: moment(this.#startedAt),
      lag,
      paused,
      outcomes,
      busy,
      running: loop.runs.running.map((job) => ({
        id: job.id,
        name: job.name,
        queue: job.queue,
        attempt: job.attempts,
        fence: job.fence,
        since: moment(job.startedAt),
      })),
      waiting: waiting && {
        id: waiting.id,
        name: waiting.name,
        queue: waiting.queue,
        attempt: waiting.attempts,
      },
    };
  }

  // Once per streak. A store that is away is reported by its driver or by the worker.
  #tell(error: unknown): void {
    const { manager, connection } = this.#worker;
    if (this.#isTold || isStoreAway(error)) return;
    this.#isTold = true;
    const message = `The worker goes on, but is not seen by others (onqueue workers): ${errorMessage(error)}`;
    manager.logger.warn({ connection: connection.name, during: 'keeping the record of the worker' }, message);
  }
}
