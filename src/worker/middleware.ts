/**
 * The middleware around one run. What a layer went on to is waited for, also where the layer does not wait for it itself:
 * until `handle()` has come back nobody else may have the job, and what it throws is not to be lost.
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

/** What a job's `middleware()` gave, checked: no compiler looks at it. */
export function layersOf(job: string, given: unknown): readonly Layer[] {
  if (!Array.isArray(given)) throw invalidMiddleware(job, given);
  const strange = given.findIndex((layer) => !isLayer(layer));
  if (strange !== -1) throw invalidMiddleware(job, given[strange], strange);
  return given as readonly Layer[];
}

function isLayer(value: unknown): boolean {
  // A class is a function as well; what tells it from others is a prototype that is there for good.
  if (typeof value === 'function') return Object.getOwnPropertyDescriptor(value, 'prototype')?.writable !== false;
  return typeof value === 'object' && value !== null && 'handle' in value && typeof value.handle === 'function';
}

export async function runThrough(settings: LayersSettings, index = 0): Promise<unknown> {
  const { application, job, layers, call, handle } = settings;
  const layer = layers[index];
  if (layer === undefined) return handle();
  const passage = new Passage(settings, layer, () => runThrough(settings, index + 1));
  let value: unknown;
  try {
    value = await call(layer, passage.next);
  } catch (error) {
    const unseen = await passage.close();
    if (unseen !== undefined && unseen !== error) application.report(unseen, { job, during: 'middleware that threw' });
    throw error;
  }
  const unseen = await passage.close();
  if (unseen !== undefined) throw unseen;
  return value;
}

/** One layer's way on: it leads there once, and not any more when the layer has come back. */
class Passage {
  readonly #settings: LayersSettings;
  readonly #layer: Layer;
  readonly #enter: () => Promise<unknown>;
  #taken: Watched | undefined;
  /** It has, with what it threw, if it did. */
  #cameBack: { readonly thrown: Error | undefined } | undefined;
  #ended: Promise<void> | undefined;
  #isClosed = false;
  #misuse: Error | undefined;

  constructor(settings: LayersSettings, layer: Layer, enter: () => Promise<unknown>) {
    this.#settings = settings;
    this.#layer = layer;
    this.#enter = enter;
  }

  readonly next = (): Promise<unknown> => {
    if (this.#taken !== undefined || this.#isClosed) return Watched.of(Promise.reject(this.#refuse()));
    const going = this.#enter();
    const comeBack = (thrown?: Error): void => void (this.#cameBack = { thrown });
    this.#ended = going.then(
      () => comeBack(),
      (error: unknown) => comeBack(toError(error)),
    );
    return (this.#taken = Watched.of(going));
  };

  /** The layer has come back. Gives, once all within it has, what went wrong and the layer can not have looked at. */
  async close(): Promise<Error | undefined> {
    this.#isClosed = true;
    const isSeen = this.#cameBack !== undefined && this.#taken?.isHeard === true;
    if (this.#cameBack === undefined) await this.#ended;
    return this.#misuse ?? (isSeen ? undefined : this.#cameBack?.thrown);
  }

  #refuse(): Error {
    const { application, job } = this.#settings;
    const { name } = typeof this.#layer === 'function' ? this.#layer : this.#layer.constructor;
    const error = middlewareNext(job.name, job.id, name, this.#isClosed);
    // The outcome stands by now: there is nobody else to tell.
    if (this.#isClosed) application.report(error, { job, during: 'next() of middleware that had come back' });
    else this.#misuse ??= error;
    return error;
  }
}

/** What `next()` gives: it knows whether somebody waits for it. Where nobody does, its rejection ends no process. */
class Watched extends Promise<unknown> {
  isHeard = false;

  static override get [Symbol.species](): PromiseConstructor {
    return Promise;
  }

  static of(going: Promise<unknown>): Watched {
    const watched = new Watched((resolve, reject) => void going.then(resolve, reject));
    void Promise.prototype.then.call(watched, undefined, () => undefined);
    return watched;
  }

  override then<Value = unknown, Other = never>(
    fulfilled?: ((value: unknown) => Value | PromiseLike<Value>) | null,
    rejected?: ((reason: unknown) => Other | PromiseLike<Other>) | null,
  ): Promise<Value | Other> {
    this.isHeard = true;
    return super.then(fulfilled, rejected);
  }
}
