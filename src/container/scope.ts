/** One run's dependencies: opens its scope and resolves within it. */
import 'reflect-metadata';
import { AsyncLocalStorage } from 'node:async_hooks';
import { container as root } from 'tsyringe';
import type { Class } from '../base/class';
import type { Container, NamedToken, Scope } from './container';
import { invalidContainer, outsideRun, placeText, resolutionFailed, tokenText } from './errors';
import { GivenScope } from './given-scope';
import { injectionsOf, placeOf } from './parameters';
import { isTsyringeContainer, TsyringeScope } from './tsyringe-scope';

interface Entered {
  /** Undefined if the code that runs is no run of a job, and has nothing injected. */
  readonly scope: Scope | undefined;
  readonly caller: object | undefined;
}

const current = new AsyncLocalStorage<Entered>();

/**
 * Costs nothing until something is resolved.
 * @param container the configuration's; default: tsyringe's root container
 * @throws E_INVALID_CONTAINER
 */
export function openScope(container?: Container | object): Scope {
  if (container === undefined) return new TsyringeScope(root);
  if (isTsyringeContainer(container)) return new TsyringeScope(container);
  if ('resolve' in container && typeof container.resolve === 'function') return new GivenScope(container);
  throw invalidContainer(container);
}

/**
 * Runs `run` and everything that it starts with `scope` as the scope that `inject()` uses.
 * @param caller who waits for the run; default: whoever waits for the code that runs now
 */
export function runInScope<Result>(scope: Scope, run: () => Result, caller = callerOf()): Result {
  return current.run({ scope, caller }, run);
}

/** For code that is called and waited for outside of a run. */
export function callFrom<Result>(caller: object, call: () => Result): Result {
  return current.run({ scope: undefined, caller }, call);
}

/** Who waits for the code that runs now, directly or indirectly. */
export function callerOf(): object | undefined {
  return current.getStore()?.caller;
}

/**
 * Resolves a dependency within the run: inside `handle()`, or in a field initialiser of a handler class.
 * @throws E_OUTSIDE_RUN, E_RESOLUTION
 */
export function inject<T extends object>(token: Class<T>): T;
export function inject<T>(token: NamedToken<T> | object): T;
export function inject(token: unknown): unknown {
  const scope = current.getStore()?.scope;
  if (scope === undefined) throw outsideRun(token);
  try {
    return scope.resolve(token);
  } catch (error) {
    throw resolutionFailed(`inject(${tokenText(token)})`, token, error);
  }
}

/**
 * The arguments of one call: the given ones, then the injected ones. Does not touch the container if nothing is injected.
 * @throws E_RESOLUTION
 */
export function methodArguments(
  target: Class,
  method: string,
  scope: Scope,
  leading: readonly unknown[],
): readonly unknown[] {
  const injections = injectionsOf(target, method, leading.length);
  if (injections.length === 0) return leading;
  const values = [...leading];
  for (const { position, token } of injections) {
    try {
      values[position] = scope.resolve(token);
    } catch (error) {
      throw resolutionFailed(placeText(placeOf(target, method, position)), token, error);
    }
  }
  return values;
}

/** @throws E_RESOLUTION */
export function resolveHandler(target: Class, scope: Scope): object {
  // Field initialisers of the handler may call inject().
  return runInScope(scope, () => {
    try {
      return scope.construct(target);
    } catch (error) {
      throw resolutionFailed.is(error) ? error : resolutionFailed(`The handler ${target.name}`, target, error);
    }
  });
}
