/** Runs a job or a mapped command in place: with injection, but without payload, middleware or hooks. */
import type { Scope } from '../container/container';
import { methodArguments, openScope, resolveHandler, runInScope } from '../container/scope';
import { extendsJob } from '../job/base';
import type { Class } from '../job/definition';
import { noHandler } from '../job/errors';
import { JobContext } from '../job/job-context';
import { checkedProgress } from '../job/progress';
import { attachContext, contextOf } from '../job/beside-instance';
import { uuidv7 } from '../payload/uuid';
import type { Application } from '../connections/application';
import { runFor } from '../connections/application';
import { alreadyRunning, failedInPlace, notQueued } from './errors';

/** Resolves to the result of `handle`. @throws what it throws, or the error given to `fail()` */
export function runInPlace(application: Application, job: object, handler: Class | undefined): Promise<unknown> {
  return runFor(application, () => run(application, job, handler));
}

async function run(application: Application, job: object, handler: Class | undefined): Promise<unknown> {
  const target = job.constructor;
  if (extendsJob(target) && isRunning(job)) throw alreadyRunning(target.name);
  const context = new InPlaceContext(target.name);
  const scope = openScope(application.container);
  try {
    scope.register(JobContext, context);
    attachContext(job, context);
    const value = await runInScope(scope, async () =>
      handler === undefined
        ? call(job, target, scope, [])
        : call(resolveHandler(handler, scope), handler, scope, [job]),
    );
    if (context.failure !== undefined) throw context.failure;
    return value;
  } finally {
    context.isOver = true;
    await scope.dispose();
  }
}

// An instance whose run did not begin here was created by a worker, for that run only. A command that does not extend Job is not
// checked: it has no `this.job`, and a constant may be handled many times at once.
function isRunning(job: object): boolean {
  const context = contextOf(job);
  return context instanceof InPlaceContext ? !context.isOver : context !== undefined;
}

/** A run that cannot be given back or repeated, because it has no reservation. */
class InPlaceContext extends JobContext {
  readonly occurrence = undefined;
  readonly id = uuidv7();
  readonly queue = '';
  readonly connectionName = '';
  readonly attempts = 1;
  readonly fence = 1;
  readonly maxTries = 1;
  readonly signal = new AbortController().signal;
  readonly stopping = new AbortController().signal;
  readonly isReleased = false;
  readonly isDeleted = false;
  readonly payload = {};
  readonly chain = [];
  readonly cause = undefined;
  readonly batch = undefined;
  readonly name: string;
  failure: Error | undefined;
  isOver = false;

  constructor(name: string) {
    super();
    this.name = name;
  }

  get hasFailed(): boolean {
    return this.failure !== undefined;
  }

  release(): never {
    throw notQueued(this.name);
  }

  defer(): never {
    throw notQueued(this.name);
  }

  fail(error?: Error | string): void {
    this.failure ??= error instanceof Error ? error : failedInPlace(this.name, error);
  }

  // Checked, but not stored: nobody knows the id of this run.
  progress(value: number, text?: string): void {
    checkedProgress(this.name, value, text);
  }

  appendToChain(): never {
    throw notQueued(this.name);
  }

  prependToChain(): never {
    throw notQueued(this.name);
  }

  delete(): void {
    // There is nothing to delete: the run ends with handle().
  }
}

function call(target: object, owner: Class, scope: Scope, leading: readonly unknown[]): unknown {
  if (!hasHandle(target)) throw noHandler(owner.name);
  return target.handle(...methodArguments(owner, 'handle', scope, leading));
}

function hasHandle(target: object): target is { handle(...parameters: readonly unknown[]): unknown } {
  return 'handle' in target && typeof target.handle === 'function';
}
