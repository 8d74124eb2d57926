/** What Onqueue needs of a dependency injection container: one method. */
import type { Class } from '../base/class';

declare const produces: unique symbol;

/** A name for something without a class. `Symbol('smtp') as NamedToken<Smtp>` tells the compiler what it resolves to. */
export type NamedToken<T = unknown> = (string | symbol) & { readonly [produces]?: T };

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
}
