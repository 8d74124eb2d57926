/** `Job`: the decorator factory and the base class in one symbol. */
import type { ChainList, JobContext } from './job-context';
import type { NamedToken } from '../container/parameters';
import { RunnableJob } from './instance';
import type { PendingChain, PendingDispatch } from './pending';
import type { JobInstance } from './registry';
import { declaredIn, type Class } from '../base/class';
import { late } from '../base/late-parts';
import { declareJob } from './declare';
import type { Delay } from './duration';
import { invalidJobClass } from './errors';
import type { Middleware } from './middleware';
import type { JobOptions, RunOptions } from './options';
import type { HandlesAll, TogetherOptions } from './together';

/** What a job inherits. An interface, because a job could not declare fields over the accessors of a class. */
export interface JobBase {
  /**
   * The running job's `id`, same as `this.job.id`; a field `id` of your own is data and wins. Of any type, and an index signature
   * (whose pattern in practice matches only `id`), so that your own `id` compiles without `override`, whatever its type.
   */
  // oxlint-disable-next-line typescript/no-explicit-any
  readonly [id: `id${Uppercase<string>}`]: any;
  /** The running reservation. This and its shortcuts throw `E_NOT_RUNNING` while the job does not run. */
  readonly job: JobContext;
  /** 1 in the first run. */
  readonly attempts: number;
  /** Aborts on timeout, lost lease, cancellation or shutdown. */
  readonly signal: AbortSignal;
  /** Grows with every reservation of this job: a fencing token for your own database. */
  readonly fence: number;
  /** Puts the job back into its queue, to run again after `delay` (default 0); the try stays spent. */
  release(delay?: Delay): void;
  /** Fails the job at once, whatever its tries. */
  fail(error?: Error | string): void;
  /** Ends the job as completed, whatever `handle` does afterwards. */
  delete(): void;
  /** Adds jobs at the end of its chain, to follow if this job succeeds. A failed attempt adds nothing. */
  appendToChain(...jobs: readonly JobInstance[]): void;
  /** The same, but at the beginning of its chain. */
  prependToChain(...jobs: readonly JobInstance[]): void;
  /**
   * Runs one step of a long job, and keeps what it gave: a later attempt gets that instead of running it again. For jobs with
   * `checkpoints: true`. `this.job` has these four too, and documents what they throw.
   */
  step<T>(name: string, run: () => T | PromiseLike<T>): Promise<T>;
  /** An idempotency key for what a step calls: the same in each attempt. */
  stepKey(name: string): string;
  /** Keeps how far the job has come, for a later attempt. Writes at most once a second. */
  checkpoint(name: string, value: unknown): Promise<void>;
  /** What was kept last under this name. Undefined if nothing was. */
  // oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- the caller says what it has kept
  checkpointed<T>(name: string): T | undefined;
  /** Resolves a dependency within this run, for places where no parameter can be decorated. */
  make<T extends object>(token: Class<T>): T;
  make<T>(token: NamedToken<T> | object): T;
  /** Where this instance is sent. The same call on a dispatch overrides it. */
  onConnection(connection: string): this;
  /** @throws E_INVALID_QUEUE_NAME */
  onQueue(queue: string): this;
  /** A duration from the dispatch (a number is seconds), or a moment. @throws E_INVALID_DURATION */
  delay(delay: Delay): this;
  /** Overrides the delay of `@Job()`. */
  withoutDelay(): this;
  /** Wraps the run, inside the job's own middleware. */
  through(...middleware: readonly Middleware[]): this;
}

/** A class that can be constructed from outside; for others use `dispatch(X.make(1))`. */
// oxlint-disable-next-line typescript/no-explicit-any
type Dispatchable = new (...parameters: any[]) => object;

/** What `handle` resolves to; unknown if a handler class runs the job. */
export type HandleResult<J> = J extends { handle: (...parameters: never[]) => infer Result }
  ? Awaited<Result>
  : unknown;

interface Handling {
  handle(...parameters: never[]): unknown;
}

/** The result of `Queue.result<T>()`: if `T` is a job or a job class, what its `handle` resolves to; otherwise `T` itself. */
export type ResultOf<T> = T extends Handling | (abstract new (...parameters: never[]) => Handling)
  ? HandleResult<T extends abstract new (...parameters: never[]) => infer J ? J : T>
  : T;

/** Options that a field could hide: `dispatch` refuses each instance that has one. A method of that name is the option. */
type HidingField<
  Instance,
  Name = Extract<keyof Instance, 'connection' | 'queue' | 'delay' | keyof RunOptions>,
> = Name extends keyof Instance ? (Instance[Name] extends (...parameters: never[]) => unknown ? never : Name) : never;

/** In the compiler's error about a class that has such a field. */
type NoHidingField<Instance> = [HidingField<Instance>] extends [never]
  ? unknown
  : { readonly 'a field is called like an option of @Job(): give it another name': HidingField<Instance> };

/** Works under legacy and standard decorators. Returns the class, so that `const A = Job()(class A …)` works. */
export type JobDecorator = <C extends Class>(
  target: C & NoHidingField<C['prototype']>,
  // A tighter type would refuse classes with a private constructor.
  // oxlint-disable-next-line typescript/no-explicit-any
  context?: ClassDecoratorContext<any>,
) => C;

/** Decides whether `dispatchIf` sends: a value, or a function of the job. */
type Condition<J> = boolean | ((job: J) => boolean);

/** The same for a class with `together`: it needs a static `handleAll` that takes its own jobs. */
export type TogetherDecorator = <C extends Class>(
  target: C & HandlesAll<C['prototype']> & NoHidingField<C['prototype']>,
  // oxlint-disable-next-line typescript/no-explicit-any
  context?: ClassDecoratorContext<any>,
) => C;

export interface JobStatic {
  /**
   * Declares the class below as a job.
   * @throws E_UNKNOWN_JOB_OPTION, E_INVALID_JOB_OPTION, E_INVALID_DURATION, E_INVALID_QUEUE_NAME,
   *   E_INVALID_JOB_CLASS, E_DUPLICATE_JOB, and the errors of injection
   */
  (options?: JobOptions & { readonly together?: undefined }): JobDecorator;
  (options: JobOptions & { readonly together: TogetherOptions }): TogetherDecorator;
  (options?: JobOptions): JobDecorator;
  new (): JobBase;
  /** Makes the job with the parameters of its constructor, and sends it. */
  dispatch<C extends Dispatchable>(this: C, ...parameters: ConstructorParameters<C>): PendingDispatch;
  /** Sends the job if the condition holds: a boolean, or a function of the job. Otherwise resolves to undefined. */
  dispatchIf<C extends Dispatchable>(
    this: C,
    condition: Condition<InstanceType<C>>,
    ...parameters: ConstructorParameters<C>
  ): PendingDispatch<string | undefined>;
  /**
   * Starts a chain: the given jobs follow one after the other, each sent when the one before it succeeds: `Fetch.withChain([new
   * Resize(1), new Report()]).dispatch(url)`.
   */
  withChain<C extends Dispatchable>(this: C, links: ChainList): PendingChain<ConstructorParameters<C>>;
  /** Sends the job unless the condition holds. */
  dispatchUnless<C extends Dispatchable>(
    this: C,
    condition: Condition<InstanceType<C>>,
    ...parameters: ConstructorParameters<C>
  ): PendingDispatch<string | undefined>;
  /**
   * Runs the job through the `sync` connection, with payload, middleware and hooks, for one attempt. Rejects with the job's
   * error.
   */
  dispatchSync<C extends Dispatchable>(
    this: C,
    ...parameters: ConstructorParameters<C>
  ): Promise<HandleResult<InstanceType<C>>>;
  /** Runs the instance in place: with injection, but without payload, middleware, hooks and timeout. */
  dispatchNow<C extends Dispatchable>(
    this: C,
    ...parameters: ConstructorParameters<C>
  ): Promise<HandleResult<InstanceType<C>>>;
}

// A function, not a class: it is called as a decorator factory, and constructed by `super()`.
function JobFactory(this: unknown, options: JobOptions = {}): JobDecorator | undefined {
  if (new.target !== undefined) return undefined;
  if (typeof options === 'function') {
    const problem = 'has @Job without brackets. Write @Job().';
    throw invalidJobClass((options as Class).name, declaredIn(JobFactory), problem);
  }
  return function decorate(target) {
    declareJob(target, options, decorate);
    return target;
  };
}

/** What the statics of `Job` send through: jobs need not know the bus. */
export interface JobDispatcher {
  dispatchToQueue(job: object): PendingDispatch;
  chain<Parameters extends readonly unknown[]>(
    links: (...parameters: Parameters) => ChainList,
  ): PendingChain<Parameters>;
  dispatchSync(job: object): Promise<unknown>;
  dispatchNow(job: object): Promise<unknown>;
  /** What `dispatchIf(false)` returns: accepts every builder call, sends nothing. */
  none(): PendingDispatch<undefined>;
}

declare module '../base/late-parts' {
  interface LateParts {
    dispatcher: JobDispatcher;
  }
}

/** `JobStatic` without its call and construct signatures. */
type Statics = Pick<JobStatic, keyof JobStatic>;

const statics: Statics = {
  dispatch(...parameters) {
    return late.dispatcher.dispatchToQueue(new this(...parameters));
  },
  dispatchIf(condition, ...parameters) {
    return dispatchWhen(this, condition, true, parameters);
  },
  dispatchUnless(condition, ...parameters) {
    return dispatchWhen(this, condition, false, parameters);
  },
  withChain(links) {
    return late.dispatcher.chain((...parameters) => [new this(...parameters), ...links]);
  },
  dispatchSync(...parameters) {
    return late.dispatcher.dispatchSync(new this(...parameters)) as Promise<never>;
  },
  dispatchNow(...parameters) {
    return late.dispatcher.dispatchNow(new this(...parameters)) as Promise<never>;
  },
};

function dispatchWhen<C extends Dispatchable>(
  target: C,
  condition: Condition<InstanceType<C>>,
  wanted: boolean,
  parameters: ConstructorParameters<C>,
): PendingDispatch<string | undefined> {
  if (typeof condition !== 'function') {
    return !condition !== wanted ? late.dispatcher.dispatchToQueue(new target(...parameters)) : late.dispatcher.none();
  }
  const job = new target(...parameters) as InstanceType<C>;
  return !condition(job) !== wanted ? late.dispatcher.dispatchToQueue(job) : late.dispatcher.none();
}

JobFactory.prototype = RunnableJob.prototype;
Object.defineProperty(RunnableJob.prototype, 'constructor', { value: JobFactory, writable: true, configurable: true });
Object.defineProperty(JobFactory, 'name', { value: 'Job' });
for (const [name, value] of Object.entries(statics)) Object.defineProperty(JobFactory, name, { value, writable: true });

/**
 * `@Job({ … })` above a class declares it as a job; `extends Job` gives it `dispatch()` and `this.job`.
 *
 * Constructor parameters are the job's data; dependencies come to `handle()`.
 */
export const Job = JobFactory as unknown as JobStatic;
