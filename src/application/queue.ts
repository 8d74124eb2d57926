/** `Queue`: a thin facade over the program's default manager. */
import { late } from '../base/late-parts';
import { valueText } from '../base/text';
import { noQueueObject } from './errors';
import { runningJob, type BatchSource, type ChainList } from '../job/job-context';
import { HOOK_NAMES, checkHook, type HookEvents, type Hook, type HookName } from '../job/hooks';
import type { FailedJobs } from './failed/failed-jobs';
import {
  Bus,
  addDefaultConnector,
  closeDefaultManager,
  configureDefaultManager,
  defaultManager,
  type FakeFunction,
} from './default-manager';
import type { Batch, Batches } from '../dispatch/batch/batch';
import type { PendingBatch, PendingChain } from '../job/pending';
import type { JobInstance } from '../job/registry';
import type { Class } from '../base/class';
import type { Delay, Duration } from '../job/duration';
import type { Lock } from './lock';
import type { Configuration } from './configuration/configuration';
import type { Drivers, Connector } from '../connections/driver';
import type { CancelResult, RescheduleResult } from '../connections/contract';
import type { PayloadCreator } from '../dispatch/job-encoder';
import type { JobRoute } from '../dispatch/routes';
import type {
  CancelOptions,
  FindOptions,
  QueueConnection,
  ResultOptions,
  RevealOption,
} from '../dispatch/queue-connection';
import type { JobEvent } from '../operations/events/job-event';
import type { EventsOptions } from '../operations/events/job-events';
import type { FoundJob } from '../operations/found-job';
import type { ResultOf } from '../job/job';
import type { ErrorCallback } from './error-reports';
import type { Observer } from '../connections/application';
import { jobMetrics, prometheusText } from '../operations/figures/metrics';
import type { LimitsByQueue } from '../operations/figures/queue-sampler';
import { inTransaction, type TransactionOf } from '../dispatch/database-transaction';
import { Transaction } from '../dispatch/transaction';
import type { PendingSchedule } from '../schedule/schedule';
import type { Schedules } from '../schedule/schedules';

const connection = (): QueueConnection => defaultManager().connection();

/** A method of the default connection. */
function ofDefault<Name extends MethodsOf<QueueConnection>>(name: Name): QueueConnection[Name] {
  const call = (...given: readonly unknown[]): unknown => {
    const target = connection();
    return Reflect.apply(target[name], target, given);
  };
  return call as QueueConnection[Name];
}

type MethodsOf<T> = { [Key in keyof T]: T[Key] extends (...given: never) => unknown ? Key : never }[keyof T];

type HookMethods = { readonly [Name in keyof HookEvents]: (callback: Hook<Name>) => () => void };

const hook =
  <Name extends HookName>(name: Name) =>
  (callback: Hook<Name>): (() => void) =>
    defaultManager().hooks.on(name, callback);

/** Its static methods come from the list of hooks, so a new hook needs nothing here. */
const HookFront = Object.assign(
  class {},
  Object.fromEntries(HOOK_NAMES.map((name) => [name, hook(name)])) as object as HookMethods,
);

/** Jobs, queues, workers, schedules and failed jobs of this program, on the connections of its configuration. */
export class Queue extends HookFront {
  /**
   * For those who come from BullMQ: there is no object for each queue.
   *
   * @throws E_NO_QUEUE_OBJECT
   */
  constructor(wrong: never) {
    super();
    throw noQueueObject(`new Queue(${valueText(wrong)})`);
  }

  /** For those who come from BullMQ: jobs are classes, which dispatch themselves. @throws E_NO_QUEUE_OBJECT */
  static add(...wrong: never[]): never {
    throw noQueueObject(`Queue.add(${wrong.map(valueText).join(', ')})`);
  }

  /**
   * Sets the configuration. Nothing is opened before its first use.
   *
   * @throws ConfigurationError names every mistake
   * @throws E_ALREADY_CONFIGURED connections of a different configuration are in use; `await Queue.close()` first
   */
  static configure<
    const Name extends string,
    const Default extends string = Name,
    const Failed extends string = Name,
    const Operations extends string = Name,
  >(configuration: Configuration<Name, Default, Failed, Operations>): void {
    configureDefaultManager(configuration);
  }

  /** The connection of this name. Default: the configuration's `default`. */
  static connection(name?: string): QueueConnection {
    return defaultManager().connection(name);
  }

  /** Queues a job, or a name (`Class@method`) with JSON data, on the default connection. */
  static readonly push = ofDefault('push');
  /** Like `push`, with the queue as first argument. */
  static readonly pushOn = ofDefault('pushOn');
  /** Like `push`, but ready only after `delay`: a duration from now, or a moment. */
  static readonly later = ofDefault('later');
  /** Like `later`, with the queue as first argument. */
  static readonly laterOn = ofDefault('laterOn');
  /** Queues a text that is already a payload, unchanged. Resolves to the `id` in it, if it has one. */
  static readonly pushRaw = ofDefault('pushRaw');
  /** Like `pushRaw`, but ready only after `delay`. */
  static readonly laterRaw = ofDefault('laterRaw');
  /** Queues many jobs in few calls. Resolves to their ids, in the same order. */
  static readonly bulk = ofDefault('bulk');

  /**
   * Jobs that run one after the other, each sent in the step that records the success of the one before it: `await
   * Queue.chain([new Fetch(url), new Resize(80), new Report()]).catch(new Alert()).dispatch()`.
   *
   * A link that fails for good ends the chain; if it is retried, the chain goes on. False, null and undefined are left out.
   */
  static chain(links: ChainList): PendingChain {
    return Bus.chain(links);
  }

  /**
   * Jobs that run in any order, with callbacks when all have completed, the first has failed, or all have ended: `await
   * Queue.batch([new Resize(1), [new Resize(2), new Upload(2)]]).then(new Report()).dispatch()`.
   *
   * An inner list is a chain. False, null and undefined are left out. A generator's jobs are sent as they come.
   */
  static batch(jobs: BatchSource): PendingBatch<Batch> {
    return Bus.batch(jobs);
  }

  /** The batches of a connection: get, list, cancel, retryFailed, prune. */
  static get batches(): Omit<Batches, 'send'> {
    return defaultManager().batches;
  }

  /**
   * Calls `fn` and returns its result. Jobs that `fn`, or anything it awaits, dispatches with `afterCommit()` are sent once `fn`
   * has resolved, and never if it rejects.
   *
   * Given a database of kysely, knex, Prisma or Drizzle, it opens its transaction around `fn`, which gets it. Without one it begins
   * nothing in a database: `fn` does.
   *
   * An inner transaction hands its jobs to the outer one when it has resolved.
   *
   * @throws what `fn` throws; AfterCommitError if `fn` has resolved but not all jobs could be sent; E_UNKNOWN_DATABASE
   */
  static transaction<T>(fn: () => T): Promise<Awaited<T>>;
  static transaction<Database extends object, T>(
    database: Database,
    fn: (transaction: TransactionOf<Database>) => T,
  ): Promise<Awaited<T>>;
  static async transaction(
    ...given: readonly [fn: unknown] | readonly [database: unknown, fn: unknown]
  ): Promise<unknown> {
    const fn: unknown = given.at(-1);
    checkHook('transaction', fn);
    const work = fn as (transaction?: unknown) => unknown;
    if (given.length === 1) return Transaction.run(work);
    return Transaction.run(() => inTransaction(given[0], async (transaction) => work(transaction)));
  }

  /**
   * Sets where jobs of a class and of its subclasses go if they choose nothing themselves: `Queue.route(Report, { queue: 'slow'
   * })`. A dispatch, an instance and `@Job()` override it; it overrides the connection's own queue.
   *
   * @throws E_INVALID_JOB_OPTION, E_INVALID_QUEUE_NAME, E_UNKNOWN_CONNECTION (the last one when the configuration is loaded, if
   * that happens later)
   */
  static route(job: Class, route: JobRoute): void {
    defaultManager().route(job, route);
  }

  /**
   * Lets workers send a job by themselves: `Queue.schedule(() => new Prune('30d')).daily().at('03:00')`. A job that needs no data
   * may use `@Job({ schedule })` instead. The schedule is complete at the end of the statement (precisely: one microtask later).
   *
   * @param make makes the job, anew for each occurrence
   * @throws E_INVALID_SCHEDULE; errors that only the complete schedule shows, such as E_DUPLICATE_SCHEDULE, are unhandled
   * rejections
   */
  static schedule(make: () => JobInstance): PendingSchedule {
    // oxlint-disable-next-line typescript/unbound-method -- only looked for on the stack
    return defaultManager().schedules.declare(make, Queue.schedule);
  }

  /** The schedules: list, occurrences, pause, resume, run; and put and remove those that are stored. */
  static get schedules(): Omit<Schedules, 'all' | 'declare' | 'driven' | 'isDriven' | 'keep' | 'named' | 'share'> {
    return defaultManager().schedules;
  }

  /** How many jobs are ready, delayed or reserved, in all. */
  static readonly size = ofDefault('size');
  /** How many jobs are ready, how many delayed, and how many reserved. */
  static readonly counts = ofDefault('counts');

  /**
   * Finds the job with this id, as `dispatch` or `push` returned it: where it waits or runs, why it failed, or that it has completed
   * within the last hour. State `unknown` if nothing is known of it.
   *
   * @param options `connection`: the one that the job was sent to; default: the default connection; `reveal`: opens encrypted data, and
   * masks nothing in the data
   * @throws E_INVALID_JOB_ID, E_INVALID_QUEUE_NAME, E_UNKNOWN_CONNECTION; CapabilityError if the store cannot look for jobs and
   * nothing is kept of it; with `reveal`, E_UNKNOWN_KEY, E_TAMPERED_PAYLOAD
   */
  static async find(
    id: string,
    options: FindOptions & RevealOption & { readonly connection?: string | undefined } = {},
  ): Promise<FoundJob> {
    return defaultManager().connection(options.connection).find(id, options);
  }

  /**
   * What happens from now on to jobs, in all processes, for a server that pushes progress to browsers: `for await (const event of
   * Queue.events({ ids: [id] }))` gives `started`, `progressed`, `completed`, `failed`, `released` and `cancelled`, each at most
   * once. An event is missed if a process dies or the store is away; a reader that is more than 1000 events behind misses the
   * oldest. Of jobs given by `ids` it also looks how they are, and so finds out what has happened to them already.
   *
   * Ends by `break`, by `return()`, when `signal` aborts, and by `Queue.close()`.
   *
   * @param options `ids`, `queue`, `names`: only these; `connection`: the one whose jobs are meant; default: the default connection
   * @throws E_INVALID_EVENT_FILTER, E_INVALID_QUEUE_NAME, E_UNKNOWN_CONNECTION; E_NO_RECORDS nothing keeps records for the
   * connection
   */
  static events(
    options: EventsOptions & { readonly connection?: string | undefined } = {},
  ): AsyncIterableIterator<JobEvent, undefined> {
    return defaultManager().connection(options.connection).events(options);
  }

  /** One page of the jobs in a queue of the default connection that are in a given state. */
  static readonly jobs = ofDefault('jobs');
  /** The workers of the default connection's store, and what they run. */
  static readonly workers = ofDefault('workers');
  /** The current state of the default connection's queues, and the workers on them. */
  static readonly snapshot = ofDefault('snapshot');
  /** What the workers of the default connection have done, by queue and by job: how many jobs, how fast, with which outcomes. */
  static readonly figures = ofDefault('figures');

  /**
   * Waits for the end of the job with this id, as `dispatch` or `push` returned it, and resolves to the result of its `handle()`,
   * if its class sets `keepResult`: `await Queue.result<MakeInvoice>(id, { within: '1m' })`. Undefined if the result is no longer
   * kept, or there never was such a job.
   *
   * @param options `within`: how long to wait, default 30 s; `connection`: the one that the job was sent to, default: the default
   * connection
   * @throws JobFailedError the job failed; E_JOB_ENDED_CANCELLED; E_RESULT_NOT_KEPT; E_RESULT_PENDING it has not ended in time;
   * E_NO_RECORDS nothing is kept for jobs of this connection; E_INVALID_JOB_ID, E_INVALID_QUEUE_NAME, E_INVALID_DURATION,
   * E_UNKNOWN_CONNECTION; QueueUnavailableError
   */
  static async result<T = unknown>(
    id: string,
    options: ResultOptions & { readonly connection?: string | undefined } = {},
  ): Promise<ResultOf<T> | undefined> {
    return defaultManager().connection(options.connection).result<T>(id, options);
  }

  /**
   * Reports the progress of the running job, as `this.job.progress` does, from any function it calls: a number from 0 to 1, and
   * optionally what it is doing, in up to 255 characters. `Queue.find(id)` shows the latest within about a second.
   *
   * @throws E_NO_JOB_RUNS, E_INVALID_PROGRESS
   */
  static progress(value: number, text?: string): void {
    runningJob('Queue.progress()').progress(value, text);
  }

  /**
   * What this process has dispatched and its workers have run, in the text format of Prometheus, for a `/metrics` of your own.
   * `onqueue work --health-port` serves the same.
   */
  static metrics(): string {
    return prometheusText(jobMetrics(defaultManager().counters.all));
  }

  /** Removes all ready, delayed and reserved jobs, and resolves to their number. Failed jobs stay. */
  static readonly clear = ofDefault('clear');
  /** Forgets a queue that has no jobs. */
  static readonly forget = ofDefault('forget');

  /**
   * Cancels the job with this id, as `dispatch` or `push` returned it. A waiting job is removed; a running one is told to stop
   * within a second: its `signal` aborts. Failed jobs stay.
   *
   * @param options `connection`: the one that the job was sent to; default: the default connection
   * @throws E_INVALID_JOB_ID, E_INVALID_QUEUE_NAME, E_INVALID_CANCEL_REASON, E_UNKNOWN_CONNECTION, CapabilityError
   */
  static async cancel(
    id: string,
    options: CancelOptions & { readonly connection?: string | undefined } = {},
  ): Promise<CancelResult> {
    return defaultManager().connection(options.connection).cancel(id, options);
  }

  /**
   * Lets a delayed job become ready at another moment: `await Queue.reschedule(id, '2h')`, or at a date. It may also wait for its
   * next attempt. If the moment has passed, the job is ready at once. `'ready'` and `'running'`: it is not delayed any more, and
   * stays as it is. `'unknown'`: it has ended or failed, or was never sent here.
   *
   * @param options `connection`: the one that the job was sent to; default: the default connection
   * @throws E_INVALID_JOB_ID, E_INVALID_QUEUE_NAME, E_INVALID_DURATION, E_DEBOUNCED, E_UNKNOWN_CONNECTION, CapabilityError
   */
  static async reschedule(
    id: string,
    delay: Delay,
    options: FindOptions & { readonly connection?: string | undefined } = {},
  ): Promise<RescheduleResult> {
    return defaultManager().connection(options.connection).reschedule(id, delay, options);
  }

  /**
   * Makes a delayed job ready now, at the tail of its queue. It may also wait for its next attempt. Results and options are those
   * of `reschedule`.
   *
   * @throws E_INVALID_JOB_ID, E_INVALID_QUEUE_NAME, E_UNKNOWN_CONNECTION, CapabilityError
   */
  static async promote(
    id: string,
    options: FindOptions & { readonly connection?: string | undefined } = {},
  ): Promise<Exclude<RescheduleResult, 'rescheduled'>> {
    return defaultManager().connection(options.connection).promote(id, options);
  }

  /** Pauses a queue: once this resolves, no worker gets a job from it; running jobs go on. False if it was already paused. */
  static readonly pause = ofDefault('pause');
  /** Pauses all queues of the default connection that were ever used, and its default queue. Resolves to their names. */
  static readonly pauseAll = ofDefault('pauseAll');
  /** Lets workers take jobs from the queue again. False if it was not paused. */
  static readonly resume = ofDefault('resume');
  /** Resumes all paused queues of the default connection. Resolves to their names. */
  static readonly resumeAll = ofDefault('resumeAll');
  /** Whether the queue is paused. */
  static readonly isPaused = ofDefault('isPaused');
  /** The paused queues of the default connection. */
  static readonly pausedQueues = ofDefault('pausedQueues');
  /** The paused queues of the default connection, and until when they are paused. */
  static readonly pauses = ofDefault('pauses');
  /**
   * Lets at most so many jobs of a queue run at a time, over all workers: `await Queue.limit('mail', { running: 10 })`. Kept in the
   * store until it is changed; `undefined` removes it. It stops no job that runs.
   */
  static readonly limit = ofDefault('limit');
  /** The queues of the default connection with a limit. */
  static readonly limits = ofDefault('limits');
  /** One lane of a queue: `Queue.lane('sync', 'tenant-7').limit(10)`, `pause()`, `resume()`. */
  static readonly lane = ofDefault('lane');
  /** One page of the lanes of a queue. */
  static readonly lanes = ofDefault('lanes');
  /** Tells all workers of the default connection's store to finish their jobs and exit, so that they can be started anew. */
  static readonly restart = ofDefault('restart');

  /** The failed jobs: list, get, retry, forget, flush, prune. */
  static get failed(): FailedJobs {
    return defaultManager().failed;
  }

  /** A lock on the default connection, which expires after `ttl` (a number is seconds). @throws E_INVALID_LOCK, E_INVALID_DURATION */
  static lock(name: string, ttl: Duration): Lock {
    return defaultManager().lock(name, ttl);
  }

  /** Registers a connector for a driver of your own, for good; call it before its first use. */
  static addConnector<Driver extends keyof Drivers>(driver: Driver, connector: Connector<Drivers[Driver]>): void {
    addDefaultConnector(driver, connector);
  }

  /** Adds fields to every payload from now on. Returns the function that removes the creator. */
  static createPayloadUsing(creator: PayloadCreator): () => void {
    return defaultManager().createPayloadUsing(creator);
  }

  /**
   * Shows jobs to `observer` from now on: their dispatch, their runs from the inside, and their ends. Meant for tracing and
   * figures: nothing waits for it, and it cannot change an outcome. Returns the function that removes it.
   *
   * @throws E_INVALID_OBSERVER
   */
  static observe(observer: Observer): () => void {
    return defaultManager().observe(observer);
  }

  /**
   * Calls the `busy` hook for queues with more than `size` ready jobs, or whose oldest ready or overdue job has waited longer than `wait`:
   * `Queue.monitor({ mail: { size: 1000, wait: '5m' } })`. Checked once a minute by one worker on behalf of all processes.
   *
   * @param connection default: the default connection
   * @throws E_INVALID_MONITOR, E_INVALID_QUEUE_NAME, E_INVALID_DURATION
   */
  static monitor(limits: LimitsByQueue, connection?: string): void {
    defaultManager().monitors.add(limits, connection);
  }

  /** Calls back with errors that nobody awaits. Returns the function that removes the callback. */
  static onError(callback: ErrorCallback): () => void {
    return defaultManager().onError(callback);
  }

  /** Replaces all connections by a fake until it is restored. For tests. */
  static get fake(): FakeFunction {
    return late.fake;
  }

  /**
   * Sends what was dispatched and not awaited, stops this process's workers, and closes the connections. If `Queue` is used
   * again, it starts afresh: without hooks, and with the configuration last given to `Queue.configure`.
   */
  static close(): Promise<void> {
    return closeDefaultManager();
  }
}
