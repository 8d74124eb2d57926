/** `Bus`: dispatches jobs, and runs the mapped handlers of commands that are none. */
import { inspect } from 'node:util';
import { classOf } from '../base/class';
import { checkInjection } from '../container/parameters';
import { makeResolvable } from '../container/tsyringe-scope';
import { extendsJob } from '../job/base';
import { type BatchSource, PendingBatch } from '../job/batch';
import { type ChainList, PendingChain } from '../job/chain';
import type { Class, JobInstance } from '../job/definition';
import type { JobDispatcher, PendingDispatch } from '../job/dispatcher';
import { invalidHandler } from '../job/errors';
import { hasHandle } from '../job/handles';
import type { HandleResult, JobBase } from '../job/job';
import type { Batch } from './batch/batch';
import { encodeAll, sendBulk } from './bulk';
import type { DispatchApplication } from './dispatch-application';
import { unmappedCommand } from './errors';
import { PendingJob } from './pending-dispatch';
import { runInPlace } from './run-in-place';
import { parcelOf } from './send';

/** For the manager behind `Queue`, use `Bus`; for one of your own, `new JobBus(() => manager)`. */
export class JobBus implements JobDispatcher {
  readonly #managerOf: () => DispatchApplication;

  constructor(managerOf: () => DispatchApplication) {
    this.#managerOf = managerOf;
  }

  /** Sends a job to its queue; an object that is no job goes to its mapped handler at once, whose value it gives. */
  dispatch(job: JobBase): PendingDispatch;
  dispatch(command: JobInstance): PendingDispatch & Promise<unknown>;
  dispatch(job: JobInstance): PendingDispatch {
    const manager = this.#managerOf();
    if (isJob(manager, job)) return new PendingJob(manager, job);
    // Typed as a dispatch, because nothing but the decorator tells a plain job from a command.
    return this.#runCommand(manager, job) as PendingDispatch;
  }

  /**
   * Jobs that run one after the other, each sent by the success of the one before it.
   *
   * @param links or a function that gives them, called with what `dispatch()` is given
   */
  chain<Parameters extends readonly unknown[] = []>(
    links: ChainList | ((...parameters: Parameters) => ChainList),
  ): PendingChain<Parameters> {
    const linksOf = typeof links === 'function' ? links : () => links;
    return new PendingChain(linksOf, (first, choice) => new PendingJob(this.#managerOf(), first, choice));
  }

  /** Jobs that run in any order, and what is sent when something becomes of them. An inner list is a chain. */
  batch(jobs: BatchSource): PendingBatch<Batch> {
    return new PendingBatch(jobs, (chosen, detour) => this.#managerOf().batches.send(chosen, detour));
  }

  /** Sends a job to its queue, and never runs it at once. */
  dispatchToQueue(job: JobInstance): PendingDispatch {
    return new PendingJob(this.#managerOf(), job);
  }

  /**
   * Runs a job through the `sync` connection: payload, middleware and hooks, in one attempt; gives what `handle` gives.
   *
   * @throws what the job failed with
   */
  async dispatchSync<J extends JobInstance>(job: J): Promise<HandleResult<J>> {
    const manager = this.#managerOf();
    if (!isJob(manager, job)) return (await this.#runCommand(manager, job)) as HandleResult<J>;
    const { queue, entry } = manager.encoder.encode(job, { connection: 'sync' });
    return (await manager.syncRunner().run(queue, entry.payload)) as HandleResult<J>;
  }

  /** Runs this very instance in place, with injection; gives what `handle` gives. No payload, middleware or hooks. */
  async dispatchNow<J extends JobInstance>(job: J): Promise<HandleResult<J>> {
    const manager = this.#managerOf();
    if (!isJob(manager, job)) return (await this.#runCommand(manager, job)) as HandleResult<J>;
    const { target } = manager.encoder.definitionOf(job);
    return (await runInPlace(manager, job, manager.registry.handlerOf(target))) as HandleResult<J>;
  }

  /**
   * Sends many jobs with few calls, to the connection and queue of each; gives their ids, in the same order. All are
   * encoded before the first is sent.
   *
   * @throws BulkInterruptedError when a store, a job on `sync` or a `queue()` of its own failed on the way: its facts say
   *   which are not in
   */
  async bulk(jobs: Iterable<JobInstance>): Promise<string[]> {
    const manager = this.#managerOf();
    const parcels = await encodeAll(jobs, (job) => parcelOf(manager, job, {}));
    return sendBulk(parcels, (connection) => manager.driver(connection));
  }

  /**
   * Says which handler runs a command. Where the command is a job, its workers call the handler, as with `@Handles`.
   *
   * @throws E_INVALID_HANDLER, and the errors of injection
   */
  map(handlers: Iterable<readonly [command: Class, handler: Class]>): void {
    const manager = this.#managerOf();
    for (const [command, handler] of handlers) {
      if (typeof handler !== 'function' || !hasHandle(handler)) {
        const problem = 'it is no class with a method handle(). (An arrow function in a field is none.)';
        throw invalidHandler(handler?.name ?? String(handler), command?.name, undefined, problem, 'Bus.map to');
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

  async #runCommand(manager: DispatchApplication, command: object): Promise<unknown> {
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

/** What `dispatchIf(false)` gives: takes every builder call, sends nothing, and is undefined when it is awaited. */
function undispatched(): PendingDispatch<undefined> {
  const nothing = Promise.resolve(undefined) as PendingDispatch<undefined>;
  const calls = BUILDER_CALLS.map((name) => [name, (): PendingDispatch<undefined> => nothing]);
  return Object.assign(nothing, Object.fromEntries(calls), {
    result: nothing,
    [inspect.custom]: () => 'PendingDispatch(nothing: its condition did not hold)',
  });
}

// One that extends Job without a decorator is a job with a mistake, which its dispatch explains; so is a class in place
// of an instance, and a plain object.
function isJob(manager: DispatchApplication, job: object): boolean {
  const target = classOf(job);
  if (target === undefined || target === Object) return true;
  return manager.registry.definitionOf(target) !== undefined || extendsJob(target);
}
