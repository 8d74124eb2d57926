/** `Job`: the decorator factory and the base class in one symbol. */
import type { NamedToken } from '../container/container';
import { RunnableJob } from './base';
import type { ChainList, PendingChain } from './chain';
import type { Class, JobInstance } from './definition';
import { declareJob } from './declare';
import { declaredIn } from '../base/declared-in';
import type { JobDispatcher, PendingDispatch } from './dispatcher';
import type { Delay } from './duration';
import { invalidJobClass } from './errors';
import type { JobContext } from './job-context';
import type { Middleware } from './middleware';
import type { JobOptions } from './options';

/** What a job inherits. An interface, so that a job may declare fields that an accessor of a class would forbid. */
export interface JobBase {
  /**
   * The running job's `id`, as `this.job.id`; a field `id` of your own is data and wins. Any type, and no declared member
   * (the pattern matches `id` alone in practice), so that your own compiles, whatever it is, without `override`.
   */
  // oxlint-disable-next-line typescript/no-explicit-any
  readonly [id: `id${Uppercase<string>}`]: any;
  /** The running reservation. This and its shorts throw `E_NOT_RUNNING` while the job does not run. */
  readonly job: JobContext;
  /** 1 in the first run. */
  readonly attempts: number;
  /** Aborts on timeout, lost lease, cancellation or shutdown. */
  readonly signal: AbortSignal;
  /** Grows with every reservation of this job: a fencing token for your own database. */
  readonly fence: number;
  /** Back to the queue, to run again after `delay` (default 0); the try stays spent. */
  release(delay?: Delay): void;
  /** Out of tries at once. */
  fail(error?: Error | string): void;
  /** Ends the job as completed, whatever `handle` does from here on. */
  delete(): void;
  /** Jobs that follow this one if it succeeds, behind those of its chain. An attempt that fails adds nothing. */
  appendToChain(...jobs: readonly JobInstance[]): void;
  /** The same, before those of its chain. */
  prependToChain(...jobs: readonly JobInstance[]): void;
  /** Resolves a dependency within this run, where a parameter cannot be decorated. */
  make<T extends object>(token: Class<T>): T;
  make<T>(token: NamedToken<T> | object): T;
  /** For this instance; a dispatch's own call is stronger. */
  onConnection(connection: string): this;
  onQueue(queue: string): this;
  delay(delay: Delay): this;
  withoutDelay(): this;
  through(...middleware: readonly Middleware[]): this;
}

/** A class that can be made with `new` from outside; others are served by `dispatch(X.make(1))`. */
// oxlint-disable-next-line typescript/no-explicit-any
type Dispatchable = new (...parameters: any[]) => object;

/** What `handle` resolves to; unknown where a handler class has it. */
export type HandleResult<J> = J extends { handle: (...parameters: never[]) => infer Result }
  ? Awaited<Result>
  : unknown;

interface Handling {
  handle(...parameters: never[]): unknown;
}

/** What `Queue.result<T>()` gives: where `T` is a job or its class, what its `handle` resolves to; otherwise `T` itself. */
export type ResultOf<T> = T extends Handling | (abstract new (...parameters: never[]) => Handling)
  ? HandleResult<T extends abstract new (...parameters: never[]) => infer J ? J : T>
  : T;

/** Under legacy and standard decorators. Gives the class back, so that `const A = Job()(class A …)` can be used. */
export type JobDecorator = <C extends Class>(
  target: C,
  // Typed more tightly, it refuses classes with a private constructor.
  // oxlint-disable-next-line typescript/no-explicit-any
  context?: ClassDecoratorContext<any>,
) => C;

/** Decides whether `dispatchIf` sends: a value, or a function of the job. */
type Condition<J> = boolean | ((job: J) => boolean);

export interface JobStatic {
  /**
   * Declares the class below as a job.
   * @throws E_UNKNOWN_JOB_OPTION, E_INVALID_JOB_OPTION, E_INVALID_DURATION, E_INVALID_QUEUE_NAME,
   *   E_INVALID_JOB_CLASS, E_DUPLICATE_JOB, and the errors of injection
   */
  (options?: JobOptions): JobDecorator;
  new (): JobBase;
  /** Makes the job with the constructor's own parameters, and sends it. */
  dispatch<C extends Dispatchable>(this: C, ...parameters: ConstructorParameters<C>): PendingDispatch;
  dispatchIf<C extends Dispatchable>(
    this: C,
    condition: Condition<InstanceType<C>>,
    ...parameters: ConstructorParameters<C>
  ): PendingDispatch<string | undefined>;
  /**
   * Has these jobs follow, one after the other, each sent by the success of the one before it:
   * `Fetch.withChain([new Resize(1), new Report()]).dispatch(url)`.
   */
  withChain<C extends Dispatchable>(this: C, links: ChainList): PendingChain<ConstructorParameters<C>>;
  dispatchUnless<C extends Dispatchable>(
    this: C,
    condition: Condition<InstanceType<C>>,
    ...parameters: ConstructorParameters<C>
  ): PendingDispatch<string | undefined>;
  /** Through the `sync` connection: payload, middleware and hooks, one attempt; rejects with what the job failed with. */
  dispatchSync<C extends Dispatchable>(
    this: C,
    ...parameters: ConstructorParameters<C>
  ): Promise<HandleResult<InstanceType<C>>>;
  /** Runs the instance in place. */
  dispatchNow<C extends Dispatchable>(
    this: C,
    ...parameters: ConstructorParameters<C>
  ): Promise<HandleResult<InstanceType<C>>>;
}

// A function, not a class: it is called as a decorator factory, and constructed by `super()`.
function JobFactory(this: unknown, options: JobOptions = {}): JobDecorator | undefined {
  if (new.target !== undefined) return undefined;
  if (typeof options === 'function') {
    const problem = 'bears @Job without brackets. Write @Job().';
    throw invalidJobClass((options as Class).name, declaredIn(JobFactory), problem);
  }
  return function decorate(target) {
    declareJob(target, options, decorate);
    return target;
  };
}

/** The bus puts itself here: it lies above. */
let dispatcher: JobDispatcher;

export function setJobDispatcher(bus: JobDispatcher): void {
  dispatcher = bus;
}

/** `JobStatic` without its call and construct signatures. */
type Statics = Pick<JobStatic, keyof JobStatic>;

const statics: Statics = {
  dispatch(...parameters) {
    return dispatcher.dispatchToQueue(new this(...parameters));
  },
  dispatchIf(condition, ...parameters) {
    return dispatchWhen(this, condition, true, parameters);
  },
  dispatchUnless(condition, ...parameters) {
    return dispatchWhen(this, condition, false, parameters);
  },
  withChain(links) {
    return dispatcher.chain((...parameters) => [new this(...parameters), ...links]);
  },
  dispatchSync(...parameters) {
    return dispatcher.dispatchSync(new this(...parameters)) as Promise<never>;
  },
  dispatchNow(...parameters) {
    return dispatcher.dispatchNow(new this(...parameters)) as Promise<never>;
  },
};

function dispatchWhen<C extends Dispatchable>(
  target: C,
  condition: Condition<InstanceType<C>>,
  wanted: boolean,
  parameters: ConstructorParameters<C>,
): PendingDispatch<string | undefined> {
  if (typeof condition !== 'function') {
    return !condition !== wanted ? dispatcher.dispatchToQueue(new target(...parameters)) : dispatcher.none();
  }
  const job = new target(...parameters) as InstanceType<C>;
  return !condition(job) !== wanted ? dispatcher.dispatchToQueue(job) : dispatcher.none();
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
