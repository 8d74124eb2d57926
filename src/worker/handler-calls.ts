/**
 * Calls `handle()` and `failed()`: each in its own scope, with its injected arguments, and `handle()` within its middleware.
 */
import type { Scope } from '../container/container';
import { methodArguments, openScope, resolveHandler, runInScope } from '../container/scope';
import type { Class, JobDefinition } from '../job/definition';
import { noHandler } from '../job/errors';
import { HeardEvent, subjectOf } from '../job/listens';
import { JobContext } from '../job/job-context';
import { attachContext } from '../job/beside-instance';
import { toError } from '../base/exception-text';
import type { Application } from '../connections/application';
import type { EntityHolder } from '../payload/entities';
import { type Layer, layersOf, runThrough } from './middleware';
import { loadEntities } from './entities';
import { JobCancelledError, MissingEntityError } from './errors';
import { callObserved } from './observed-run';
import type { RunningJob } from './running-job';

/**
 * Runs `handle()` of a decoded job. Calls `done` once, with the error that it threw or that kept it from being called, after
 * the injected services are disposed. If nothing in it is async, that happens before this returns.
 *
 * @param caller who waits for the handler; undefined: whoever waits for the code that runs now
 */
export function callHandle(
  application: Application,
  job: RunningJob,
  caller: object | undefined,
  done: (thrown: Error | undefined) => void,
): void {
  const scope = openRun(application, job, job.instance!);
  const end = (thrown: Error | undefined): void => {
    const disposal = scope.dispose();
    if (disposal === undefined) done(thrown);
    else void disposed(application, job, disposal).then(() => done(thrown));
  };
  const returned = (value: unknown): void => {
    job.value = value;
    end(undefined);
  };
  let result: unknown;
  let isAwaited: boolean;
  try {
    const call = (): unknown =>
      job.held === undefined
        ? callWithin(application, job, scope)
        : load(application, job, scope).then(() => callWithin(application, job, scope));
    const isObserved = application.observers.size > 0;
    result = runInScope(scope, isObserved ? () => callObserved(application, job, call) : call, caller);
    // A proxy may throw as soon as we ask.
    isAwaited = isThenable(result);
  } catch (error) {
    return end(toError(error));
  }
  if (isAwaited) Promise.resolve(result).then(returned, (error: unknown) => end(toError(error)));
  else returned(result);
}

/** Tells a job that it has failed for good, on an instance that no run has touched. @throws what `failed()` throws */
export async function callFailed(
  application: Application,
  job: RunningJob,
  { target }: JobDefinition,
  decode: (holder: EntityHolder) => object | undefined,
  error: Error,
): Promise<void> {
  const handlerClass = application.registry.handlerOf(target);
  const owner = handlerClass ?? target;
  if (!has(owner.prototype, 'failed')) return;
  const holder: EntityHolder = {};
  const instance = decode(holder);
  if (instance === undefined) return;
  const scope = openRun(application, job, instance);
  try {
    if (holder.held !== undefined) await loadEntities(application, instance, holder.held, scope);
    await runInScope(scope, () =>
      handlerClass === undefined
        ? call(instance, owner, 'failed', scope, [error])
        : call(resolveHandler(handlerClass, scope), owner, 'failed', scope, [subjectOf(instance), error]),
    );
  } finally {
    const disposal = scope.dispose();
    if (disposal !== undefined) await disposed(application, job, disposal);
  }
}

function callWithin(application: Application, job: RunningJob, scope: Scope): unknown {
  const { definition, through } = job;
  const instance = job.instance!;
  const { name, target } = definition!;
  const handlerClass = application.registry.handlerOf(target);
  if (handlerClass === undefined && !has(instance, 'handle')) throw noHandler(name);
  let resolved: object | undefined;
  const handler = (): object => (resolved ??= resolveHandler(handlerClass!, scope));
  const handle = (): unknown => {
    job.isHandled = true;
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
    typeof layer === 'function' ? layer(job, next) : call(layer, layer.constructor, 'handle', scope, [job, next]);
  return runThrough({ application, job, layers: [...own, ...through!], call: enter, handle });
}

/** Loads the entities of the job and of the middleware given at its dispatch. */
async function load(application: Application, job: RunningJob, scope: Scope): Promise<void> {
  const { held, instance, through, definition } = job;
  try {
    await loadEntities(application, { instance, through }, held!, scope, job);
  } catch (error) {
    const isMissing = error instanceof MissingEntityError && definition!.options.deleteWhenMissing === true;
    if (isMissing) job.abortReason ??= new JobCancelledError(job.name, job.id, error.message);
    throw error;
  }
  // It timed out or was cancelled meanwhile.
  if (job.abortReason !== undefined) throw job.abortReason;
}

function openRun({ container }: Application, job: RunningJob, instance: object): Scope {
  attachContext(instance, job);
  const scope = openScope(container);
  scope.register(JobContext, job);
  return scope;
}

// A service that cannot be disposed is a separate defect: it must not undo the work of handle().
async function disposed(application: Application, job: RunningJob, disposal: Promise<void>): Promise<void> {
  try {
    await disposal;
  } catch (error) {
    application.report(error, { job, during: 'disposing what was injected' });
  }
}

function isThenable(value: unknown): boolean {
  return ((typeof value === 'object' && value !== null) || typeof value === 'function') && 'then' in value;
}

function has(target: object, name: string): boolean {
  return name in target && typeof (target as Record<string, unknown>)[name] === 'function';
}

function call(target: object, owner: Class, method: string, scope: Scope, leading: readonly unknown[]): unknown {
  const run = (target as Record<string, (...args: unknown[]) => unknown>)[method] as (...args: unknown[]) => unknown;
  return run.call(target, ...methodArguments(owner, method, scope, leading));
}
