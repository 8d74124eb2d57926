/** The public face of one connection: Laravel's names, over a driver that knows only payloads. */
import type { Seconds } from '../base/clock';
import { type Duration, durationSeconds } from '../job/duration';
import { invalidDuration } from '../job/errors';
import type { ResultOf } from '../job/job';
import { checkQueueName } from '../job/queue-name';
import type { Capabilities, Connection, Counts } from '../connections/contract';
import type { ConnectionSettings } from '../connections/connector';
import type { CancelOptions, CancelResult, Control } from '../connections/control';
import { CapabilityError } from '../connections/errors';
import { invalidListing } from '../operations/errors';
import { type FigureOptions, type Figures, readFigures } from '../operations/figures/figures';
import { findJob, type FoundJob } from '../operations/found-job';
import { awaitResult } from '../operations/results/results';
import { type JobPage, listJobs, type ListOptions } from '../operations/job-page';
import { type Snapshot, type SnapshotOptions, takeSnapshot } from '../operations/snapshot';
import { listWorkers, type RunningWorker } from '../operations/worker-record';
import { invalidCancelReason, invalidJobId } from './errors';
import type { JobEncoder } from './job-encoder';
import { QueuePusher } from './queue-pusher';
import type { DispatchApplication } from './dispatch-application';
import { keepOf, targetWithin } from './send';
import { Transaction } from './transaction/transaction';

const ONE_AT_A_TIME = 'name one queue at a time';

export interface PauseOptions {
  /** How long, more than nothing: seconds, or a text with a unit. By default until the queue is resumed. */
  readonly for?: Duration | undefined;
}

export interface FindOptions {
  /** Where the job is known to be: a store that does not look at all jobs looks further there. Default: all queues of the connection. */
  readonly queue?: string | undefined;
}

export interface ResultOptions extends FindOptions {
  /** How long it waits: a duration; 0: it looks once. Default: 30 s. */
  readonly within?: Duration | undefined;
}

export interface QueuePause {
  readonly queue: string;
  /** When the queue goes on by itself, by the clock of the store. Undefined: when it is resumed. */
  readonly until: Date | undefined;
}

export class QueueConnection extends QueuePusher {
  readonly #driver: () => Connection;
  readonly #encoder: JobEncoder;
  readonly #application: DispatchApplication;

  constructor(settings: ConnectionSettings, manager: DispatchApplication) {
    const driver = (): Connection => manager.driver(settings.name);
    super(settings, driver, manager.encoder, (encoded, job) => {
      const keep = keepOf(manager, job, settings.name, { keep: Transaction.keep() });
      keep?.(encoded, manager);
      return keep !== undefined;
    });
    this.#driver = driver;
    this.#encoder = manager.encoder;
    this.#application = manager;
  }

  /** The absolute path or address of the store, for people: never a password. */
  get address(): string {
    return this.#driver().address;
  }

  /**
   * The same queues within a transaction that you have begun in the same database: what is pushed there exists once it is
   * committed, and never if it is not. Takes a client of pg, a connection of mysql2, a handle of libsql, what Prisma,
   * Drizzle, TypeORM, MikroORM, kysely, knex or postgres.js hands to the function of a transaction, or what has
   * `query(text, values)`.
   *
   * @throws CapabilityError the store cannot do so
   * @throws E_UNKNOWN_TRANSACTION
   */
  using(transaction: unknown): QueuePusher {
    const within = targetWithin(this.#driver(), transaction);
    return new QueuePusher({ name: this.name, queue: this.defaultQueue }, () => within, this.#encoder);
  }

  /** How many jobs are ready, delayed or reserved. */
  async size(queue?: string): Promise<number> {
    const { ready, delayed, reserved } = await this.counts(queue);
    return ready + delayed + reserved;
  }

  /** @throws CapabilityError */
  async counts(queue: string = this.defaultQueue): Promise<Counts> {
    return this.#able('counts').counts(queue);
  }

  /**
   * The job that `dispatch` or `push` gave this id for: where it waits or runs, or what it has failed with. `unknown`: nothing is
   * known of it, as of one that was completed.
   *
   * @throws E_INVALID_JOB_ID, E_INVALID_QUEUE_NAME; CapabilityError: the store cannot look for jobs, and it has not failed
   */
  async find(id: string, { queue }: FindOptions = {}): Promise<FoundJob> {
    checkJobId(id);
    if (queue !== undefined) checkQueueName(queue, 'queue of find()', ONE_AT_A_TIME);
    return findJob(this.#driver(), this.#application, id, queue);
  }

  /**
   * The jobs of a queue that are in one state, a page of them.
   *
   * @throws E_INVALID_QUEUE_NAME, E_INVALID_LISTING; CapabilityError: the store cannot show them
   */
  async jobs(queue: string = this.defaultQueue, options: ListOptions = {}): Promise<JobPage> {
    checkQueueName(queue, 'queue of jobs()', ONE_AT_A_TIME);
    return listJobs(this.#driver(), this.#application, queue, options);
  }

  /**
   * The workers whose records are kept where those of this connection are, that were heard of within the last minute: those that began
   * first come first. At most 1000. Each says which connection it works on.
   *
   * @throws E_NO_RECORDS
   */
  async workers(): Promise<RunningWorker[]> {
    return listWorkers(this.#driver(), this.#application);
  }

  /**
   * How the queues are now, and who works them: what `onqueue monitor` shows. Takes up to three calls for each of at most 100 queues.
   *
   * @throws E_INVALID_LISTING, E_INVALID_QUEUE_NAME; CapabilityError: the store does not count jobs
   */
  async snapshot(options: SnapshotOptions = {}): Promise<Snapshot> {
    const { queues = [] } = options;
    // The letters of a text would be taken for names.
    if (!Array.isArray(queues)) throw invalidListing('queues', queues, 'Give a list of names.');
    for (const queue of queues) checkQueueName(queue, 'queue of snapshot()', ONE_AT_A_TIME);
    return takeSnapshot(this.#driver(), this.#application, this.defaultQueue, options);
  }

  /**
   * What the workers of all processes have done, by queue and by job: how many, how fast, how they ended. Ten seconds late.
   *
   * @throws E_NO_RECORDS, E_INVALID_SPAN, E_INVALID_DURATION, E_INVALID_QUEUE_NAME
   */
  async figures(options: FigureOptions = {}): Promise<Figures> {
    if (options.queue !== undefined) checkQueueName(options.queue, 'queue of figures()', ONE_AT_A_TIME);
    const operations = this.#application.neededOperationsOf(this.#driver());
    return readFigures(this.name, operations, this.#application.clock, options);
  }

  /**
   * Waits for the end of the job that `dispatch` or `push` gave this id for, and gives what its `handle()` gave, if its class says
   * `keepResult`; undefined: that is not kept, any more, or there never was such a job.
   *
   * @throws JobFailedError it has failed; E_JOB_ENDED_CANCELLED; E_RESULT_NOT_KEPT; E_RESULT_PENDING it has not ended in time;
   *   E_NO_RECORDS nothing is kept of the jobs of this connection; E_INVALID_JOB_ID, E_INVALID_QUEUE_NAME, E_INVALID_DURATION;
   *   QueueUnavailableError
   */
  async result<T = unknown>(
    id: string,
    { queue, within = '30s' }: ResultOptions = {},
  ): Promise<ResultOf<T> | undefined> {
    checkJobId(id);
    if (queue !== undefined) checkQueueName(queue, 'queue of result()', ONE_AT_A_TIME);
    const seconds = durationSeconds(within, 'within of result()');
    const value = await awaitResult(this.#driver(), this.#application, { id, queue, within: seconds });
    return value as ResultOf<T> | undefined;
  }

  /**
   * Removes what is ready, delayed or reserved, and says how many; failed jobs stay. A job that runs ends as lost.
   *
   * @throws CapabilityError
   */
  async clear(queue: string = this.defaultQueue): Promise<number> {
    return this.#able('clear').clear(queue);
  }

  /**
   * Cancels the job that `dispatch` or `push` gave this id for: one that waits is removed, one that runs is told to stop
   * within a second: its `signal` aborts. Failed jobs stay.
   *
   * @throws E_INVALID_JOB_ID, E_INVALID_QUEUE_NAME, E_INVALID_CANCEL_REASON, CapabilityError
   */
  async cancel(id: string, options: CancelOptions = {}): Promise<CancelResult> {
    const { queue, reason } = options;
    checkJobId(id);
    if (queue !== undefined) checkQueueName(queue, 'queue of cancel()', ONE_AT_A_TIME);
    if (reason !== undefined) checkCancelReason(reason);
    return this.#control().cancel(id, queue, reason);
  }

  /**
   * From the moment this resolves no worker gets a job of the queue; those that run go on, and what is pushed waits.
   * False: it was paused already; when that ends is what is said here.
   *
   * @param options `for`: how long, by the clock of the store: then it goes on by itself; by default until it is resumed
   * @throws E_INVALID_QUEUE_NAME, E_INVALID_DURATION, CapabilityError
   */
  async pause(queue: string = this.defaultQueue, options: PauseOptions = {}): Promise<boolean> {
    checkQueueName(queue, 'queue of pause()', ONE_AT_A_TIME);
    return this.#control().pause(queue, secondsOf(options));
  }

  /**
   * Pauses all queues that were ever used, and the connection's own; a queue that is first used later is not paused. Gives
   * their names.
   *
   * @throws E_INVALID_DURATION, CapabilityError
   */
  async pauseAll(options: PauseOptions = {}): Promise<string[]> {
    const [control, seconds] = [this.#control(), secondsOf(options)];
    const queues = [...new Set([this.defaultQueue, ...(await this.#driver().queues())])].toSorted();
    for (const queue of queues) await control.pause(queue, seconds);
    return queues;
  }

  /** Resumes all queues that are paused, and gives their names. @throws CapabilityError */
  async resumeAll(): Promise<string[]> {
    const control = this.#control();
    const queues = (await control.paused()).map(({ queue }) => queue);
    for (const queue of queues) await control.resume(queue);
    return queues;
  }

  /** Workers take jobs of the queue again. False: it was not paused. @throws E_INVALID_QUEUE_NAME, CapabilityError */
  async resume(queue: string = this.defaultQueue): Promise<boolean> {
    checkQueueName(queue, 'queue of resume()', ONE_AT_A_TIME);
    return this.#control().resume(queue);
  }

  /** Whether nothing is taken from the queue. @throws E_INVALID_QUEUE_NAME, CapabilityError */
  async isPaused(queue: string = this.defaultQueue): Promise<boolean> {
    checkQueueName(queue, 'queue of isPaused()', ONE_AT_A_TIME);
    return (await this.pausedQueues()).includes(queue);
  }

  /** The queues that are paused, in the order of their names. @throws CapabilityError */
  async pausedQueues(): Promise<string[]> {
    return (await this.pauses()).map(({ queue }) => queue);
  }

  /** The queues that are paused, in the order of their names, each with the moment when that ends by itself. @throws CapabilityError */
  async pauses(): Promise<QueuePause[]> {
    const pauses = await this.#control().paused();
    return pauses.map(({ queue, until }) => ({ queue, until: until === undefined ? undefined : new Date(until) }));
  }

  /**
   * Tells all workers of the store to finish what they run and end, so that whoever started them starts them anew, with
   * the code and the configuration of today. Resolves once the order is there; workers heed it with their next reserve.
   *
   * @throws CapabilityError
   */
  async restart(): Promise<void> {
    return this.#control().restart();
  }

  #control(): Control {
    const { control, driver } = this.#able('control');
    if (control === undefined) throw new CapabilityError(this.name, driver, 'control');
    return control;
  }

  #able(capability: keyof Capabilities): Connection {
    const driver = this.#driver();
    if (!driver.capabilities[capability]) throw new CapabilityError(this.name, driver.driver, capability);
    return driver;
  }
}

function secondsOf({ for: time }: PauseOptions): Seconds | undefined {
  if (time === undefined) return undefined;
  const seconds = durationSeconds(time, 'the time of a pause');
  if (seconds === 0) throw invalidDuration(time, 'the time of a pause, which is longer than nothing', undefined);
  return seconds;
}

/** @throws E_INVALID_JOB_ID */
function checkJobId(id: unknown): void {
  // In JavaScript, a dispatch that was not awaited would be looked for as [object Promise].
  if (typeof id !== 'string' || id === '') throw invalidJobId(id);
}

/** Characters; databases have a column of that length. */
const LONGEST_REASON = 255;

/** @throws E_INVALID_CANCEL_REASON */
function checkCancelReason(reason: unknown): void {
  const isText = typeof reason === 'string' && reason.trim() !== '' && reason.length <= LONGEST_REASON;
  // It stands in one line of a log, and every store can hold it.
  if (!isText || /\p{Cc}/u.test(reason) || !reason.isWellFormed()) throw invalidCancelReason(reason, LONGEST_REASON);
}
