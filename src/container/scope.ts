/** The scope of one run, which resolves its dependencies: on tsyringe, or on a container of the user's own that answers at once. */
import type { Class } from '../base/class';
import 'reflect-metadata';
import { AsyncLocalStorage } from 'node:async_hooks';
import { container as root, Lifecycle, type DependencyContainer, type InjectionToken } from 'tsyringe';
import {
  invalidContainer,
  outsideRun,
  placeText,
  resolutionFailed,
  tokenText,
  foreignDecorator,
  disposeFailed,
} from './errors';
import { injectionsOf, placeOf, plans, constructorInjections, type NamedToken } from './parameters';
import { types } from 'node:util';

/** What a container resolves to a `T`: its class, a name, or an object that the container understands. */
export type Token<T = unknown> = Class<T & object> | NamedToken<T> | object;

/** The scope of one run. */
export interface Scope {
  /** Resolves a token within this run. */
  resolve(token: unknown): unknown;
  /** Creates a handler, with its constructor's parameters resolved within this run. */
  construct(handler: Class): object;
  /** Makes `token` resolve to `value` within this run. */
  register(token: unknown, value: unknown): void;
  /**
   * Ends the run: disposes of what is scoped to it, never of singletons or a parent's instances. Undefined if there was
   * nothing to dispose of.
   */
  dispose(): Promise<void> | undefined;
}

/** The `container` of the configuration. */
export interface Container {
  /** `scope` is the run's scope; undefined outside of a run. */
  resolve(token: unknown, scope?: Scope): unknown;
  /** For a container that makes things asynchronously, or anew for each request: it is asked once for each run. */
  open?(run: OpeningRun): RunContainer | Promise<RunContainer>;
}

/** The run that a container opens. Its `job` is undefined where none runs: in `handleAll()` and `shouldQueue()`. */
export interface OpeningRun {
  /** What will be injected into methods of the job or its handler. */
  readonly tokens: readonly unknown[];
  /** The class of its handler or listener. Undefined: the job has a `handle()` of its own. */
  readonly handler: Class | undefined;
}

/** What a container has opened for one run. */
export interface RunContainer {
  /** May answer with a promise for what is injected into parameters. `inject()` cannot wait. */
  resolve(token: unknown, scope: Scope): unknown;
  /** Makes the handler or listener. Undefined: it knows none, and Onqueue makes it. */
  construct?(handler: Class): unknown;
  /** Called when the run has ended. */
  dispose?(): unknown;
}

interface Entered {
  /** Undefined if the code that runs is no run of a job, and has nothing injected. */
  readonly scope: Scope | undefined;
  readonly caller: object | undefined;
}

const current = new AsyncLocalStorage<Entered>();

/** What tokens resolve to within a run. */
export type Values = Iterable<readonly [token: unknown, value: unknown]>;

/**
 * Costs nothing until something is resolved.
 * @param container the configuration's; default: tsyringe's root container
 * @param values what the run gives itself
 * @throws E_INVALID_CONTAINER
 */
export function openScope(container?: Container | object, values: Values = []): Scope {
  if (container === undefined) return new TsyringeScope(root, values);
  if (isTsyringeContainer(container)) return new TsyringeScope(container, values);
  if ('resolve' in container && typeof container.resolve === 'function') return new GivenScope(container, values);
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
  const injections = plans.get(target)?.get(method) ?? injectionsOf(target, method, leading.length);
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

interface Registration {
  readonly provider: object;
  readonly options: { readonly lifecycle: Lifecycle };
  /** Its instance, if it is made only once. */
  readonly instance?: unknown;
}

/** The private members of tsyringe's container that we use. */
interface Internals {
  disposed: boolean;
  readonly disposables: Set<object>;
  getRegistration(token: unknown): Registration | null;
  resolveRegistration(registration: Registration, context: unknown): unknown;
}

export const internalsOf = (container: DependencyContainer): Internals => container as unknown as Internals;

export function isTsyringeContainer(container: object): container is DependencyContainer {
  return 'createChildContainer' in container && typeof container.createChildContainer === 'function';
}

/**
 * A run's scope on tsyringe: a child container, created when something is resolved that needs one.
 *
 * It replaces a private method of the child, because the public methods do not suffice: tsyringe creates a singleton in
 * whichever container first needs it, and that container disposes of it. A singleton first needed by a job would be disposed
 * of for everybody at the end of that job, and would keep objects scoped to the job. `test/container` fails if a later
 * tsyringe changes this.
 */
class TsyringeScope implements Scope {
  readonly #parent: DependencyContainer;
  readonly #values: (readonly [token: unknown, value: unknown])[];
  #child: DependencyContainer | undefined;
  #isOver = false;

  constructor(parent: DependencyContainer, values: Values) {
    this.#parent = parent;
    this.#values = [...values];
  }

  resolve(token: unknown): unknown {
    if (this.#child === undefined && !this.#isOver) {
      const found = this.#withoutChild(token);
      if (found !== undefined) return found;
    }
    return this.#container().resolve(token as InjectionToken);
  }

  construct(handler: Class): object {
    return this.#container().resolve(handler as never);
  }

  register(token: unknown, value: unknown): void {
    if (this.#child === undefined) this.#values.push([token, value]);
    else this.#child.register(token as InjectionToken, { useValue: value });
  }

  dispose(): Promise<void> | undefined {
    this.#isOver = true;
    if (this.#child === undefined) return undefined;
    // Not the child's own dispose(): it starts with the oldest object, and an error in one keeps it from the rest.
    const child = internalsOf(this.#child);
    child.disposed = true;
    const made = [...child.disposables].toReversed();
    child.disposables.clear();
    return made.length === 0 ? undefined : disposeOf(made);
  }

  #container(): DependencyContainer {
    if (this.#child !== undefined) return this.#child;
    const child = this.#parent.createChildContainer();
    const internals = internalsOf(child);
    const parent = internalsOf(this.#parent);
    const resolve = internals.resolveRegistration.bind(child);
    const own = copies(({ options }) => options.lifecycle === Lifecycle.ContainerScoped);
    internals.resolveRegistration = (registration, context) =>
      registration.options.lifecycle === Lifecycle.Singleton
        ? parent.resolveRegistration(registration, context)
        : resolve(own(registration), context);
    for (const [token, value] of this.#values) child.register(token as InjectionToken, { useValue: value });
    // Resolving after the run is refused.
    internals.disposed = this.#isOver;
    return (this.#child = child);
  }

  /**
   * Resolves what needs no child. Creating a child costs more than everything else in a small run, and most runs want
   * services of the parent, or classes that have nothing injected themselves.
   */
  #withoutChild(token: unknown): unknown {
    for (const [known, value] of this.#values) if (known === token) return value;
    const registration = internalsOf(this.#parent).getRegistration(token);
    if (registration === null) return isPlain(token) ? this.#made(token) : undefined;
    const { provider, options, instance } = registration;
    if (options.lifecycle === Lifecycle.Singleton) return instance ?? this.#parent.resolve(token as InjectionToken);
    return 'useValue' in provider ? provider.useValue : undefined;
  }

  #made(target: Class): object {
    const made = Reflect.construct(target, []) as { dispose?: unknown };
    if (typeof made.dispose === 'function') internalsOf(this.#container()).disposables.add(made);
    return made;
  }
}

const plain = new WeakMap<object, boolean>();

// A class without its own constructor has its parent's parameters, so `length` alone is not enough.
function isPlain(token: unknown): token is Class {
  if (typeof token !== 'function') return false;
  let found = plain.get(token);
  if (found === undefined) {
    const asks = ['design:paramtypes', 'injectionTokens'].some((key) => Reflect.hasMetadata(key, token));
    plain.set(token, (found = token.length === 0 && !asks));
  }
  return found;
}

/**
 * Replaces wanted registrations by a copy, the same one each time. tsyringe keeps instances in the registration, so a
 * container that resolves copies makes its own instances.
 */
export function copies(
  isWanted: (registration: Registration) => boolean,
): (registration: Registration) => Registration {
  let made: Map<Registration, Registration> | undefined;
  return (registration) => {
    let copy = made?.get(registration);
    if (copy === undefined && isWanted(registration)) {
      copy = { provider: registration.provider, options: registration.options };
      (made ??= new Map()).set(registration, copy);
    }
    return copy ?? registration;
  };
}

/** A run's scope on the user's own container, which is asked for everything that the run did not register. */
export class GivenScope implements Scope {
  readonly #container: RunContainer;
  readonly #values: Map<unknown, unknown>;
  #made: object[] = [];

  constructor(container: RunContainer, values: Values) {
    this.#container = container;
    this.#values = new Map(values);
  }

  resolve(token: unknown): unknown {
    if (this.#values.has(token)) return this.#values.get(token);
    const value = this.#container.resolve(token, this);
    if (value === undefined) throw new TypeError('The container of the configuration gave undefined for it.');
    // Not everything with a then(): a service may have one, such as a query that runs when awaited.
    if (types.isPromise(value)) {
      // Nobody else handles its rejection.
      value.catch(() => undefined);
      throw new TypeError(
        'The container of the configuration gave a promise for it, but must answer at once: make it before the worker starts, or inject what makes it. One that opens runs can be waited for in parameters, as in handle(@Inject(Token) it), and not in inject() or make().',
      );
    }
    return value;
  }

  // Created here, anew for each run: the container need only know what the handlers depend on.
  construct(handler: Class): object {
    const values = constructorInjections(handler).map(({ position, token }) => {
      try {
        return this.resolve(plainToken(handler, token));
      } catch (error) {
        throw resolutionFailed(placeText(placeOf(handler, 'constructor', position)), token, error);
      }
    });
    const made = Reflect.construct(handler, values) as object;
    this.#made.push(made);
    return made;
  }

  register(token: unknown, value: unknown): void {
    this.#values.set(token, value);
  }

  has(token: unknown): boolean {
    return this.#values.has(token);
  }

  // The container disposes of what it made.
  dispose(): Promise<void> | undefined {
    const made = this.#made.toReversed();
    this.#made = [];
    return made.length === 0 ? undefined : disposeOf(made);
  }
}

// tsyringe's decorators wrap the token. Those that ask for more than a token need tsyringe itself.
export function plainToken(handler: Class, token: unknown): unknown {
  if (typeof token !== 'object' || token === null || !('token' in token)) return token;
  if (('multiple' in token && token.multiple === true) || 'transform' in token) {
    throw foreignDecorator(handler.name, 'constructor', 'tsyringe', 'injectAll or a transform');
  }
  return token.token;
}

/** @param made last first, so that nothing is used after it was disposed of; an error in one does not stop the others */
export async function disposeOf(made: readonly object[]): Promise<void> {
  const failures: { name: string; error: unknown }[] = [];
  for (const instance of made) {
    try {
      if ('dispose' in instance && typeof instance.dispose === 'function') await instance.dispose();
    } catch (error) {
      failures.push({ name: instance.constructor.name, error });
    }
  }
  if (failures.length > 0) throw disposeFailed(failures);
}
