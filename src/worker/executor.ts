/**
 * Runs one reservation and says how it ended. Never throws, and touches no store.
 *
 * The worker, `sync` and the test kit share it, so that a job cannot work in one of them and break in another. Once the
 * outcome is confirmed by the store, its `announcer` tells the job and the hooks.
 */
import type { Seconds } from '../base/clock';
import type { JobDefinition } from '../job/definition';
import type { Middleware } from '../job/middleware';
import { nearest } from '../base/nearest';
import type { RunOptions, WorkerDefaults } from '../job/options';
import { backoffDelay } from '../job/backoff';
import { DEFAULT_MAX_CRASHES, resolveRun } from '../job/resolve-options';
import { decodeEnvelope, decodeJob, decodeMiddleware, type Envelope } from '../payload/envelope';
import { PayloadVersionError, UnknownClassError } from '../payload/errors';
import { toError } from '../base/exception-text';
import { releasesSinceRetry } from '../payload/retry-mark';
import type { Application } from '../application/application';
import { Recent } from '../base/recent';
import { Announcer } from './announcer';
import { refusalOf } from './attempt';
import { Deadlines } from './deadlines';
import { JobTimedOutError, LaravelJobError, PoisonJobError, UnknownJobError } from './errors';
import { invokeHandle } from './invocation';
import { logApart, logRecovered, logStart } from './job-log';
import { cancelled, failed, neverRun, type Outcome, outcomeOf, releasedForFree, storeNow } from './outcome';
import type { RunningJob } from './running-job';
import { Strangers } from './strangers';

export interface ExecutorSettings {
  readonly defaults: WorkerDefaults;
  /** Seconds between a timeout and the recording of the attempt without the handler. */
  readonly grace: number;
  /** `sync`: one attempt, whatever the job says. */
  readonly single?: boolean | undefined;
  /** Of a worker: itself, which waits for its hooks. */
  readonly caller?: object | undefined;
  /** Of a worker: how long one is silent at least before it loses a job to another. */
  readonly lease?: Seconds | undefined;
  /** Called before a handler starts, which may take the process with it. */
  readonly starting?: (() => void) | undefined;
}

/** What a run needs that was found out before it. */
interface Plan {
  readonly definition: JobDefinition;
  readonly options: RunOptions;
  /** Middleware that the dispatch gave. */
  readonly through: readonly Middleware[];
}

type Done = (outcome: Outcome) => void;

const MOST_CRASHED = 10_000;

export class Executor {
  /** Tells of what `run` has come to. */
  readonly announcer: Announcer;
  readonly #application: Application;
  readonly #settings: ExecutorSettings;
  readonly #deadlines: Deadlines;
  readonly #strangers: Strangers;
  /** The crashes of those that were met: a store says how many there were, and not since when. */
  readonly #crashes = new Recent<string, number>(MOST_CRASHED);
  /** Of runs that wait for their hooks. */
  readonly #goOn = new Set<() => void>();
  #isHastened = false;

  constructor(application: Application, settings: ExecutorSettings) {
    this.#application = application;
    this.#settings = settings;
    this.#deadlines = new Deadlines(application.clock);
    this.#strangers = new Strangers(application.clock);
    this.announcer = new Announcer(application, settings.defaults, settings.caller);
  }

  run(job: RunningJob): Promise<Outcome> {
    return new Promise((resolve) => {
      this.start(job, resolve);
    });
  }

  /**
   * `run` for the worker, whose jobs go without a promise for each step: `done` is called once, and may be called at once.
   *
   * With hooks and a handler that are not async, nothing here is waited for.
   */
  start(job: RunningJob, done: Done): void {
    const confirming = this.#confirmed(job);
    if (confirming === undefined) this.#begin(job, done);
    else void confirming.then(() => this.#begin(job, done));
  }

  // Undefined: it is ours as far as is known.
  #confirmed(job: RunningJob): Promise<void> | undefined {
    const confirming = job.lease?.confirm();
    return confirming && Promise.race([confirming, new Promise<void>((resolve) => (job.onAbort = () => resolve()))]);
  }

  #begin(job: RunningJob, done: Done): void {
    const end = (outcome: Outcome): void => {
      this.#deadlines.remove(job.deadline);
      job.close(outcome.settlement.outcome);
      done(outcome);
    };
    // Its worker was frozen, and somebody else has it; or it was cancelled, or the worker stops.
    if (job.abortReason !== undefined) return end(neverRun(job, job.abortReason));
    let plan: Plan;
    let told: Promise<void> | undefined;
    try {
      const prepared = this.#prepare(job);
      if ('settlement' in prepared) return end(prepared);
      plan = prepared;
      this.#tellRecovery(job);
      told = this.announcer.tell(job, 'before', { connectionName: job.connectionName, job });
    } catch (error) {
      return end(this.#notRun(job, error));
    }
    if (told === undefined) this.#attempt(job, plan, end);
    else
      void this.#heard(told)
        .then(() => this.#confirmed(job))
        .then(() => this.#attempt(job, plan, end));
  }

  #tellRecovery(job: RunningJob): void {
    const { lease: silence } = this.#settings;
    const { crashes } = job.reservation.counters;
    // Each is news once to each worker.
    if (crashes === 0 || silence === undefined || this.#crashes.get(job.id) === crashes) return;
    this.#crashes.set(job.id, crashes);
    // Of one that runs apart, the log has just said why.
    if (!job.isApart) logRecovered(this.#application.logger, job, silence);
    void this.announcer.tell(job, 'recovered', { connectionName: job.connectionName, job, crashes, silence });
  }

  // What is to be run, or why it is not.
  #prepare(job: RunningJob): Plan | Outcome {
    const { registry } = this.#application;
    const isCancelled = (job.reservation.cancelled ?? false) !== false;
    // Before the payload is parsed: a text that kills the parser must not get another worker.
    if (this.#isPoisonForAnyJob(job)) {
      if (isCancelled) return cancelled(job);
      return failed(job, new PoisonJobError(job.name, job.id, job.reservation.counters.crashes));
    }
    const envelope = (job.envelope ??= decodeEnvelope(job.reservation.payload));
    const definition = (job.definition = this.#definitionOf(envelope));
    if (isCancelled) return cancelled(job);
    if (definition === undefined) return this.#unknown(job, envelope);
    const options = this.#options(envelope, definition);
    job.maxTries = options.tries;
    const refusal = refusalOf(job, job.reservation.counters, options, storeNow(job, this.#application));
    if (refusal !== undefined) return failed(job, refusal);
    // Before its data are decoded: if it takes the process with it, this line is what is left of it.
    if (job.isApart) logApart(this.#application.logger, job);
    // Data may take long to decode, too, or never end.
    this.#foresee(job, options);
    job.instance = decodeJob(envelope, definition, registry);
    const through = decodeMiddleware(envelope, registry) as readonly Middleware[];
    return { definition, options, through };
  }

  /** Whether the next crash of a job would be its last. One that never crashed cannot be told from any other. */
  isLastChance(job: RunningJob): boolean {
    const { counters, cancelled: isCancelled = false } = job.reservation;
    if (counters.crashes === 0 || isCancelled !== false || this.#isPoisonForAnyJob(job)) return false;
    // By the strictest of all jobs: a text that kills the parser must be alone before it is parsed.
    const limits = this.#crashLimits().filter((limit) => limit > 0);
    if (counters.crashes + 1 >= Math.min(DEFAULT_MAX_CRASHES, ...limits)) return true;
    try {
      const envelope = (job.envelope = decodeEnvelope(job.reservation.payload));
      const definition = this.#definitionOf(envelope);
      const { maxCrashes } = resolveRun({ payload: envelope.chosen, definition, worker: this.#settings.defaults });
      return maxCrashes > 0 && counters.crashes + 1 >= maxCrashes;
    } catch {
      // Its run says so.
      return false;
    }
  }

  #notRun(job: RunningJob, error: unknown): Outcome {
    // Nobody wants it any more, readable or not.
    if ((job.reservation.cancelled ?? false) !== false) return cancelled(job);
    const isEarly = error instanceof PayloadVersionError || error instanceof UnknownClassError;
    return isEarly ? this.#notYet(job, error) : failed(job, toError(error));
  }

  /** Runs wait for no hook any more that is called before their outcome is stored: it would come too late. */
  hasten(): void {
    this.#isHastened = true;
    for (const goOn of this.#goOn) goOn();
  }

  /** Leaves no timer behind. */
  close(): void {
    this.#deadlines.close();
    this.announcer.close();
  }

  // Never rejects: what a hook throws is reported.
  async #heard(told: Promise<void>): Promise<void> {
    if (this.#isHastened) return;
    let goOn!: () => void;
    const hastened = new Promise<void>((resolve) => (goOn = resolve));
    this.#goOn.add(goOn);
    await Promise.race([told, hastened]);
    this.#goOn.delete(goOn);
  }

  #options(envelope: Envelope, definition: JobDefinition): RunOptions {
    const options = resolveRun({ payload: envelope.chosen, definition, worker: this.#settings.defaults });
    return this.#settings.single === true ? { ...options, tries: 1, retryUntil: undefined, maxCrashes: 0 } : options;
  }

  // The run ends when the handler comes back, or when it was aborted and has not come back within the grace.
  #attempt(job: RunningJob, plan: Plan, end: Done): void {
    const { timeout } = plan.options;
    let isOver = false;
    const conclude = (thrown: Error | undefined): void => {
      if (isOver) return;
      isOver = true;
      this.#conclude(job, plan, thrown, end);
    };
    // A hook has ended it, or it was aborted while the hooks were waited for.
    if (job.ending !== undefined || job.abortReason !== undefined) return conclude(undefined);
    let endsAt = Infinity;
    // Aborted a second time, as by a cancellation after its timeout, it has no more time than before.
    job.onAbort = (grace) => {
      const at = this.#application.clock.monotonic() + grace * 1000;
      if (at >= endsAt) return;
      endsAt = at;
      this.#deadlines.set(job.deadline, grace * 1000, () => conclude(undefined));
    };
    if (timeout > 0) {
      this.#foresee(job, plan.options);
      this.#deadlines.set(job.deadline, timeout * 1000, () =>
        job.abort(new JobTimedOutError(job.name, job.id, timeout), this.#settings.grace),
      );
    }
    job.handler = 'running';
    this.#settings.starting?.();
    logStart(this.#application.logger, job);
    // What `sync` runs is waited for by the one that dispatched it.
    const caller = this.#settings.single === true ? undefined : job;
    invokeHandle(this.#application, job, plan.definition, plan.through, caller, (thrown) => {
      job.handler = 'came-back';
      if (!isOver) return conclude(thrown);
      if (thrown !== undefined && thrown !== job.abortReason) this.#reportIgnored(job, thrown);
      job.onLateReturn?.();
    });
  }

  #conclude(job: RunningJob, plan: Plan, thrown: Error | undefined, end: Done): void {
    let outcome: Outcome;
    try {
      const isIgnored = job.stray === undefined ? job.ending !== undefined : thrown !== job.stray;
      if (thrown !== undefined && isIgnored) this.#reportIgnored(job, thrown);
      outcome = outcomeOf(job, plan.options, thrown, this.#application);
    } catch (error) {
      outcome = failed(job, toError(error));
    }
    const exception = job.ending === undefined || job.stray !== undefined ? outcome.error : undefined;
    job.isFinal = outcome.settlement.outcome !== 'completed';
    // From here on the outcome stands, also for the hooks.
    job.close(outcome.settlement.outcome);
    if (exception === undefined) return end(outcome);
    const { connectionName } = job;
    const told = this.announcer.tell(job, 'exceptionOccurred', { connectionName, job, exception });
    if (told === undefined) end(outcome);
    else void this.#heard(told).then(() => end(outcome));
  }

  /** Of a job whose handler came back, and had left an error behind that nobody waited for: its attempt has failed after all. */
  judge(job: RunningJob): Outcome {
    const options = this.#options(job.envelope!, job.definition!);
    const outcome = outcomeOf(job, options, undefined, this.#application);
    job.close(outcome.settlement.outcome);
    const { connectionName, stray: exception } = job;
    void this.announcer.tell(job, 'exceptionOccurred', { connectionName, job, exception: exception! });
    return outcome;
  }

  // What is recorded by another thread if the run blocks the event loop, and nothing can be decided here.
  #foresee(job: RunningJob, { timeout, backoff }: RunOptions): void {
    if (timeout === 0) return;
    const failures = job.reservation.counters.exceptions + 1;
    const within = (timeout + this.#settings.grace) * 1000;
    job.lease?.foresee(within, backoffDelay(backoff, failures, this.#application.random));
  }

  // A string job of `App\Jobs\SendEmail` is one of our `SendEmail` too.
  #definitionOf({ names }: Envelope): JobDefinition | undefined {
    for (const name of names) {
      const definition = this.#application.registry.find(name);
      if (definition !== undefined) return definition;
    }
    return undefined;
  }

  #unknown(job: RunningJob, envelope: Envelope): Outcome {
    // For Laravel's workers: a shared queue is no reason to fail it.
    if (envelope.kind === 'illuminate') return this.#notYet(job, new LaravelJobError(job.name, job.id), false);
    const jobs = this.#application.registry.all();
    const alike = nearest(
      envelope.name,
      jobs.map(({ name }) => name),
    );
    const error = new UnknownJobError(envelope.name, alike, jobs);
    return this.#notYet(job, error);
  }

  // A worker of another deploy may know the name or the version; give it the time of a bad one to be noticed.
  #notYet(job: RunningJob, error: Error, mayFail = true): Outcome {
    const { isOver, delay, isKnown } = this.#strangers.meet(job, freeReleases(job));
    if (mayFail && (isOver || this.#settings.single === true)) return failed(job, error);
    return { ...releasedForFree(job, delay, job.reservation.counters, error), isKnown };
  }

  #isPoisonForAnyJob(job: RunningJob): boolean {
    const { crashes } = job.reservation.counters;
    if (crashes === 0 || this.#settings.single === true) return false;
    const limits = this.#crashLimits();
    return !limits.includes(0) && crashes > Math.max(DEFAULT_MAX_CRASHES, ...limits);
  }

  #crashLimits(): number[] {
    return this.#application.registry.all().map(({ options }) => options.maxCrashes ?? DEFAULT_MAX_CRASHES);
  }

  #reportIgnored(job: RunningJob, thrown: Error): void {
    const why = job.ending === undefined ? 'its outcome was recorded' : `it was ${job.ending.kind}`;
    this.#application.report(thrown, { job, during: `handle(), after ${why}` });
  }
}

function freeReleases({ envelope, reservation }: RunningJob): number {
  return releasesSinceRetry(envelope?.fields ?? {}, reservation.counters);
}
