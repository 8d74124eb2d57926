/**
 * The middleware around one run. We wait for what a layer started by `next()`, even if the layer itself does not: until
 * `handle()` has returned nobody else may have the job, and an error that it throws must not be lost.
 */
import { toError } from '../base/exception-text';
import type { Middleware, MiddlewareFunction } from '../job/middleware';
import type { Application } from '../connections/application';
import { invalidMiddleware, middlewareNext } from './errors';
import type { RunningJob } from './running-job';

export type Layer = Middleware | MiddlewareFunction;

export interface LayersSettings {
  readonly application: Application;
  readonly job: RunningJob;
  /** The first is the outermost. */
  readonly layers: readonly Layer[];
  readonly call: (layer: Layer, next: () => Promise<unknown>) => unknown;
  readonly handle: () => unknown;
}

/** Checks what a job's `middleware()` returned, because no compiler does. */
export function layersOf(job: string, given: unknown): readonly Layer[] {
  if (!Array.isArray(given)) throw invalidMiddleware(job, given);
  const strange = given.findIndex((layer) => !isLayer(layer));
  if (strange !== -1) throw invalidMiddleware(job, given[strange], strange);
  return given as readonly Layer[];
}

function isLayer(value: unknown): boolean {
  // A class is a function too, but its prototype is not writable.
  if (typeof value === 'function') return Object.getOwnPropertyDescriptor(value, 'prototype')?.writable !== false;
  return typeof value === 'object' && value !== null && 'handle' in value && typeof value.handle === 'function';
}

export async function runThrough(settings: LayersSettings, index = 0): Promise<unknown> {
  const { application, job, layers, call, handle } = settings;
  const layer = layers[index];
  if (layer === undefined) return handle();
  let inner: Inner | undefined;
  let isOver = false;
  let misuse: Error | undefined;
  // Runs the rest once, and no longer once the layer has returned.
  const next = (): Promise<unknown> => {
    if (inner === undefined && !isOver) return (inner = Inner.of(runThrough(settings, index + 1)));
    const { name } = typeof layer === 'function' ? layer : layer.constructor;
    const error = middlewareNext(job.name, job.id, name, isOver);
    // Once the layer has returned, there is nobody else to tell.
    if (isOver) application.report(error, { job, during: 'next() of middleware that had come back' });
    else misuse ??= error;
    return Inner.of(Promise.reject(error));
  };
  // Waits for everything within the layer; gives an error from there that the layer cannot have seen.
  const close = async (): Promise<Error | undefined> => {
    isOver = true;
    const unseen = await inner?.unseen();
    return misuse ?? unseen;
  };
  let value: unknown;
  try {
    value = await call(layer, next);
  } catch (error) {
    const unseen = await close();
    if (unseen !== undefined && unseen !== error) application.report(unseen, { job, during: 'middleware that threw' });
    throw error;
  }
  const unseen = await close();
  if (unseen !== undefined) throw unseen;
  return value;
}

/**
 * The promise that `next()` returns. It knows whether somebody waits for it; if nobody does, its rejection does not end the
 * process.
 */
class Inner extends Promise<unknown> {
  #isHeard = false;
  #end: { readonly thrown: Error | undefined } | undefined;

  static override get [Symbol.species](): PromiseConstructor {
    return Promise;
  }

  static of(going: Promise<unknown>): Inner {
    const inner = new Inner((resolve, reject) => void going.then(resolve, reject));
    void Promise.prototype.then.call(
      inner,
      () => (inner.#end = { thrown: undefined }),
      (error: unknown) => (inner.#end = { thrown: toError(error) }),
    );
    return inner;
  }

  /** What it was rejected with, unless somebody waited for it and it had settled before this call. */
  async unseen(): Promise<Error | undefined> {
    const isSeen = this.#isHeard && this.#end !== undefined;
    if (this.#end === undefined) await Promise.prototype.then.call(this, undefined, () => undefined);
    return isSeen ? undefined : this.#end?.thrown;
  }

  override then<Value = unknown, Other = never>(
    fulfilled?: ((value: unknown) => Value | PromiseLike<Value>) | null,
    rejected?: ((reason: unknown) => Other | PromiseLike<Other>) | null,
  ): Promise<Value | Other> {
    this.#isHeard = true;
    return super.then(fulfilled, rejected);
  }
}
