/**
 * The callbacks that watch workers, and the one place that calls them.
 *
 * A hook that throws is reported and never changes an outcome; only `looping` may answer `false`, which is a veto.
 */
import { defineError } from '../base/define-error';
import { kindOf } from '../base/value-text';
import type { HookEvents } from './hook-events';

export type HookName = keyof HookEvents;

/** May be async. Only the answer of `looping` counts: `false` vetoes the reserve. */
export type Hook<Name extends HookName> = (event: HookEvents[Name]) => unknown;

export type ReportHookError = (error: unknown, context: { readonly hook: HookName }) => void;

const NONE: readonly never[] = [];

export class Hooks {
  readonly #hooks: { [Name in HookName]?: readonly Hook<Name>[] } = {};
  readonly #report: ReportHookError;
  /** Whether anybody hears of pushes: asked of each. */
  hearPushes = false;

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
    this.#set(name, [...this.#of(name), own]);
    return () =>
      this.#set(
        name,
        this.#of(name).filter((other) => other !== own),
      );
  }

  /** Adds the hooks that `other` has now; their errors are reported here. */
  adopt(other: Hooks): void {
    for (const name of Object.keys(other.#hooks) as HookName[]) {
      this.#set(name, [...this.#of(name), ...other.#of(name)]);
    }
  }

  /** Lets the hot path skip building an event that nobody listens to. */
  has(name: HookName): boolean {
    return this.#of(name).length > 0;
  }

  /**
   * Calls the hooks one after another, in the order in which they were added. Undefined if none was async: on the hot path, a
   * promise for each job and hook would cost more than the hooks do.
   */
  emit<Name extends HookName>(name: Name, event: HookEvents[Name]): Promise<void> | undefined {
    const hooks = this.#of(name);
    for (let place = 0; place < hooks.length; place += 1) {
      const answer = this.#call(name, hooks[place]!, event);
      if (answer instanceof Promise) return this.#goOn(name, event, hooks, place + 1, answer);
    }
    return undefined;
  }

  /** Asks the `looping` hooks. The first `false` vetoes; the hooks behind it are not asked. */
  async allowsReserve(event: HookEvents['looping']): Promise<boolean> {
    for (const hook of this.#of('looping')) {
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

  #of<Name extends HookName>(name: Name): readonly Hook<Name>[] {
    return this.#hooks[name] ?? NONE;
  }

  // Makes a new list each time: a hook that removes itself must not shift the others under a running loop.
  #set(name: HookName, hooks: readonly Hook<never>[]): void {
    (this.#hooks as Record<HookName, readonly Hook<never>[]>)[name] = hooks;
    this.hearPushes = this.has('queueing') || this.has('queued') || this.has('skipped');
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
