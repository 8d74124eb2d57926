/**
 * Calls `handle()` and `failed()`: each in its own scope, with its injected arguments, and `handle()` within its middleware.
 */
import { attachContext } from '../job/choices';
import type { Class } from '../base/class';
import { tokensOf } from '../container/parameters';
import { openRunScope, prepared } from '../container/opened-scope';
import { methodArguments, openScope, resolveHandler, runInScope, type Scope } from '../container/scope';
import type { JobDefinition } from '../job/registry';
import { noHandler } from '../job/errors';
import { HeardEvent, subjectOf } from '../job/declare';
import { JobContext } from '../job/job-context';
import { toError } from '../base/exception-text';
import type { Observer } from '../connections/application';
import { loadEntities, type EntityHolder } from '../payload/entities';
import { MissingEntityError } from '../payload/errors';
import { JobCancelledError, invalidMiddleware, middlewareNext } from './errors';
import type { RunningJob } from './running-job';
import { isPlainFunction, type Middleware, type MiddlewareFunction } from '../job/middleware';

/**
 * Runs `handle()` of a decoded job. Calls `cameBack` with the error that it threw or that kept it from being called, once the
 * injected services are disposed. True if it has called it already, because nothing in it is async.
 *
 * @param caller who waits for the handler; undefined: whoever waits for the code that runs now
 * @param opened the scope of the run, where it had to be waited for
 */
export function callHandle(
  job: RunningJob,
  caller: object | undefined,
  cameBack: (thrown?: Error) => void,
  opened?: Scope,
): boolean {
  const scope = opened ?? openRun(job, job.instance!, RUN);
  if (scope instanceof Promise) {
    void calledIn(scope, job, caller, cameBack);
    return false;
  }
  const call = (): unknown =>
    job.held === undefined ? callWithin(job, scope) : load(job, scope).then(() => callWithin(job, scope));
  const end = (thrown?: Error): boolean => {
    const disposal = scope.dispose();
    if (disposal === undefined) cameBack(thrown);
    else void disposed(job, disposal).then(() => cameBack(thrown));
    return disposal === undefined;
  };
  let thrown: Error | undefined;
  try {
    const isObserved = job.application.observers.size > 0;
    const result = runInScope(scope, isObserved ? () => callObserved(job, call) : call, caller);
    // A proxy may throw as soon as we ask.
    if (isThenable(result)) {
      const returned = (value: unknown): boolean => {
        job.value = value;
        return end();
      };
      void Promise.resolve(result).then(returned, (error: unknown) => end(toError(error)));
      return false;
    }
    job.value = result;
  } catch (error) {
    thrown = toError(error);
  }
  return end(thrown);
}

/** What one call of these has injected. */
const RUN = ['handle', 'middleware'];
const END = ['failed'];

async function calledIn(
  opening: Promise<Scope>,
  job: RunningJob,
  caller: object | undefined,
  cameBack: (thrown?: Error) => void,
): Promise<void> {
  let scope: Scope;
  try {
    scope = await opening;
  } catch (error) {
    return cameBack(toError(error));
  }
  if (job.abortReason === undefined) return void callHandle(job, caller, cameBack, scope);
  // It timed out or was cancelled meanwhile.
  await disposed(job, Promise.resolve(scope.dispose()));
  cameBack(job.abortReason);
}

/** Tells a job that it has failed for good, on an instance that no run has touched. @throws what `failed()` throws */
export async function callFailed(
  job: RunningJob,
  { target }: JobDefinition,
  decode: (holder: EntityHolder) => object | undefined,
  error: Error,
): Promise<void> {
  const handlerClass = job.application.registry.handlerOf(target);
  const owner = handlerClass ?? target;
  if (!has(owner.prototype, 'failed')) return;
  const holder: EntityHolder = {};
  const instance = decode(holder);
  if (instance === undefined) return;
  const scope = await openRun(job, instance, END);
  try {
    if (holder.held !== undefined) await loadEntities(job.application.entities, instance, holder.held, scope);
    await runInScope(scope, () =>
      handlerClass === undefined
        ? call(instance, owner, 'failed', scope, [error])
        : call(resolveHandler(handlerClass, scope), owner, 'failed', scope, [subjectOf(instance), error]),
    );
  } finally {
    const disposal = scope.dispose();
    if (disposal !== undefined) await disposed(job, disposal);
  }
}

function callWithin(job: RunningJob, scope: Scope): unknown {
  const { definition, through } = job;
  const instance = job.instance!;
  const { name, target } = definition!;
  const handlerClass = job.application.registry.handlerOf(target);
  const { gatherers } = job;
  if (handlerClass === undefined && gatherers === undefined && !has(instance, 'handle')) throw noHandler(name);
  let resolved: object | undefined;
  const handler = (): object => (resolved ??= resolveHandler(handlerClass!, scope));
  const handle = (): unknown => {
    job.isHandled = true;
    if (gatherers !== undefined) return gatherers.handle(job);
    if (handlerClass === undefined) return call(instance, target, 'handle', scope, []);
    return call(handler(), handlerClass, 'handle', scope, [subjectOf(instance)]);
  };
  // A listener's job is hidden, so the listener itself says what wraps its runs.
  const event = handlerClass !== undefined && instance instanceof HeardEvent ? instance.event : undefined;
  const hasOwn = has(event === undefined ? instance : handlerClass!.prototype, 'middleware');
  if (!hasOwn && through!.length === 0) return handle();
  const said = (): unknown =>
    event === undefined
      ? call(instance, target, 'middleware', scope, [])
      : call(handler(), handlerClass!, 'middleware', scope, [event]);
  const own = hasOwn ? layersOf(name, said()) : [];
  const enter = (layer: Layer, next: () => Promise<unknown>): unknown =>
    typeof layer === 'function' ? layer(job, next) : enterLayer(layer, scope, [job, next]);
  return runThrough({ job, layers: [...own, ...through!], call: enter, handle });
}

/** Loads the entities of the job and of the middleware given at its dispatch. */
async function load(job: RunningJob, scope: Scope): Promise<void> {
  const { held, instance, through, definition } = job;
  try {
    await loadEntities(job.application.entities, { instance, through }, held!, scope, job);
  } catch (error) {
    const isMissing = error instanceof MissingEntityError && definition!.options.deleteWhenMissing === true;
    if (isMissing) job.abortReason ??= new JobCancelledError(job.name, job.id, error.message);
    throw error;
  }
  // It timed out or was cancelled meanwhile.
  if (job.abortReason !== undefined) throw job.abortReason;
}

/** @param methods what will be called. A promise only if the container opens runs */
function openRun(job: RunningJob, instance: object, methods: readonly string[]): Scope | Promise<Scope> {
  attachContext(instance, job);
  const { container, registry } = job.application;
  if (container?.open !== undefined) {
    const { target } = job.definition!;
    const handler = registry.handlerOf(target);
    const kind = instance instanceof HeardEvent ? 'listener' : 'handler';
    const tokens = [...tokensOf(target, 'job', methods), ...(handler ? tokensOf(handler, kind, methods) : [])];
    return openRunScope(container, { job, tokens, handler }, new Map([[JobContext, job]]));
  }
  return openScope(container, [[JobContext, job]]);
}

function enterLayer(layer: Middleware, scope: Scope, given: readonly unknown[]): unknown {
  const waiting = prepared(scope, layer.constructor as Class, 'handle', given.length);
  const enter = (): unknown => call(layer, layer.constructor as Class, 'handle', scope, given);
  return waiting === undefined ? enter() : waiting.then(enter);
}

// A service that cannot be disposed is a separate defect: it must not undo the work of handle().
async function disposed(job: RunningJob, disposal: Promise<void>): Promise<void> {
  try {
    await disposal;
  } catch (error) {
    job.application.report(error, { job, during: 'disposing what was injected' });
  }
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return ((typeof value === 'object' && value !== null) || typeof value === 'function') && 'then' in value;
}

function has(target: object, name: string): boolean {
  return name in target && typeof (target as Record<string, unknown>)[name] === 'function';
}

function call(target: object, owner: Class, method: string, scope: Scope, leading: readonly unknown[]): unknown {
  const run = (target as Record<string, (...args: unknown[]) => unknown>)[method] as (...args: unknown[]) => unknown;
  return run.call(target, ...methodArguments(owner, method, scope, leading));
}

/** Returns what `call` returns and throws what it throws, whatever the observers do. */
function callObserved(job: RunningJob, call: () => unknown): unknown {
  let observed = call;
  for (const observer of job.application.observers) {
    if (observer.around === undefined) continue;
    const inner = observed;
    observed = () => callThrough(job, observer, inner);
  }
  return observed();
}

/** What a call returned or threw. An async call returned its promise. */
type Result = { readonly value: unknown } | { readonly thrown: unknown };

function callThrough(job: RunningJob, observer: Observer, inner: () => unknown): unknown {
  let result: Result | undefined;
  // The call is made exactly once, even if the observer makes it never or several times.
  const resultOf = (): Result => (result ??= resultOfCall(inner));
  const reportUnlessOwn = (error: unknown, own: unknown): void => {
    if (error !== own) job.application.report(error, { job, during: 'an observer' });
  };
  try {
    const made = observer.around?.(job, () => valueOf(resultOf()));
    const given = resultOf();
    // We do not wait for an async observer. The handler's error may pass through it.
    if (made instanceof Promise && !('value' in given && given.value === made))
      void made.catch(async (error: unknown) => reportUnlessOwn(error, await thrownBy(given)));
  } catch (error) {
    const given = resultOf();
    reportUnlessOwn(error, 'thrown' in given ? given.thrown : undefined);
  }
  return valueOf(resultOf());
}

function resultOfCall(call: () => unknown): Result {
  try {
    return { value: call() };
  } catch (thrown) {
    return { thrown };
  }
}

function valueOf(result: Result): unknown {
  if ('thrown' in result) throw result.thrown;
  return result.value;
}

async function thrownBy(result: Result): Promise<unknown> {
  try {
    await valueOf(result);
    return undefined;
  } catch (thrown) {
    return thrown;
  }
}

/**
 * The middleware around one run. We wait for what a layer started by `next()`, even if the layer itself does not: until
 * `handle()` has returned nobody else may have the job, and an error that it throws must not be lost.
 */

export type Layer = Middleware | MiddlewareFunction;

export interface LayersSettings {
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
  if (typeof value === 'function') return isPlainFunction(value);
  return typeof value === 'object' && value !== null && 'handle' in value && typeof value.handle === 'function';
}

export async function runThrough(settings: LayersSettings, index = 0): Promise<unknown> {
  const { job, layers, call, handle } = settings;
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
    if (isOver) job.application.report(error, { job, during: 'next() of middleware that had come back' });
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
    if (unseen !== undefined && unseen !== error)
      job.application.report(unseen, { job, during: 'middleware that threw' });
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
