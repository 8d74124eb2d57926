/** `Bus`: dispatches jobs, and runs the mapped handlers of commands, which are objects that are not jobs. */
import { attachContext, contextOf } from '../job/choices';
import { JobContext, checkedLine, checkedProgress, type BatchSource, type ChainList } from '../job/job-context';
import { inspect } from 'node:util';
import { classOf, type Class } from '../base/class';
import { checkInjection, makeResolvable, tokensOf } from '../container/parameters';
import { definitionOfJob, extendsJob } from '../job/instance';
import { PendingBatch, PendingChain, type PendingDispatch } from '../job/pending';
import type { JobInstance } from '../job/registry';
import { invalidHandler, noHandler } from '../job/errors';
import { hasHandle } from '../job/declare';
import type { HandleResult, JobBase, JobDispatcher } from '../job/job';
import type { SyncRunner } from '../connections/contract';
import type { Batch, Batches } from './batch/batch';
import type { JobEncoder, PayloadCreator } from './job-encoder';
import type { QueueConnection } from './queue-connection';
import { encodeAll, sendBulk, parcelOf } from './send';
import { unmappedCommand, alreadyRunning, failedInPlace, notQueued } from './errors';
import { PendingJob, type Outbox } from './pending-dispatch';
import type { Routes } from './routes';
import { openRunScope } from '../container/opened-scope';
import { methodArguments, openScope, resolveHandler, runInScope, type Scope } from '../container/scope';
import { uuidv7 } from '../payload/uuid';
import { runFor, type Application } from '../connections/application';
import { Checkpoints } from '../operations/checkpoints';

declare module '../connections/application' {
  /** What only a dispatch needs of its application. */
  interface Application {
    readonly encoder: JobEncoder;
    readonly batches: Batches;
    readonly outbox: Outbox;
    readonly routes: Routes;
    /** The creators added by `createPayloadUsing` and not removed. */
    readonly payloadCreators: Iterable<PayloadCreator>;
    /** `Bus.map`: handlers of commands, which are not jobs. */
    readonly commandHandlers: Map<Class, Class>;
    /** Whether anything other than the log listens for errors that nobody awaits. */
    readonly hearsErrors: boolean;
    /** Whether the configuration is already loaded. */
    readonly isConfigured: boolean;
    connection(name?: string): QueueConnection;
    /** The connection that runs jobs at once. */
    syncRunner(): SyncRunner;
  }
}

/** For the manager behind `Queue`, use `Bus`; for your own manager, `new JobBus(() => manager)`. */
export class JobBus implements JobDispatcher {
  readonly #managerOf: () => Application;

  constructor(managerOf: () => Application) {
    this.#managerOf = managerOf;
  }

  /**
   * Sends a job to its queue. An object that is not a job goes to its mapped handler at once, and the result is the handler's.
   */
  dispatch(job: JobBase): PendingDispatch;
  dispatch(command: JobInstance): PendingDispatch & Promise<unknown>;
  dispatch(job: JobInstance): PendingDispatch {
    const manager = this.#managerOf();
    if (isJob(manager, job)) return new PendingJob(manager, job);
    // Typed as a dispatch, because only the decorator tells a plain job from a command.
    return this.#runCommand(manager, job) as PendingDispatch;
  }

  /**
   * Jobs that run one after the other, each sent when the one before it succeeds.
   *
   * @param links the jobs, or a function that returns them, called with the parameters of `dispatch()`
   */
  chain<Parameters extends readonly unknown[] = []>(
    links: ChainList | ((...parameters: Parameters) => ChainList),
  ): PendingChain<Parameters> {
    const linksOf = typeof links === 'function' ? links : () => links;
    return new PendingChain(linksOf, (first, choice) => new PendingJob(this.#managerOf(), first, choice));
  }

  /** Jobs that run in any order, with callbacks when something happens to the batch. An inner list is a chain. */
  batch(jobs: BatchSource): PendingBatch<Batch> {
    return new PendingBatch(jobs, (chosen, detour) => this.#managerOf().batches.send(chosen, detour));
  }

  /** Sends a job to its queue; never runs it at once. */
  dispatchToQueue(job: JobInstance): PendingDispatch {
    return new PendingJob(this.#managerOf(), job);
  }

  /**
   * Runs a job through the `sync` connection, with payload, middleware and hooks, in one attempt. Resolves to the result of
   * `handle`.
   *
   * @throws the job's error
   */
  async dispatchSync<J extends JobInstance>(job: J): Promise<HandleResult<J>> {
    const manager = this.#managerOf();
    if (!isJob(manager, job)) return (await this.#runCommand(manager, job)) as HandleResult<J>;
    const runner = manager.syncRunner();
    const { queue, entry, observed } = manager.encoder.encode(job, { connection: 'sync' });
    try {
      return (await runner.run(queue, entry.payload)) as HandleResult<J>;
    } finally {
      observed?.end();
    }
  }

  /**
   * Runs this very instance in place, with injection but without payload, middleware or hooks. Resolves to the result of
   * `handle`.
   */
  async dispatchNow<J extends JobInstance>(job: J): Promise<HandleResult<J>> {
    const manager = this.#managerOf();
    if (!isJob(manager, job)) return (await this.#runCommand(manager, job)) as HandleResult<J>;
    const { target } = definitionOfJob(job, manager.registry);
    return (await runInPlace(manager, job, manager.registry.handlerOf(target))) as HandleResult<J>;
  }

  /**
   * Sends many jobs in few calls, each to its own connection and queue. Resolves to their ids, in the same order. All are encoded
   * before the first is sent.
   *
   * @throws BulkInterruptedError a store, a job on `sync` or a job's own `queue()` failed on the way; its facts say which jobs
   * are not in
   */
  async bulk(jobs: Iterable<JobInstance>): Promise<string[]> {
    const manager = this.#managerOf();
    const parcels = await encodeAll(jobs, (job) => parcelOf(manager, job, {}));
    return sendBulk(parcels, (connection) => manager.driver(connection));
  }

  /**
   * Sets the handlers of commands. If a command is a job, workers call the handler, as with `@Handles`.
   *
   * @throws E_INVALID_HANDLER, and the errors of injection
   */
  map(handlers: Iterable<readonly [command: Class, handler: Class]>): void {
    const manager = this.#managerOf();
    for (const [command, handler] of handlers) {
      if (typeof handler !== 'function' || !hasHandle(handler)) {
        const problem = 'it is not a class with a method handle(). (An arrow function in a field does not count.)';
        throw invalidHandler(handler?.name ?? String(handler), command?.name, undefined, problem, 'Bus.map to');
      }
      if (typeof command !== 'function') {
        const problem =
          'the class of the command is undefined. Two files import each other: move it into a file of its own.';
        throw invalidHandler(handler.name, undefined, undefined, problem, 'Bus.map to');
      }
      checkInjection(handler, 'handler');
      makeResolvable(handler);
      if (manager.registry.definitionOf(command) === undefined) manager.commandHandlers.set(command, handler);
      else manager.registry.setHandler(command, handler);
    }
  }

  none(): PendingDispatch<undefined> {
    return undispatched();
  }

  async #runCommand(manager: Application, command: object): Promise<unknown> {
    const handler = manager.commandHandlers.get(command.constructor);
    if (handler === undefined) throw unmappedCommand(command.constructor.name);
    return runInPlace(manager, command, handler);
  }
}

const BUILDER_CALLS = [
  'onConnection',
  'onQueue',
  'delay',
  'withoutDelay',
  'through',
  'afterCommit',
  'beforeCommit',
  'using',
] as const satisfies readonly (keyof PendingDispatch)[];

/** What `dispatchIf(false)` returns: accepts every builder call, sends nothing, and resolves to undefined. */
function undispatched(): PendingDispatch<undefined> {
  const nothing = Promise.resolve(undefined) as PendingDispatch<undefined>;
  const calls = BUILDER_CALLS.map((name) => [name, (): PendingDispatch<undefined> => nothing]);
  return Object.assign(nothing, Object.fromEntries(calls), {
    result: nothing,
    [inspect.custom]: () => 'PendingDispatch(nothing: its condition did not hold)',
  });
}

// A class that extends Job without a decorator is a faulty job, and its dispatch explains the fault. So are a class instead of an
// instance, and a plain object.
function isJob(manager: Application, job: object): boolean {
  const target = classOf(job);
  if (target === undefined || target === Object) return true;
  return manager.registry.definitionOf(target) !== undefined || extendsJob(target);
}

/** Resolves to the result of `handle`. @throws what it throws, or the error given to `fail()` */
export function runInPlace(application: Application, job: object, handler: Class | undefined): Promise<unknown> {
  return runFor(application, () => run(application, job, handler));
}

const CALLED = ['handle'];

async function run(application: Application, job: object, handler: Class | undefined): Promise<unknown> {
  const target = job.constructor;
  if (extendsJob(target) && isRunning(job)) throw alreadyRunning(target.name);
  const context = new InPlaceContext(target.name, application);
  const { container } = application;
  const tokens =
    handler === undefined ? tokensOf(target as Class, 'job', CALLED) : tokensOf(handler, 'handler', CALLED);
  const values = new Map([[JobContext, context]]);
  const scope =
    container?.open === undefined
      ? openScope(container, values)
      : await openRunScope(container, { job: context, tokens, handler }, values);
  try {
    attachContext(job, context);
    const value = await runInScope(scope, async () =>
      handler === undefined
        ? call(job, target, scope, [])
        : call(resolveHandler(handler, scope), handler, scope, [job]),
    );
    if (context.failure !== undefined) throw context.failure;
    return value;
  } finally {
    context.isOver = true;
    await scope.dispose();
  }
}

// An instance whose run did not begin here was created by a worker, for that run only. A command that does not extend Job is not
// checked: it has no `this.job`, and a constant may be handled many times at once.
function isRunning(job: object): boolean {
  const context = contextOf(job);
  return context instanceof InPlaceContext ? !context.isOver : context !== undefined;
}

/** A run that cannot be given back or repeated, because it has no reservation. */
class InPlaceContext extends JobContext {
  readonly occurrence = undefined;
  readonly id = uuidv7();
  readonly queue = '';
  readonly connectionName = '';
  readonly attempts = 1;
  readonly fence = 1;
  readonly maxTries = 1;
  readonly signal = new AbortController().signal;
  readonly stopping = new AbortController().signal;
  readonly isReleased = false;
  readonly isDeleted = false;
  readonly payload = {};
  readonly chain = [];
  readonly cause = undefined;
  readonly batch = undefined;
  readonly name: string;
  failure: Error | undefined;
  isOver = false;

  readonly #checkpoints: Checkpoints;

  constructor(name: string, { registry, clock }: Application) {
    super();
    this.name = name;
    this.#checkpoints = new Checkpoints({ job: this, registry, clock });
  }

  get hasFailed(): boolean {
    return this.failure !== undefined;
  }

  release(): never {
    throw notQueued(this.name);
  }

  defer(): never {
    throw notQueued(this.name);
  }

  fail(error?: Error | string): void {
    this.failure ??= error instanceof Error ? error : failedInPlace(this.name, error);
  }

  // Checked, but not stored: nobody knows the id of this run.
  progress(value: number, text?: string): void {
    checkedProgress(this.name, value, text);
  }

  log(line: string): void {
    checkedLine(this.name, line);
  }

  // Nobody can go on with it: all steps run.
  step<T>(name: string, run: () => T | PromiseLike<T>): Promise<T> {
    return this.#checkpoints.step(name, run);
  }

  stepKey(name: string): string {
    return this.#checkpoints.stepKey(name);
  }

  checkpoint(name: string, value: unknown): Promise<void> {
    return this.#checkpoints.checkpoint(name, value);
  }

  checkpointed(name: string): never {
    return this.#checkpoints.checkpointed(name) as never;
  }

  appendToChain(): never {
    throw notQueued(this.name);
  }

  prependToChain(): never {
    throw notQueued(this.name);
  }

  delete(): void {
    // There is nothing to delete: the run ends with handle().
  }
}

function call(target: object, owner: Class, scope: Scope, leading: readonly unknown[]): unknown {
  if (!('handle' in target) || typeof target.handle !== 'function') throw noHandler(owner.name);
  return Reflect.apply(target.handle, target, methodArguments(owner, 'handle', scope, leading));
}
