/**
 * Hooks, the callbacks that watch workers: their events, and the one place that calls them.
 *
 * A hook that throws is reported and never changes an outcome; only `looping` may answer `false`, which is a veto.
 */
import { defineError } from '../base/onqueue-error';
import { kindOf } from '../base/text';
import type { JobContext } from './job-context';

export type HookName = keyof HookEvents;

/** May be async. Only the answer of `looping` counts: `false` vetoes the reserve. */
export type Hook<Name extends HookName> = (event: HookEvents[Name]) => unknown;

export type ReportHookError = (error: unknown, context: { readonly hook: HookName }) => void;

const NONE: readonly never[] = [];

/** Each hook has its row. */
const NO_HOOKS: { readonly [Name in HookName]: typeof NONE } = {
  queueing: NONE,
  queued: NONE,
  skipped: NONE,
  before: NONE,
  after: NONE,
  exceptionOccurred: NONE,
  failing: NONE,
  released: NONE,
  cancelled: NONE,
  lost: NONE,
  recovered: NONE,
  attempted: NONE,
  starting: NONE,
  looping: NONE,
  idle: NONE,
  busy: NONE,
  stopping: NONE,
};

export class Hooks {
  readonly #hooks: { [Name in HookName]: readonly Hook<Name>[] } = { ...NO_HOOKS };
  /** Which of them somebody has added: lets the hot path skip building an event that nobody listens to. */
  readonly hears = Object.fromEntries(HOOK_NAMES.map((name) => [name, false])) as Record<HookName, boolean>;
  readonly #report: ReportHookError;

  constructor(report: ReportHookError) {
    this.#report = report;
  }

  /**
   * Returns the function that removes the hook. A callback added twice is called twice.
   *
   * @throws E_INVALID_HOOK
   */
  on<Name extends HookName>(name: Name, hook: Hook<Name>): () => void {
    checkHook(name, hook);
    const own: Hook<Name> = (event) => hook(event);
    this.#set(name, [...this.#hooks[name], own]);
    return () =>
      this.#set(
        name,
        this.#hooks[name].filter((other) => other !== own),
      );
  }

  /** Adds the hooks that `other` has now; their errors are reported here. */
  adopt(other: Hooks): void {
    for (const name of HOOK_NAMES) this.#set(name, [...this.#hooks[name], ...other.#hooks[name]]);
  }

  /**
   * Calls the hooks one after another, in the order in which they were added. Undefined if none was async: on the hot path, a
   * promise for each job and hook would cost more than the hooks do.
   */
  emit<Name extends HookName>(name: Name, event: HookEvents[Name]): Promise<void> | undefined {
    const hooks = this.#hooks[name];
    for (let place = 0; place < hooks.length; place += 1) {
      const answer = this.#call(name, hooks[place]!, event);
      if (answer instanceof Promise) return this.#goOn(name, event, hooks, place + 1, answer);
    }
    return undefined;
  }

  /** Asks the `looping` hooks. The first `false` vetoes; the hooks behind it are not asked. */
  async allowsReserve(event: HookEvents['looping']): Promise<boolean> {
    for (const hook of this.#hooks.looping) {
      if ((await this.#call('looping', hook, event)) === false) return false;
    }
    return true;
  }

  async #goOn<Name extends HookName>(
    name: Name,
    event: HookEvents[Name],
    hooks: readonly Hook<Name>[],
    from: number,
    before: Promise<unknown>,
  ): Promise<void> {
    await before;
    for (const hook of hooks.slice(from)) await this.#call(name, hook, event);
  }

  // If the hook is async, returns a promise that never rejects.
  #call<Name extends HookName>(name: Name, hook: Hook<Name>, event: HookEvents[Name]): unknown {
    const failed = (error: unknown): void => this.#report(error, { hook: name });
    try {
      const answer = hook(event);
      return isThenable(answer) ? Promise.resolve(answer).catch(failed) : answer;
    } catch (error) {
      return failed(error);
    }
  }

  // Makes a new list each time: a hook that removes itself must not shift the others under a running loop.
  #set(name: HookName, hooks: readonly Hook<never>[]): void {
    (this.#hooks as Record<HookName, readonly Hook<never>[]>)[name] = hooks;
    this.hears[name] = hooks.length > 0;
  }
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof value === 'object' && value !== null && 'then' in value && typeof value.then === 'function';
}

const invalidHook = defineError('E_INVALID_HOOK', (hook: string, value: unknown, before: string) => {
  const given = kindOf(value);
  return {
    message: `Queue.${hook}() was given ${given} instead of a function. Write Queue.${hook}(${before}(…) => { … }).`,
    facts: { hook, given },
  };
});

/**
 * Without this check, a value that is not a function would be found out when the first job runs, or never.
 *
 * @param before the parameters before the function, as the message shows them
 * @throws E_INVALID_HOOK
 */
export function checkHook(hook: string, value: unknown, before = ''): void {
  if (typeof value !== 'function') throw invalidHook(hook, value, before);
}

interface ConnectionEvent {
  readonly connectionName: string;
}

export interface BeforeEvent extends ConnectionEvent {
  readonly job: JobContext;
}
export type AfterEvent = BeforeEvent;
export interface ExceptionEvent extends BeforeEvent {
  readonly exception: Error;
}
export type FailingEvent = ExceptionEvent;
export interface CancelledEvent extends BeforeEvent {
  /** What was given to `Queue.cancel(id, { reason })`. */
  readonly reason: string | undefined;
}
export interface ReleasedEvent extends BeforeEvent {
  /** Seconds until it is ready again. */
  readonly delay: number;
  /** The error of its attempt, or the reason why it was given back. Undefined if it released itself. */
  readonly exception: Error | undefined;
}
export interface AttemptedEvent extends BeforeEvent {
  /** The error of the attempt, or the reason why the worker gave the job back. */
  readonly exception: Error | undefined;
}
export interface LostEvent extends BeforeEvent {
  /** The outcome of the run, which the store refused. */
  readonly outcome: 'completed' | 'released' | 'failed' | 'cancelled';
}
export interface RecoveredEvent extends BeforeEvent {
  /** How often workers have died or fallen silent while running it, this time included. */
  readonly crashes: number;
  /** How long the last worker was silent, at least, in seconds: the lease. */
  readonly silence: number;
}
export interface QueueingEvent extends ConnectionEvent {
  readonly queue: string;
  /** The job's id. Undefined for a raw payload without an id. */
  readonly id: string | undefined;
  /** The job's name. */
  readonly name: string;
  /** The whole encoded text. */
  readonly payload: string;
  /** Seconds until the job becomes ready, or the moment; 0: at once. */
  readonly delay: number | Date;
}
export type QueuedEvent = QueueingEvent;
export interface SkippedEvent extends ConnectionEvent {
  readonly queue: string;
  /** The id of the job that does not run: the id it would have had, or was queued with. */
  readonly id: string;
  /** The job's name. */
  readonly name: string;
  /** The id of the job that runs instead: it holds the unique key, or has taken the place. */
  readonly of: string;
  /** `duplicate`: it was not queued. `replaced`: it was queued, and has been removed. */
  readonly reason: 'duplicate' | 'replaced';
}
export interface StartingEvent extends ConnectionEvent {
  /** All queues, separated by commas. */
  readonly queue: string;
}
export type IdleEvent = StartingEvent;
export type LoopingEvent = StartingEvent;
export interface BusyEvent extends ConnectionEvent {
  readonly queue: string;
  /** Jobs that are ready. */
  readonly size: number;
  /** How long the oldest ready or overdue job has waited, in seconds. Undefined if there is none or the store cannot tell. */
  readonly wait: number | undefined;
  /** The limits given to `Queue.monitor`; `wait` is in seconds. */
  readonly limit: { readonly size?: number | undefined; readonly wait?: number | undefined };
}
export interface StoppingEvent extends ConnectionEvent {
  readonly reason: string;
}

/**
 * Events by the names of their hooks; each name is a method of `Queue`. Hooks are called in the order of registration and may be
 * async; the method returns a function that removes the hook.
 */
export interface HookEvents {
  /** Before a job is queued. Not for jobs that follow another one in a chain. */
  queueing: QueueingEvent;
  /** When the store has confirmed that a job is in its queue. */
  queued: QueuedEvent;
  /**
   * When a unique job was not queued because another one holds its key, and when another job took the place of a debounced one.
   */
  skipped: SkippedEvent;
  /** Before a job runs. */
  before: BeforeEvent;
  /** After a job has completed, once the store has confirmed it. */
  after: AfterEvent;
  /** After an attempt threw, before its outcome is stored. */
  exceptionOccurred: ExceptionEvent;
  /** After a job has failed for good, once the store has confirmed it. */
  failing: FailingEvent;
  /**
   * After a job went back to its queue, once the store has confirmed it: it released itself, its attempt failed, or its worker
   * gave it back.
   */
  released: ReleasedEvent;
  /** After a job was cancelled, once the store has confirmed it. */
  cancelled: CancelledEvent;
  /** When the store refused an outcome: another worker has the job, or the job is gone. */
  lost: LostEvent;
  /** When a worker takes over a job from one that died or fell silent, before it runs; once for each worker and crash. */
  recovered: RecoveredEvent;
  /** After each attempt, whatever its outcome, once the store has confirmed it, and after all other hooks of the job. */
  attempted: AttemptedEvent;
  /** When a worker starts, before it reserves. */
  starting: StartingEvent;
  /** Before a worker reserves; `false` vetoes it. */
  looping: LoopingEvent;
  /** When a worker becomes idle; not again until it has run a job. */
  idle: IdleEvent;
  /**
   * When a queue is longer or slower than `Queue.monitor` allows: in one of the processes, at the beginning and once an hour
   * while it lasts.
   */
  busy: BusyEvent;
  /** When a worker stops. */
  stopping: StoppingEvent;
}

export const HOOK_NAMES = Object.keys(NO_HOOKS) as HookName[];
