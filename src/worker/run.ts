/**
 * Runs one reservation and returns how it ended. Never throws, and touches no store.
 *
 * The worker, `sync` and the test kit share it, so that a job cannot work in one of them and break in another. Once the
 * store has confirmed the outcome, the `announcer` tells the job and the hooks.
 */
import { Deadline, Deadlines, type Milliseconds, type Seconds } from '../base/clock';
import { toError } from '../base/exception-text';
import { nearest } from '../base/text';
import { Recent } from '../base/collections';
import { wants } from '../base/logger';
import type { Middleware } from '../job/middleware';
import { NOTHING_CHOSEN, type RunOptions, type WorkerDefaults } from '../job/options';
import { keptCheckpoints, resolveRun } from '../job/resolve-options';
import { decodeEnvelope, decodeJob, decodeMiddleware, onlyInLaravel, type Envelope } from '../payload/envelope';
import { releasesSinceRetry } from '../payload/counters';
import { checkAdapters } from '../payload/entities';
import { tellObservers, type Application } from '../connections/application';
import { isStoreAway } from '../connections/errors';
import { Announcer } from './announcer';
import { declareBuiltIns } from '../dispatch/batch/send-batch';
import { JobHistories } from '../operations/history/job-histories';
import { JobCancelledError, JobTimedOutError, LeaseLostError, laravelJob, poisonJob, unknownJob } from './errors';
import { Gatherers } from './gatherer';
import { callHandle } from './handler';
import {
  followed,
  cancelled,
  failed,
  foreseenDelay,
  hasLastError,
  isPoisonForAll,
  mayBeKnownElsewhere,
  mayBePoisonNext,
  outcomeOf,
  refusalOf,
  releasedForFree,
  storeNow,
  unstarted,
  type Outcome,
} from './outcome';
import { logApart, logRecovered, logStart } from './job-log';
import type { RunningJob } from './running-job';
import type { RecordStore } from '../connections/record-store';
import { excuseOf } from './suspect';
import { UnknownJobs } from './unknown-jobs';

export interface ExecutorSettings {
  readonly defaults: WorkerDefaults;
  /** Seconds between a timeout and the recording of the attempt without the handler. */
  readonly grace: number;
  /** For `sync`: one attempt, whatever the job's options say. */
  readonly single?: boolean | undefined;
  /** For a worker: the worker itself, which waits for its hooks. */
  readonly caller?: object | undefined;
  /** For a worker: how long a worker is silent, at least, before another one takes over its job. */
  readonly lease?: Seconds | undefined;
  /** For a worker: where it is on record which jobs on their last chance were started. */
  readonly records?: RecordStore | undefined;
  /** How many jobs run at a time. Default 1. */
  readonly slots?: number | undefined;
  /** Called before each handler starts, because a handler may kill the process. */
  readonly starting?: (() => void) | undefined;
}

const MOST_CRASHED = 10_000;
/** When a job comes back whose steps and cursors could not be read. */
const AWAY: Seconds = 5;

export class Executor {
  /** Tells how a run ended. */
  readonly announcer: Announcer;
  readonly #application: Application;
  readonly #settings: ExecutorSettings;
  readonly #deadlines: Deadlines;
  readonly #unknown: UnknownJobs;
  /** Undefined until there is a job with `together`. */
  #gatherers: Gatherers | undefined;
  /** The last known number of crashes of each job: the store gives the number, but not whether it is new. */
  readonly #crashes = new Recent<string, number>(MOST_CRASHED);
  /** Functions that end the waits for hooks. */
  readonly #waits = new Set<() => void>();
  #isHastened = false;

  constructor(application: Application, settings: ExecutorSettings) {
    declareBuiltIns();
    this.#application = application;
    this.#settings = settings;
    this.#deadlines = new Deadlines(application.clock);
    this.#unknown = new UnknownJobs(application.clock);
    this.announcer = new Announcer(application, settings.defaults, this.#deadlines, settings.caller);
  }

  /** Never rejects. With synchronous hooks and handlers, everything has happened when it returns. */
  async run(job: RunningJob): Promise<Outcome> {
    const { clock } = this.#application;
    let outcome: Outcome | undefined;
    job.startedAt = clock.monotonic();
    try {
      // If the lease may have ended, the store is asked whether the job is still ours.
      const confirming = job.lease?.confirm();
      if (confirming !== undefined) await Promise.race([confirming, aborted(job)]);
      const refused = this.#refused(job);
      outcome = refused instanceof Promise ? await refused : refused;
      if (outcome === undefined) {
        this.#decode(job);
        if (job.fence > 1 && keptCheckpoints(job.definition) !== undefined) await this.#takeOver(job);
        const told = this.#tellBefore(job);
        if (told !== undefined) await told;
        const confirmingAgain = job.lease?.confirm();
        if (confirmingAgain !== undefined) await Promise.race([confirmingAgain, aborted(job)]);
        // A hook may have ended the job, or it was aborted while we waited.
        const mayStart = (job.ending ?? job.abortReason ?? job.thrown) === undefined;
        const returned = mayStart ? this.#callHandler(job) : undefined;
        if (returned !== undefined) await returned;
        outcome = this.#decided(job);
        const { error, settlement } = outcome;
        // It gave itself back, but no attempt could follow. An error that it threw or left behind is not ours to change.
        const gaveBack = job.ending?.kind === 'released' && job.stray === undefined;
        if (gaveBack && settlement.outcome === 'failed' && hasLastError(error!, job.reservation.counters)) {
          error!.cause ??= await this.#lastErrorOf(job);
          outcome = failed(job, error!, settlement.counters);
        }
        const heard = outcome.error === undefined ? undefined : this.#tellException(job, outcome.error);
        if (heard !== undefined) await heard;
      }
    } catch (error) {
      outcome = this.#notRun(job, error);
    }
    outcome = followed(outcome, job, this.#application);
    job.endedAs = outcome.settlement.outcome;
    job.took = clock.monotonic() - job.startedAt;
    job.lease?.end();
    return outcome;
  }

  /** From now on runs no longer wait for the hooks before the outcome: it would be stored too late. */
  hasten(): void {
    this.#isHastened = true;
    for (const goOn of this.#waits) goOn();
  }

  /** Leaves no timer behind. */
  close(): void {
    this.#deadlines.close();
  }

  /** Whether the job's next crash would be its last. A job that has never crashed looks like any other. */
  isLastChance(job: RunningJob): boolean {
    const { counters } = job.reservation;
    if (counters.crashes === 0 || isCancelled(job) || counters.crashes >= this.#limitAtSight(job)) return false;
    // Judge by the strictest limit of all jobs first: a text that kills the parser must be alone before we parse it.
    if (mayBePoisonNext(counters, this.#application.registry)) return true;
    try {
      this.#read(job);
      const options = this.#optionsOf(job);
      const mayRun = refusalOf(job, counters, options, storeNow(job, this.#application)) === undefined;
      return mayRun && options.maxCrashes > 0 && counters.crashes + 1 >= options.maxCrashes;
    } catch {
      // Its run will report the error.
      return false;
    }
  }

  /**
   * The new outcome of a job whose handler returned, but left a rejection or an exception behind: the attempt has failed
   * after all.
   */
  judge(job: RunningJob): Outcome {
    const outcome = followed(outcomeOf(job, this.#application), job, this.#application);
    job.endedAs = outcome.settlement.outcome;
    const { connectionName, stray: exception } = job;
    void this.announcer.tell(job, 'exceptionOccurred', { connectionName, job, exception: exception! });
    return outcome;
  }

  // Why the job must not run. What can be said without parsing the payload comes first: a text that kills the parser must not
  // kill another worker.
  #refused(job: RunningJob): Outcome | Promise<Outcome> | undefined {
    // This worker was frozen and somebody else has the job, or the job was cancelled, or the worker stops.
    if (job.abortReason instanceof JobCancelledError) return cancelled(job);
    if (job.abortReason !== undefined) return unstarted(job, job.abortReason);
    const { counters } = job.reservation;
    // At its limit it is read all the same, for those who hear that it has failed.
    if (counters.crashes > 0 && this.#settings.single !== true && counters.crashes > this.#limitAtSight(job))
      return isCancelled(job) ? cancelled(job) : this.#poison(job, poisonJob(job.name, job.id, counters.crashes));
    const envelope = this.#read(job);
    if (isCancelled(job)) return cancelled(job);
    const reason = envelope.kind === 'illuminate' ? onlyInLaravel(envelope, job.definition) : undefined;
    // Laravel's workers can run it: sharing a queue is no reason to fail it.
    if (reason !== undefined) return this.#notYet(job, laravelJob(job.name, job.id, reason), false);
    if (job.definition === undefined) return this.#ofUnknownName(job, envelope);
    const options = (job.options = this.#optionsOf(job));
    const now = storeNow(job, this.#application);
    const refusal = refusalOf(job, counters, options, now);
    if (refusal === undefined) return undefined;
    if (poisonJob.is(refusal)) return this.#poison(job, refusal);
    if (!hasLastError(refusal, counters)) return failed(job, refusal);
    return this.#lastErrorOf(job).then((last) => failed(job, refusalOf(job, counters, options, now, last)!));
  }

  #lastErrorOf(job: RunningJob): Promise<Error | undefined> {
    return JobHistories.lastErrorOf(this.#application.driver(job.connectionName), job, job.reservation.counters);
  }

  // A worker may have died before it started the job: that crash says nothing about it.
  #poison(job: RunningJob, error: Error): Promise<Outcome> {
    const excuse = excuseOf(job, this.#application, this.#settings.records);
    return excuse.then((excused) => excused ?? failed(job, error));
  }

  /** How often a job may crash, as far as its text says without being parsed. */
  #limitAtSight(job: RunningJob): number {
    const { registry } = this.#application;
    const { counters, payload } = job.reservation;
    // Whichever class it has, that is too often.
    if (isPoisonForAll(counters, registry)) return 0;
    // Its class decides, unless its dispatch may have said more.
    const definition = payload.includes('"maxCrashes"') ? undefined : registry.find(job.name);
    if (definition === undefined) return Infinity;
    return resolveRun({ payload: NOTHING_CHOSEN, definition, worker: this.#settings.defaults }).maxCrashes || Infinity;
  }

  #read(job: RunningJob): Envelope {
    const envelope = (job.envelope ??= decodeEnvelope(job.reservation.payload));
    job.definition = envelope.definitionIn(this.#application.registry);
    return envelope;
  }

  #decode(job: RunningJob): void {
    const { registry, logger } = this.#application;
    const envelope = job.envelope!;
    // Logged before the data are decoded: if decoding kills the process, this line is all that is left.
    if (job.isApart) logApart(logger, job);
    // Decoding may take long too, or never end.
    this.#foresee(job);
    if (job.definition!.options.together !== undefined)
      job.gatherers = this.#gatherers ??= new Gatherers(this.#application, this.#settings.slots ?? 1);
    const { vault } = this.#application;
    job.instance = decodeJob(envelope, job.definition!, registry, vault, job);
    job.through = decodeMiddleware(envelope, registry, vault, job) as readonly Middleware[];
    if (job.held !== undefined) checkAdapters(job.held, this.#application.entities);
  }

  // It goes on where an earlier attempt was. @throws QueueUnavailableError nobody can say where that is
  async #takeOver(job: RunningJob): Promise<void> {
    try {
      await job.checkpoints('step()').takeOver();
    } catch (error) {
      if (isStoreAway(error)) throw error;
      if (error instanceof LeaseLostError) job.abort(error, Infinity);
      else job.thrown = toError(error);
    }
  }

  #tellBefore(job: RunningJob): Promise<void> | undefined {
    if (job.reservation.counters.crashes > 0) this.#tellRecovery(job);
    if (!this.#application.hooks.hears.before) return undefined;
    return this.#heard(this.announcer.tell(job, 'before', { connectionName: job.connectionName, job }));
  }

  // Undefined if the handler has returned already. Resolves when it returns, or when it was aborted and has not returned within
  // the grace.
  #callHandler(job: RunningJob): Promise<void> | undefined {
    const { timeout } = job.options!;
    const { clock, logger } = this.#application;
    let givenUpAt: Milliseconds = Infinity;
    let isGivenUp = false;
    let goOn: (() => void) | undefined;
    // Expires first when the timeout ends, and then when the grace does.
    const deadline = new Deadline(() => {
      if (givenUpAt === Infinity) {
        return job.abort(new JobTimedOutError(job.name, job.id, timeout), this.#settings.grace);
      }
      isGivenUp = true;
      goOn?.();
    });
    // A second abort, such as a cancellation after a timeout, gives the handler no more time.
    job.onAbort = (grace) => {
      const at = clock.monotonic() + grace * 1000;
      if (at >= givenUpAt) return;
      givenUpAt = at;
      this.#deadlines.set(deadline, grace * 1000);
    };
    if (timeout > 0) {
      this.#foresee(job);
      this.#deadlines.set(deadline, timeout * 1000);
    }
    job.handler = 'running';
    this.#settings.starting?.();
    // With thousands of jobs a second, only if somebody asks for it.
    if (wants(logger, 'debug')) logStart(logger, job);
    const cameBack = (given?: Error): void => {
      job.handler = 'came-back';
      // Before anybody else sees it.
      const thrown = given === undefined ? undefined : toError(job.masked(given));
      if (job.endedAs === undefined) {
        // While the run waits for its hooks, the end of the grace would end it a second time.
        this.#deadlines.remove(deadline);
        job.thrown = thrown;
        return goOn?.();
      }
      // Its outcome was recorded without the handler.
      if (thrown !== undefined && thrown !== job.abortReason) this.#reportIgnored(job, thrown);
      job.onLateReturn?.();
    };
    // Whoever dispatched a job to `sync` waits for it.
    const caller = this.#settings.single === true ? undefined : job;
    if (callHandle(job, caller, cameBack)) return undefined;
    return new Promise((resolve) => {
      goOn = resolve;
      if (isGivenUp) resolve();
    });
  }

  #decided(job: RunningJob): Outcome {
    const { thrown } = job;
    let outcome: Outcome;
    try {
      const isIgnored = job.stray === undefined ? job.ending !== undefined && !isOwnFailure(job) : thrown !== job.stray;
      if (thrown !== undefined && isIgnored) this.#reportIgnored(job, thrown);
      outcome = outcomeOf(job, this.#application);
    } catch (error) {
      outcome = failed(job, toError(job.masked(error)));
    }
    job.isFinal = outcome.settlement.outcome !== 'completed';
    // From here on the outcome is final, for the hooks too.
    job.endedAs = outcome.settlement.outcome;
    return outcome;
  }

  #tellException(job: RunningJob, exception: Error): Promise<void> | undefined {
    const isThrown = job.ending === undefined || job.stray !== undefined || isOwnFailure(job);
    if (!isThrown) return undefined;
    const { connectionName } = job;
    return this.#heard(this.announcer.tell(job, 'exceptionOccurred', { connectionName, job, exception }));
  }

  #tellRecovery(job: RunningJob): void {
    const { lease: silence } = this.#settings;
    const { crashes } = job.reservation.counters;
    // Each crash is news to a worker only once.
    if (silence === undefined || this.#crashes.get(job.id) === crashes) return;
    this.#crashes.set(job.id, crashes);
    tellObservers(this.#application, job, (observer) => observer.recovered?.(job, job.reservation));
    // For a job that runs apart, the log has just said why.
    if (!job.isApart) logRecovered(this.#application.logger, job, silence);
    void this.announcer.tell(job, 'recovered', { connectionName: job.connectionName, job, crashes, silence });
  }

  #notRun(job: RunningJob, error: unknown): Outcome {
    // A cancelled job counts as cancelled even if it cannot be read.
    if (isCancelled(job)) return cancelled(job);
    if (isStoreAway(error)) return releasedForFree(job, AWAY, error);
    return mayBeKnownElsewhere(error) ? this.#notYet(job, error) : failed(job, toError(job.masked(error)));
  }

  // Never rejects: errors of hooks are reported.
  #heard(told: Promise<void> | undefined): Promise<void> | undefined {
    if (told === undefined || this.#isHastened) return undefined;
    let goOn!: () => void;
    const hastened = new Promise<void>((resolve) => (goOn = resolve));
    this.#waits.add(goOn);
    return Promise.race([told, hastened]).finally(() => this.#waits.delete(goOn));
  }

  #optionsOf({ envelope, definition }: RunningJob): RunOptions {
    const options = resolveRun({ payload: envelope!.chosen, definition, worker: this.#settings.defaults });
    return this.#settings.single === true ? { ...options, tries: 1, retryUntil: undefined, maxCrashes: 0 } : options;
  }

  // Stores what the lease thread records if the run blocks the event loop and we can decide nothing here.
  #foresee(job: RunningJob): void {
    const { timeout } = job.options!;
    if (timeout === 0 || job.lease === undefined) return;
    const within = (timeout + this.#settings.grace) * 1000;
    job.lease.foresee(within, foreseenDelay(job, within, this.#application));
  }

  #ofUnknownName(job: RunningJob, { name }: Envelope): Outcome {
    const jobs = this.#application.registry.all();
    const names = jobs.map((known) => known.name);
    return this.#notYet(job, unknownJob(name, nearest(name, names), jobs));
  }

  // A worker of another deploy may know the name or the version. Wait long enough for somebody to notice a bad deploy.
  #notYet(job: RunningJob, error: Error, mayFail = true): Outcome {
    const { envelope, reservation } = job;
    const releases = releasesSinceRetry(envelope?.fields ?? {}, reservation.counters);
    const { isOver, delay, isKnown } = this.#unknown.meet(job, releases);
    if (mayFail && (isOver || this.#settings.single === true)) return failed(job, error);
    return { ...releasedForFree(job, delay, error, true), isKnown };
  }

  #reportIgnored(job: RunningJob, thrown: Error): void {
    const why = job.ending === undefined ? 'its outcome was recorded' : `it was ${job.ending.kind}`;
    this.#application.report(thrown, { job, during: `handle(), after ${why}` });
  }
}

const aborted = (job: RunningJob): Promise<void> => new Promise<void>((resolve) => (job.onAbort = () => resolve()));

// It called `fail(error)` and threw the same error, as some layers do so that the layers around them see it.
const isOwnFailure = ({ ending, thrown }: RunningJob): boolean => ending?.kind === 'failed' && ending.error === thrown;

const isCancelled = ({ reservation }: RunningJob): boolean => (reservation.cancelled ?? false) !== false;
