/** What Onqueue asks of a dependency injection container: one method. */
import type { Class } from '../base/class';

declare const produces: unique symbol;

/** A name for what has no class. `Symbol('smtp') as NamedToken<Smtp>` tells the compiler what it resolves to. */
export type NamedToken<T = unknown> = (string | symbol) & { readonly [produces]?: T };

/** What a container resolves to a `T`: its class, a name, or an object that the container understands. */
export type Token<T = unknown> = Class<T & object> | NamedToken<T> | object;

/** One run's scope. */
export interface Scope {
  /** Resolves a token within this run. */
  resolve(token: unknown): unknown;
  /** Makes a handler, its constructor's parameters resolved within this run. */
  construct(handler: Class): object;
  /** Makes `value` what `token` resolves to within this run. */
  register(token: unknown, value: unknown): void;
  /** Ends the run: disposes what is scoped to it, never singletons or instances of a parent. Undefined: there was nothing. */
  dispose(): Promise<void> | undefined;
}

/** The `container` of the configuration. */
export interface Container {
  /** `scope` is the run's; undefined outside of one. */
  resolve(token: unknown, scope?: Scope): unknown;
}
