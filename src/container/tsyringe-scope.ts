/**
 * A run's scope on tsyringe: a child container, created when something is resolved that needs one.
 *
 * It replaces a private method of the child, because the public methods do not suffice: tsyringe creates a singleton in
 * whichever container first needs it, and that container disposes of it. A singleton first needed by a job would be disposed
 * of for everybody at the end of that job, and would keep objects scoped to the job. `test/container` fails if a later
 * tsyringe changes this.
 */
import 'reflect-metadata';
import { type DependencyContainer, inject, injectable, type InjectionToken, Lifecycle } from 'tsyringe';
import type { Class } from '../base/class';
import type { Scope } from './container';
import { disposeOf } from './disposal';

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

const internalsOf = (container: DependencyContainer): Internals => container as unknown as Internals;

export function isTsyringeContainer(container: object): container is DependencyContainer {
  return 'createChildContainer' in container && typeof container.createChildContainer === 'function';
}

/** Passes our `@Inject()` on a constructor's parameter on to tsyringe. */
export function markForTsyringe(target: object, index: number, token: unknown): void {
  inject(token as InjectionToken)(target, undefined, index);
}

/** Lets tsyringe construct a handler without `@injectable()`. */
export function makeResolvable(handler: Class): void {
  // tsyringe inherits a constructor's types, but not the tokens of its parameters.
  const tokens: unknown = Reflect.getMetadata('injectionTokens', handler);
  if (tokens !== undefined) Reflect.defineMetadata('injectionTokens', tokens, handler);
  injectable()(handler as never);
}

/**
 * A child of `parent` that resolves the tokens to the stubs. Singletons first needed through it are made with the stubs, so
 * they end with it; existing singletons are used as they are.
 */
export function stubbedChild(
  parent: DependencyContainer,
  stubs: readonly (readonly [token: unknown, stub: unknown])[],
): DependencyContainer {
  const child = parent.createChildContainer();
  for (const [token, stub] of stubs) child.register(token as InjectionToken, { useValue: stub });
  const own = copies(({ options, instance }) => options.lifecycle === Lifecycle.Singleton && instance === undefined);
  const internals = internalsOf(child);
  const find = internals.getRegistration.bind(child);
  internals.getRegistration = (token) => {
    const registration = find(token);
    return registration && own(registration);
  };
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
function copies(isWanted: (registration: Registration) => boolean): (registration: Registration) => Registration {
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
