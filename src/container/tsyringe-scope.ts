/**
 * A run's scope on tsyringe: a child container, made when something is first resolved that needs one.
 *
 * tsyringe makes a singleton in whichever container first needs it, and that one disposes it: a singleton first needed
 * by a job would be disposed at the end of the job, for all. So singletons are handed to the parent here, and what was
 * registered as container-scoped above the parent is copied down. `test/container` fails should a later tsyringe
 * change the inner methods that this takes hold of.
 */
import 'reflect-metadata';
import { type DependencyContainer, inject, injectable, type InjectionToken, Lifecycle } from 'tsyringe';
import type { Class } from '../job/definition';
import type { Scope } from './container';
import { disposeOf } from './disposal';

interface Registration {
  readonly provider: unknown;
  readonly options: { readonly lifecycle: Lifecycle };
  /** What was made of it, if it is made only once. */
  readonly instance?: unknown;
}

interface Internals {
  readonly disposables: Set<{ dispose(): unknown }>;
  disposed: boolean;
  readonly _registry: { set(token: unknown, registration: Registration): void };
  isRegistered(token: unknown): boolean;
  getRegistration(token: unknown): Registration | null;
  resolveRegistration(registration: Registration, context: unknown): unknown;
}

export function isTsyringeContainer(container: object): container is DependencyContainer {
  return 'createChildContainer' in container && typeof container.createChildContainer === 'function';
}

/** Tells tsyringe what our `@Inject()` says of a constructor's parameter. */
export function markForTsyringe(target: object, index: number, token: unknown): void {
  inject(token as InjectionToken)(target, undefined, index);
}

/** Makes a handler one that tsyringe can construct, without `@injectable()` above it. */
export function makeResolvable(handler: Class): void {
  // tsyringe inherits a constructor's types, but not the tokens of its parameters.
  const tokens: unknown = Reflect.getMetadata('injectionTokens', handler);
  if (tokens !== undefined) Reflect.defineMetadata('injectionTokens', tokens, handler);
  injectable()(handler as never);
}

/**
 * A child of `parent` that gives the stubs for their tokens. Singletons that are first needed through it are made with
 * the stubs, so they end with it; those that exist already are used as they are.
 */
export function stubbedChild(
  parent: DependencyContainer,
  stubs: readonly (readonly [token: unknown, stub: unknown])[],
): DependencyContainer {
  const child = parent.createChildContainer();
  for (const [token, stub] of stubs) child.register(token as InjectionToken, { useValue: stub });
  copyDown(
    child as unknown as Internals,
    ({ options, instance }) => options.lifecycle === Lifecycle.Singleton && instance === undefined,
  );
  return child;
}

export class TsyringeScope implements Scope {
  readonly #parent: DependencyContainer;
  #values: [token: unknown, value: unknown][] = [];
  #child: DependencyContainer | undefined;
  #isOver = false;

  constructor(parent: DependencyContainer) {
    this.#parent = parent;
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
    const child = this.#child as unknown as Internals | undefined;
    if (child === undefined) return undefined;
    // What is resolved after the run is refused. Its own dispose() does this and no more where there is nothing to dispose,
    // by a generator and three promises for each job.
    child.disposed = true;
    const made = [...child.disposables].toReversed();
    child.disposables.clear();
    return made.length === 0 ? undefined : disposeOf(made);
  }

  #container(): DependencyContainer {
    if (this.#child !== undefined) return this.#child;
    const child = this.#parent.createChildContainer();
    keepToItself(child as unknown as Internals, this.#parent as unknown as Internals);
    for (const [token, value] of this.#values) child.register(token as InjectionToken, { useValue: value });
    this.#values = [];
    this.#child = child;
    (child as unknown as Internals).disposed = this.#isOver;
    return child;
  }

  // What a child would give as well. To make one costs more than all else in a small run; most want services of the
  // parent, or what has nothing of its own to be resolved.
  #withoutChild(token: unknown): unknown {
    for (const [known, value] of this.#values) if (known === token) return value;
    const registration = (this.#parent as unknown as Internals).getRegistration(token);
    if (registration === null) return isPlain(token) ? this.#made(token) : undefined;
    const { provider, options, instance } = registration;
    if (options.lifecycle === Lifecycle.Singleton) return instance;
    return isValueProvider(provider) ? provider.useValue : undefined;
  }

  #made(target: Class): object {
    const made = Reflect.construct(target, []) as { dispose?: unknown };
    if (typeof made.dispose === 'function') {
      (this.#container() as unknown as Internals).disposables.add(made as { dispose(): unknown });
    }
    return made;
  }
}

function isValueProvider(provider: unknown): provider is { readonly useValue: unknown } {
  return typeof provider === 'object' && provider !== null && 'useValue' in provider;
}

const plain = new WeakMap<object, boolean>();

// Not by its own parameters alone: those of a class without a constructor are its parent's.
function isPlain(token: unknown): token is Class {
  if (typeof token !== 'function') return false;
  let found = plain.get(token);
  if (found === undefined) {
    const asks = ['design:paramtypes', 'injectionTokens'].some((key) => Reflect.hasMetadata(key, token));
    plain.set(token, (found = token.length === 0 && !asks));
  }
  return found;
}

function keepToItself(child: Internals, parent: Internals): void {
  const resolveHere = child.resolveRegistration.bind(child);
  child.resolveRegistration = (registration, context) =>
    registration.options.lifecycle === Lifecycle.Singleton
      ? parent.resolveRegistration(registration, context)
      : resolveHere(registration, context);
  copyDown(child, ({ options }) => options.lifecycle === Lifecycle.ContainerScoped);
}

/** Makes those registrations of the containers above that are `wanted` the child's own, so that it makes its own instance. */
function copyDown(child: Internals, wanted: (registration: Registration) => boolean): void {
  const look = child.getRegistration.bind(child);
  child.getRegistration = (token) => {
    const registration = look(token);
    if (registration === null || !wanted(registration) || child.isRegistered(token)) return registration;
    const own = { provider: registration.provider, options: registration.options };
    // oxlint-disable-next-line no-underscore-dangle -- tsyringe's name
    child._registry.set(token, own);
    return own;
  };
}
