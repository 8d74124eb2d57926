/**
 * Runs one reservation and says how it ended. Never throws, and touches no store.
 *
 * The worker, `sync` and the test kit share it, so that a job cannot work in one of them and break in another. Once the
 * outcome is confirmed by the store, `announce` tells the job and the hooks.
 */
import type { Seconds } from '../clock/clock';
import type { Scope } from '../container/container';
import { methodArguments, openScope, resolveHandler, runInScope } from '../container/scope';
import type { HookName } from '../events/hooks';
import type { HookEvents } from '../events/events';
import type { Class, JobDefinition } from '../job/definition';
import { NoHandlerError } from '../job/errors';
import { JobContext } from '../job/job-context';
import type { Middleware, MiddlewareFunction } from '../job/middleware';
import { nearest } from '../job/nearest';
import type { RunOptions, WorkerDefaults } from '../job/options';
import { backoffDelay, DEFAULT_MAX_CRASHES, resolveRun } from '../job/resolve-options';
import { attachContext } from '../job/running';
import { decodeEnvelope, decodeJob, decodeMiddleware, type Envelope } from '../payload/envelope';
import { PayloadVersionError, UnknownClassError } from '../payload/errors';
import { toError } from '../failed/exception-text';
import { releasesSinceRetry } from '../payload/retry-mark';
import type { Application } from '../queue/application';
import { refusalOf, UNKNOWN_JOB_RELEASES, unknownJobDelay } from './attempt';
import { Deadlines } from './deadlines';
import { JobTimedOutError, PoisonJobError, RunsApartError, UnknownJobError } from './errors';
import type { LastChance } from './last-chance';
import { cancelled, failed, type Outcome, outcomeOf, releasedForFree } from './outcome';
import { Patience } from './patience';
import type { RunningJob } from './running-job';

export interface ExecutorSettings {
  readonly defaults: WorkerDefaults;
  /** Seconds between a timeout and the recording of the attempt without the handler. */
  readonly grace: number;
  /** `sync`: one attempt, whatever the job says. */
  readonly single?: boolean | undefined;
  /** Of a worker: tells which jobs run apart. */
  readonly lastChance?: LastChance | undefined;
}

/** What a run needs that was found out before it. */
interface Plan {
  readonly definition: JobDefinition;
  readonly options: RunOptions;
  /** Middleware that the dispatch gave. */
  readonly through: readonly Middleware[];
}

export class Executor {
  readonly #application: Application;
  readonly #settings: ExecutorSettings;
  readonly #deadlines: Deadlines<RunningJob>;
  readonly #patience: Patience;

  constructor(application: Application, settings: ExecutorSettings) {
    this.#application = application;
    this.#settings = settings;
    this.#deadlines = new Deadlines(application.clock);
    this.#patience = new Patience(application);
  }

  async run(job: RunningJob): Promise<Outcome> {
    const { hooks, registry, clock } = this.#application;
    try {
      // Before the payload is parsed: a text that kills the parser must not get another worker.
      if (this.#isPoisonForAnyJob(job)) {
        return failed(job, new PoisonJobError(job.name, job.id, job.reservation.counters.crashes));
      }
      const envelope = (job.envelope = decodeEnvelope(job.reservation.payload));
      const definition = (job.definition = this.#definitionOf(envelope));
      if (job.reservation.cancelled === true) return cancelled(job);
      if (definition === undefined) return this.#unknown(job, envelope);
      const options = this.#options(envelope, definition);
      const refusal = refusalOf(job, job.reservation.counters, options, clock.now());
      if (refusal !== undefined) return failed(job, refusal);
      const { counters } = job.reservation;
      if (this.#settings.lastChance?.misses(counters, options.maxCrashes) === true) {
        return releasedForFree(job, 0, counters, new RunsApartError(job.name, job.id, counters.crashes));
      }
      job.instance = decodeJob(envelope, definition, registry);
      const through = decodeMiddleware(envelope, registry) as readonly Middleware[];
      if (hooks.has('before')) await this.#tell(job, 'before', { connectionName: job.connectionName, job });
      return await this.#attempt(job, { definition, options, through });
    } catch (error) {
      if (error instanceof PayloadVersionError || error instanceof UnknownClassError) return this.#notYet(job, error);
      return failed(job, toError(error));
    } finally {
      this.#deadlines.remove(job);
      job.close();
    }
  }

  /** Once the store has confirmed the outcome: `failed()`, then the hooks. Never throws. */
  async announce(job: RunningJob, { settlement, error }: Outcome): Promise<void> {
    const { hooks } = this.#application;
    const { connectionName } = job;
    if (settlement.outcome === 'completed' && hooks.has('after')) {
      await this.#tell(job, 'after', { connectionName, job });
    }
    if (settlement.outcome === 'cancelled') await this.#tell(job, 'cancelled', { connectionName, job });
    if (settlement.outcome !== 'failed' || error === undefined) return;
    await this.#patience.while(job, 'failed()', this.#callFailed(job, error), this.#limitOf(job));
    if (hooks.has('failing')) await this.#tell(job, 'failing', { connectionName, job, exception: error });
  }

  /** Whether `announce` would call anybody, so that the hot path can do without it. */
  announces({ settlement }: Outcome): boolean {
    const { hooks } = this.#application;
    switch (settlement.outcome) {
      case 'completed':
        return hooks.has('after');
      case 'cancelled':
        return hooks.has('cancelled');
      default:
        return settlement.outcome === 'failed';
    }
  }

  /** The store refused the outcome: somebody else has the job, or it is gone. Never throws. */
  async announceLost(job: RunningJob, { settlement }: Outcome): Promise<void> {
    const { connectionName } = job;
    await this.#tell(job, 'lost', { connectionName, job, outcome: settlement.outcome });
  }

  /** Whether `announceLost` would call anybody. */
  get announcesLost(): boolean {
    return this.#application.hooks.has('lost');
  }

  /** Leaves no timer behind. */
  close(): void {
    this.#deadlines.close();
    this.#patience.close();
  }

  #tell<Name extends HookName>(job: RunningJob, hook: Name, event: HookEvents[Name]): Promise<void> {
    const told = this.#application.hooks.emit(hook, event);
    return this.#patience.while(job, `the hook ${hook}`, told, this.#limitOf(job));
  }

  /** How long a callback may take: as long as the job itself. 0: as long as it likes. */
  #limitOf({ envelope, definition }: RunningJob): Seconds {
    return resolveRun({ payload: envelope?.chosen ?? {}, definition, worker: this.#settings.defaults }).timeout;
  }

  #options(envelope: Envelope, definition: JobDefinition): RunOptions {
    const options = resolveRun({ payload: envelope.chosen, definition, worker: this.#settings.defaults });
    return this.#settings.single === true ? { ...options, tries: 1, retryUntil: undefined, maxCrashes: 0 } : options;
  }

  // The run ends when the handler comes back, or when it was aborted and has not come back within the grace.
  async #attempt(job: RunningJob, plan: Plan): Promise<Outcome> {
    const { hooks } = this.#application;
    const thrown = job.ending === undefined ? await this.#ran(job, plan) : undefined;
    if (thrown !== undefined && job.ending !== undefined) this.#reportIgnored(job, thrown);
    const outcome = outcomeOf(job, plan.options, thrown, this.#application);
    const exception = job.ending === undefined ? outcome.error : undefined;
    // From here on the outcome stands, also for the hooks.
    job.close();
    if (exception !== undefined && hooks.has('exceptionOccurred')) {
      await this.#tell(job, 'exceptionOccurred', { connectionName: job.connectionName, job, exception });
    }
    return outcome;
  }

  #ran(job: RunningJob, plan: Plan): Promise<Error | undefined> {
    const { timeout } = plan.options;
    return new Promise((resolve) => {
      const comeBack = (thrown: Error | undefined): void => {
        job.handler = 'came-back';
        resolve(thrown);
        if (!job.closed) return;
        if (thrown !== undefined && thrown !== job.abortReason) this.#reportIgnored(job, thrown);
        job.onLateReturn?.();
      };
      if (job.abortReason !== undefined) return resolve(undefined);
      job.onAbort = (grace) => {
        if (grace < Infinity) this.#deadlines.set(job, grace * 1000, () => resolve(undefined));
      };
      if (timeout > 0) {
        this.#foresee(job, plan.options);
        this.#deadlines.set(job, timeout * 1000, () =>
          job.abort(new JobTimedOutError(job.name, job.id, timeout), this.#settings.grace),
        );
      }
      job.handler = 'running';
      this.#perform(job, plan).then(
        () => comeBack(undefined),
        (error: unknown) => comeBack(toError(error)),
      );
    });
  }

  // What is recorded by another thread if the handler blocks the event loop, and nothing can be decided here.
  #foresee(job: RunningJob, { timeout, backoff }: RunOptions): void {
    const failures = job.reservation.counters.exceptions + 1;
    const within = (timeout + this.#settings.grace) * 1000;
    job.onForeseen?.(within, backoffDelay(backoff, failures, this.#application.random));
  }

  async #perform(job: RunningJob, { definition, through }: Plan): Promise<void> {
    const instance = job.instance as object;
    const scope = this.#openScope(job, instance);
    try {
      await runInScope(scope, async () => {
        const handle = this.#handle(instance, definition, scope);
        const layers = middlewareOf(instance, definition, through, scope);
        job.value = await (layers.length === 0 ? handle() : wrap(job, layers, handle));
      });
    } finally {
      await this.#dispose(job, scope);
    }
  }

  // A service that cannot be disposed is a defect of its own: it must not undo what handle() has done.
  async #dispose(job: RunningJob, scope: Scope): Promise<void> {
    try {
      await scope.dispose();
    } catch (error) {
      this.#application.report(error, { job, during: 'disposing what was injected' });
    }
  }

  #openScope(job: RunningJob, instance: object): Scope {
    attachContext(instance, job);
    const scope = openScope(this.#application.container);
    scope.register(JobContext, job);
    return scope;
  }

  #handle(instance: object, definition: JobDefinition, scope: Scope): () => unknown {
    const handlerClass = this.#application.registry.handlerOf(definition.target);
    if (handlerClass === undefined) {
      if (!has(instance, 'handle')) throw new NoHandlerError(definition.name);
      return () => call(instance, definition.target, 'handle', scope, []);
    }
    return () => call(resolveHandler(handlerClass, scope), handlerClass, 'handle', scope, [instance]);
  }

  // On a fresh instance: what the failed run left in the old one is not what was dispatched.
  async #callFailed(job: RunningJob, error: Error): Promise<void> {
    const { registry } = this.#application;
    const { envelope } = job;
    const definition = envelope && this.#definitionOf(envelope);
    if (envelope === undefined || definition === undefined) return;
    try {
      const handlerClass = registry.handlerOf(definition.target);
      const hearer = handlerClass ?? definition.target;
      if (!has(hearer.prototype, 'failed')) return;
      const instance = freshInstance(() => decodeJob(envelope, definition, registry), error);
      if (instance === undefined) return;
      const scope = this.#openScope(job, instance);
      try {
        await runInScope(scope, async () => {
          if (handlerClass === undefined) await call(instance, hearer, 'failed', scope, [error]);
          else await call(resolveHandler(handlerClass, scope), hearer, 'failed', scope, [instance, error]);
        });
      } finally {
        await this.#dispose(job, scope);
      }
    } catch (thrown) {
      this.#application.report(thrown, { job, during: `failed() of ${job.name}` });
    }
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
    const jobs = this.#application.registry.all();
    const alike = nearest(
      envelope.name,
      jobs.map(({ name }) => name),
    );
    const error = new UnknownJobError(envelope.name, alike, jobs);
    // Laravel's own class jobs are for its workers: a shared queue is no reason to fail them.
    return envelope.kind === 'illuminate' ? this.#notNow(job, error) : this.#notYet(job, error);
  }

  // A worker of another deploy may know the name or the version; give it the time of a bad one to be noticed.
  #notYet(job: RunningJob, error: Error): Outcome {
    const isOver = this.#settings.single === true || freeReleases(job) >= UNKNOWN_JOB_RELEASES;
    return isOver ? failed(job, error) : this.#notNow(job, error);
  }

  #notNow(job: RunningJob, error: Error): Outcome {
    return releasedForFree(job, unknownJobDelay(freeReleases(job)), job.reservation.counters, error);
  }

  #isPoisonForAnyJob(job: RunningJob): boolean {
    const { crashes } = job.reservation.counters;
    if (crashes === 0 || this.#settings.single === true) return false;
    const limits = this.#application.registry.all().map(({ options }) => options.maxCrashes ?? DEFAULT_MAX_CRASHES);
    return !limits.includes(0) && crashes > Math.max(DEFAULT_MAX_CRASHES, ...limits);
  }

  #reportIgnored(job: RunningJob, thrown: Error): void {
    const why = job.ending === undefined ? 'its outcome was recorded' : `it was ${job.ending.kind}`;
    this.#application.report(thrown, { job, during: `handle(), after ${why}` });
  }
}

function freeReleases({ envelope, reservation }: RunningJob): number {
  return releasesSinceRetry(envelope?.fields ?? {}, reservation.counters);
}

// Undefined: that it cannot be decoded is what the job failed of, and was told.
function freshInstance(decode: () => object, failedOf: Error): object | undefined {
  try {
    return decode();
  } catch (thrown) {
    if (toError(thrown).message === failedOf.message) return undefined;
    throw thrown;
  }
}

function has<Name extends string>(target: object, name: Name): target is Record<Name, (...args: unknown[]) => unknown> {
  return name in target && typeof (target as Record<string, unknown>)[name] === 'function';
}

function call(target: object, owner: Class, method: string, scope: Scope, leading: readonly unknown[]): unknown {
  const run = (target as Record<string, (...args: unknown[]) => unknown>)[method] as (...args: unknown[]) => unknown;
  return run.call(target, ...methodArguments(owner, method, scope, leading));
}

function middlewareOf(
  instance: object,
  definition: JobDefinition,
  through: readonly Middleware[],
  scope: Scope,
): MiddlewareFunction[] {
  const own = has(instance, 'middleware') ? call(instance, definition.target, 'middleware', scope, []) : [];
  const layers = [...(own as readonly (Middleware | MiddlewareFunction)[]), ...through];
  return layers.map((layer) =>
    typeof layer === 'function' ? layer : (job, next) => call(layer, layer.constructor, 'handle', scope, [job, next]),
  );
}

// The first layer is the outermost.
function wrap(job: RunningJob, layers: readonly MiddlewareFunction[], handle: () => unknown): Promise<unknown> {
  const enter = async (index: number): Promise<unknown> => {
    const layer = layers[index];
    return layer === undefined ? handle() : layer(job, () => enter(index + 1));
  };
  return enter(0);
}
