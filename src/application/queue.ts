/** `Queue`: a thin facade over the manager that a program has by default. */
import { runningJob } from '../job/running-job';
import { HOOK_NAMES, type HookEvents } from '../job/hook-events';
import { checkHook, type Hook, type HookName } from '../job/hooks';
import type { FailedJobs } from './failed/failed-jobs';
import { Bus } from './bus';
import type { Batch } from '../dispatch/batch/batch';
import type { Batches } from '../dispatch/batch/batches';
import type { BatchSource, PendingBatch } from '../job/batch';
import type { ChainList, PendingChain } from '../job/chain';
import type { Class, JobInstance } from '../job/definition';
import type { Duration } from '../job/duration';
import type { Lock } from './locks/lock';
import type { Configuration } from './configuration/configuration';
import type { Drivers } from '../connections/configs';
import type { Connector } from '../connections/connector';
import type { CancelOptions, CancelResult } from '../connections/control';
import { addDefaultConnector, closeDefaultManager, configureDefaultManager, defaultManager } from './default-manager';
import { fakeFactory, type FakeFunction } from './fake-slot';
import type { PayloadCreator } from '../dispatch/job-encoder';
import type { FindOptions, QueueConnection, ResultOptions } from '../dispatch/queue-connection';
import type { FoundJob } from '../operations/found-job';
import type { ResultOf } from '../job/job';
import type { ErrorCallback } from './error-reports';
import type { Observer } from '../connections/observer';
import { jobMetrics } from '../operations/figures/job-metrics';
import { prometheusText } from '../operations/figures/prometheus-text';
import type { LimitsByQueue } from '../operations/figures/queue-monitors';
import type { JobRoute } from '../dispatch/routes';
import { Transaction } from '../dispatch/transaction/transaction';
import type { PendingSchedule } from '../schedule/pending-schedule';
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

/** Its static methods come from the list of hooks: a new one needs nothing here. */
const HookFront = Object.assign(
  class {},
  Object.fromEntries(HOOK_NAMES.map((name) => [name, hook(name)])) as object as HookMethods,
);

export class Queue extends HookFront {
  /**
   * Says which connections there are. Nothing is opened before its first use.
   *
   * @throws ConfigurationError names every mistake
   * @throws E_ALREADY_CONFIGURED connections of a configuration that says something else are in use; `await Queue.close()` first
   */
  static configure<
    const Name extends string,
    const Default extends string = Name,
    const Failed extends string = Name,
    const Operations extends string = Name,
  >(configuration: Configuration<Name, Default, Failed, Operations>): void {
    configureDefaultManager(configuration);
  }

  /** By default the connection that the configuration names as `default`. */
  static connection(name?: string): QueueConnection {
    return defaultManager().connection(name);
  }

  /** Queues a job, or one that is only a name (`Class@method`) and JSON data, on the default connection. */
  static readonly push = ofDefault('push');
  /** Like `push`, the queue first. */
  static readonly pushOn = ofDefault('pushOn');
  /** Like `push`, to become ready after `delay`: a duration from now, or a moment. */
  static readonly later = ofDefault('later');
  /** Like `later`, the queue first. */
  static readonly laterOn = ofDefault('laterOn');
  /** Queues a text that is a payload already, as it is; gives the `id` in it, if it has one. */
  static readonly pushRaw = ofDefault('pushRaw');
  /** Like `pushRaw`, to become ready after `delay`. */
  static readonly laterRaw = ofDefault('laterRaw');
  /** Queues many jobs with few calls; gives their ids, in the same order. */
  static readonly bulk = ofDefault('bulk');

  /**
   * Jobs that run one after the other, each sent in the step that records the success of the one before it:
   * `await Queue.chain([new Fetch(url), new Resize(80), new Report()]).catch(new Alert()).dispatch()`.
   *
   * A link that fails for good ends the chain; retried, it goes on. What is false, null or undefined is left out.
   */
  static chain(links: ChainList): PendingChain {
    return Bus.chain(links);
  }

  /**
   * Jobs that run in any order, and what is sent when all have completed, when the first has failed, when none is left:
   * `await Queue.batch([new Resize(1), [new Resize(2), new Upload(2)]]).then(new Report()).dispatch()`.
   *
   * An inner list is a chain. What is false, null or undefined is left out. A generator's jobs are sent as they come.
   */
  static batch(jobs: BatchSource): PendingBatch<Batch> {
    return Bus.batch(jobs);
  }

  /** The batches of a connection: get, list, cancel, retryFailed, prune. */
  static get batches(): Omit<Batches, 'send'> {
    return defaultManager().batches;
  }

  /**
   * Calls `fn`, and gives what it gives. What is dispatched meanwhile with `afterCommit()`, by it and by all that it
   * awaits, is sent once it has resolved, and never if it rejects. It begins no transaction in a database: `fn` does.
   *
   * One within another one hands its jobs on to that when it has resolved.
   *
   * @throws what `fn` throws; AfterCommitError: `fn` is done, and not all jobs could be sent
   */
  static async transaction<T>(fn: () => T): Promise<Awaited<T>> {
    checkHook('transaction', fn);
    return Transaction.run(fn);
  }

  /**
   * Says where jobs of a class, and of those that extend it, go if they say nothing themselves: `Queue.route(Report, { queue: 'slow' })`.
   * A dispatch, an instance and `@Job()` are stronger, the connection's own queue is weaker.
   *
   * @throws E_INVALID_JOB_OPTION, E_INVALID_QUEUE_NAME, E_UNKNOWN_CONNECTION; where the configuration comes later, that
   *   throws the last one
   */
  static route(job: Class, route: JobRoute): void {
    defaultManager().route(job, route);
  }

  /**
   * Has workers send a job by themselves: `Queue.schedule(() => new Prune('30d')).daily().at('03:00')`. One that needs no data may say
   * so in `@Job({ schedule })`. Complete at the end of the statement, or rather a microtask later.
   *
   * @param make makes the job, anew for each occurrence
   * @throws E_INVALID_SCHEDULE; what only the whole can tell, such as E_DUPLICATE_SCHEDULE, is an unhandled rejection
   */
  static schedule(make: () => JobInstance): PendingSchedule {
    // oxlint-disable-next-line typescript/unbound-method -- only looked for on the stack
    return defaultManager().schedules.declare(make, Queue.schedule);
  }

  /** The schedules: list, occurrences, pause, resume, run. */
  static get schedules(): Omit<Schedules, 'all' | 'declare' | 'keep' | 'share'> {
    return defaultManager().schedules;
  }

  /** How many jobs are ready, delayed or reserved. */
  static readonly size = ofDefault('size');
  static readonly counts = ofDefault('counts');

  /**
   * The job that `dispatch` or `push` gave this id for: where it waits or runs, or what it has failed with. `unknown`: nothing is
   * known of it, as of one that was completed.
   *
   * @param options `connection`: the one that it was sent to, by default the default one: an id does not tell
   * @throws E_INVALID_JOB_ID, E_INVALID_QUEUE_NAME, E_UNKNOWN_CONNECTION; CapabilityError: the store cannot look for jobs, and it
   *   has not failed
   */
  static async find(
    id: string,
    options: FindOptions & { readonly connection?: string | undefined } = {},
  ): Promise<FoundJob> {
    return defaultManager().connection(options.connection).find(id, options);
  }

  /** The jobs of a queue of the default connection that are in one state, a page of them. */
  static readonly jobs = ofDefault('jobs');
  /** The workers of the default connection's store, and what they run. */
  static readonly workers = ofDefault('workers');
  /** How the queues of the default connection are now, and who works them. */
  static readonly snapshot = ofDefault('snapshot');
  /** What the workers of the default connection have done, by queue and by job: how many, how fast, how they ended. */
  static readonly figures = ofDefault('figures');

  /**
   * Waits for the end of the job that `dispatch` or `push` gave this id for, and gives what its `handle()` gave, if its class says
   * `keepResult`: `await Queue.result<MakeInvoice>(id, { within: '1m' })`. Undefined: that is not kept, any more, or there never was such
   * a job.
   *
   * @param options `within`: how long it waits, by default 30 s; `connection`: the one that it was sent to, by default the default one
   * @throws JobFailedError it has failed; E_JOB_ENDED_CANCELLED; E_RESULT_NOT_KEPT; E_RESULT_PENDING it has not ended in time;
   *   E_NO_RECORDS nothing is kept of the jobs of this connection; E_INVALID_JOB_ID, E_INVALID_QUEUE_NAME, E_INVALID_DURATION,
   *   E_UNKNOWN_CONNECTION; QueueUnavailableError
   */
  static async result<T = unknown>(
    id: string,
    options: ResultOptions & { readonly connection?: string | undefined } = {},
  ): Promise<ResultOf<T> | undefined> {
    return defaultManager().connection(options.connection).result<T>(id, options);
  }

  /**
   * Says how far the running job is, as `this.job.progress` does, from whatever it calls: a number from 0 to 1, and perhaps what it
   * does, in up to 255 characters. `Queue.find(id)` shows the latest, within about a second.
   *
   * @throws E_NO_JOB_RUNS, E_INVALID_PROGRESS
   */
  static progress(value: number, text?: string): void {
    runningJob('Queue.progress()').progress(value, text);
  }

  /**
   * What this very process has dispatched, and its workers have run, in the text format of Prometheus: for a `/metrics` of your own.
   * `onqueue work --health-port` serves the same.
   */
  static metrics(): string {
    return prometheusText(jobMetrics(defaultManager().counters.all));
  }

  /** Removes what is ready, delayed or reserved, and says how many; failed jobs stay. */
  static readonly clear = ofDefault('clear');

  /**
   * Cancels the job that `dispatch` or `push` gave this id for: one that waits is removed, one that runs is told to stop
   * within a second: its `signal` aborts. Failed jobs stay.
   *
   * @param options `connection`: the one that it was sent to, by default the default one: an id does not tell
   * @throws E_INVALID_JOB_ID, E_INVALID_QUEUE_NAME, E_INVALID_CANCEL_REASON, E_UNKNOWN_CONNECTION, CapabilityError
   */
  static async cancel(
    id: string,
    options: CancelOptions & { readonly connection?: string | undefined } = {},
  ): Promise<CancelResult> {
    return defaultManager().connection(options.connection).cancel(id, options);
  }

  /** From the moment this resolves no worker gets a job of the queue; those that run go on. False: it was paused already. */
  static readonly pause = ofDefault('pause');
  /** Pauses all queues of the default connection that were ever used, and its own. Gives their names. */
  static readonly pauseAll = ofDefault('pauseAll');
  /** Workers take jobs of the queue again. False: it was not paused. */
  static readonly resume = ofDefault('resume');
  /** Resumes all queues of the default connection that are paused, and gives their names. */
  static readonly resumeAll = ofDefault('resumeAll');
  /** Whether nothing is taken from the queue. */
  static readonly isPaused = ofDefault('isPaused');
  /** The queues of the default connection that are paused. */
  static readonly pausedQueues = ofDefault('pausedQueues');
  /** The queues of the default connection that are paused, and until when. */
  static readonly pauses = ofDefault('pauses');
  /** Tells all workers of the default connection's store to finish what they run and end, so that they are started anew. */
  static readonly restart = ofDefault('restart');

  /** The jobs that are out of tries: list, get, retry, forget, flush, prune. */
  static get failed(): FailedJobs {
    return defaultManager().failed;
  }

  /** A lock on the default connection, which ends by itself after `ttl`. */
  static lock(name: string, ttl: Duration): Lock {
    return defaultManager().lock(name, ttl);
  }

  /** Makes a driver of one's own known, for good; before a connection of it is used. */
  static addConnector<Driver extends keyof Drivers>(driver: Driver, connector: Connector<Drivers[Driver]>): void {
    addDefaultConnector(driver, connector);
  }

  /** Adds fields to every payload from here on. Gives the function that takes it off again. */
  static createPayloadUsing(creator: PayloadCreator): () => void {
    return defaultManager().createPayloadUsing(creator);
  }

  /**
   * Has `observer` see jobs from here on: their dispatch, their runs from the inside, and how they ended. For tracing and figures:
   * nothing waits for it, and it changes no outcome. Gives the function that takes it off again.
   *
   * @throws E_INVALID_OBSERVER
   */
  static observe(observer: Observer): () => void {
    return defaultManager().observe(observer);
  }

  /**
   * Has the `busy` hook be told of queues in which more than `size` jobs are ready, or the oldest of them has waited for longer than
   * `wait`: `Queue.monitor({ mail: { size: 1000, wait: '5m' } })`. Workers look once a minute, for all processes one.
   *
   * @param connection default: the default one
   * @throws E_INVALID_MONITOR, E_INVALID_QUEUE_NAME, E_INVALID_DURATION
   */
  static monitor(limits: LimitsByQueue, connection?: string): void {
    defaultManager().monitors.add(limits, connection);
  }

  /** Hears errors that nobody awaits. Gives the function that takes it off again. */
  static onError(callback: ErrorCallback): () => void {
    return defaultManager().onError(callback);
  }

  /** Puts a fake in the place of all connections, until it is restored: for tests. */
  static get fake(): FakeFunction {
    return fakeFactory();
  }

  /**
   * Sends what was dispatched and not awaited, stops this process's workers, closes the connections. What is used after
   * that starts afresh: without hooks, and with what `Queue.configure` was given last, until it is given something else.
   */
  static close(): Promise<void> {
    return closeDefaultManager();
  }
}
