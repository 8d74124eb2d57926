/** An instance of a job: what it inherits from `Job`, and whether it can be sent. */
import { choose, chosenOf, contextOf } from './choices';
import { checkDelay, type Delay } from './duration';
import type { JobContext } from './job-context';
import type { Middleware } from './middleware';
import type { OnqueueError } from '../base/onqueue-error';
import { inject } from '../container/scope';
import { registry, type JobDefinition, type JobRegistry } from './registry';
import { classOf, parentOf, type Class } from '../base/class';
import { hasHandleAll } from './together';
import { isUnderJest } from '../base/environment';
import {
  invalidJobOption,
  noHandler,
  notRunning,
  reservedProperty,
  methodInField,
  notAJob,
  undecoratedJob,
} from './errors';
import { checkQueueName } from './option-kinds';
import { JOB_OPTIONS, type JobOptions } from './options';

/**
 * What a job that extends `Job` inherits: `this.job` with its shortcuts, and the builder calls of a single instance.
 *
 * None of this is stored as a property of the instance: own properties are data, and travel.
 */
export class RunnableJob {
  get job(): JobContext {
    return running(this, 'job');
  }

  set job(_value: unknown) {
    refuse(this, 'job');
  }

  get id(): string {
    return running(this, 'id').id;
  }

  // An own `id` is data, and the most common field of all.
  set id(value: unknown) {
    Object.defineProperty(this, 'id', { value, writable: true, enumerable: true, configurable: true });
  }

  release(delay?: Delay): void {
    running(this, 'release()').release(delay);
  }

  fail(error?: Error | string): void {
    running(this, 'fail()').fail(error);
  }

  delete(): void {
    running(this, 'delete()').delete();
  }

  appendToChain(...jobs: readonly object[]): void {
    running(this, 'appendToChain()').appendToChain(...jobs);
  }

  prependToChain(...jobs: readonly object[]): void {
    running(this, 'prependToChain()').prependToChain(...jobs);
  }

  async step<T>(name: string, run: () => T | PromiseLike<T>): Promise<T> {
    return running(this, 'step()').step(name, run);
  }

  stepKey(name: string): string {
    return running(this, 'stepKey()').stepKey(name);
  }

  async checkpoint(name: string, value: unknown): Promise<void> {
    return running(this, 'checkpoint()').checkpoint(name, value);
  }

  checkpointed(name: string): unknown {
    return running(this, 'checkpointed()').checkpointed(name);
  }

  make(token: unknown): unknown {
    running(this, 'make()');
    return inject(token as Class);
  }

  onConnection(connection: string): this {
    if (typeof connection !== 'string' || connection === '') {
      throw invalidJobOption(`onConnection() of ${nameOf(this)}`, connection, 'Name a connection.');
    }
    choose(this, { connection });
    return this;
  }

  onQueue(queue: string): this {
    checkQueueName(queue, `onQueue() of ${nameOf(this)}`);
    choose(this, { queue });
    return this;
  }

  delay(delay: Delay): this {
    checkDelay(delay, `delay() of ${nameOf(this)}`);
    choose(this, { delay });
    return this;
  }

  withoutDelay(): this {
    choose(this, { delay: 0 });
    return this;
  }

  through(...middleware: readonly Middleware[]): this {
    choose(this, { middleware: [...(chosenOf(this).middleware ?? []), ...middleware] });
    return this;
  }
}

for (const member of ['attempts', 'signal', 'fence'] as const)
  Object.defineProperty(RunnableJob.prototype, member, {
    get(this: RunnableJob) {
      return running(this, member)[member];
    },
    set(this: RunnableJob) {
      refuse(this, member);
    },
    configurable: true,
  });

/** The members that an own property of the same name would hide. `id` may be hidden: it is data. */
export const MEMBERS: ReadonlySet<string> = new Set(
  Object.getOwnPropertyNames(RunnableJob.prototype).filter((name) => name !== 'id'),
);

/** Members that only jobs with `checkpoints` have. To the others a field of that name is data, as it was before there were any. */
const STEPS: ReadonlySet<string> = new Set(['step', 'stepKey', 'checkpoint', 'checkpointed']);

export function extendsJob(target: Class): boolean {
  return target.prototype instanceof RunnableJob;
}

export function hiddenMember(job: string, member: string, file: string | undefined): OnqueueError {
  const meanings = `On a job, this.${member} belongs to the running job; give your data another name.`;
  return reservedProperty(job, member, meanings, file);
}

function nameOf(job: object): string {
  return job.constructor.name;
}

function running(job: object, member: string): JobContext {
  const context = contextOf(job);
  if (context === undefined) throw notRunning(nameOf(job), member);
  return context;
}

function refuse(job: object, member: string): never {
  throw hiddenMember(nameOf(job), member, registry().definitionOf(job.constructor)?.file);
}

/** @throws E_UNDECORATED_JOB, E_NOT_A_JOB */
export function definitionOfJob(job: object, jobs: JobRegistry = registry()): JobDefinition {
  const definition = jobs.definitionFor(job);
  if (definition !== undefined) return definition;
  const target = classOf(job);
  if (target === undefined || target === Object || 'then' in target.prototype) throw notAJob(job);
  if (jobs.jobOf(target) !== undefined) throw notAJob(job, 'no listener');
  const parent = nearestParent(target, jobs);
  throw undecoratedJob(target.name, extendsJob(target), parent && { name: parent.target.name, file: parent.file });
}

/** The definition of the jobs of a class, or of those that run a listener. @throws E_UNDECORATED_JOB */
export function definitionOfClass(target: Class): JobDefinition {
  return registry().jobOf(target) ?? definitionOfJob(Object.create(target.prototype) as object);
}

/** The nearest decorated class above `target`. */
export function nearestParent(target: Class, jobs: JobRegistry): JobDefinition | undefined {
  for (let above = parentOf(target); above !== undefined; above = parentOf(above)) {
    const definition = jobs.definitionOf(above) ?? jobs.jobOf(above);
    if (definition !== undefined) return definition;
  }
  return undefined;
}

const METHODS: ReadonlySet<string> = new Set([
  'handle',
  'failed',
  'middleware',
  ...Object.entries(JOB_OPTIONS).flatMap(([option, { hasMethod }]) => (hasMethod === true ? [option] : [])),
]);

/** Own properties that may be mistakes, because their names mean something else to Onqueue. */
const SUSPECT: ReadonlySet<string> = new Set([...METHODS, ...Object.keys(JOB_OPTIONS), ...MEMBERS]);

/**
 * The definition of a job that is about to be sent. Checks what only an instance can show: fields that mean something other than data.
 *
 * @throws E_UNDECORATED_JOB, E_NOT_A_JOB, E_RESERVED_PROPERTY, E_METHOD_IN_FIELD
 */
export function definitionToSend(job: object, jobs: JobRegistry = registry()): JobDefinition {
  const definition = jobs.definitionFor(job) ?? definitionOfJob(job, jobs);
  for (const property of Object.keys(job)) if (SUSPECT.has(property)) checkProperty(job, property, definition);
  return definition;
}

/**
 * Warns of a class whose jobs nothing here could run: its `handle` may be mistyped, or its handler not imported. No error, because
 * a program that only dispatches may share the class with a worker that has the handler.
 */
export function warnOfNoHandler({ target, format }: JobDefinition, jobs: JobRegistry): void {
  const isRun = 'handle' in target.prototype || hasHandleAll(target) || jobs.handlerOf(target) !== undefined;
  // Laravel runs those with a format of its own.
  if (isRun || format !== undefined || isUnderJest()) return;
  const { message } = noHandler(target.name);
  process.emitWarning(
    `${message} It is sent, for a worker that has a handler; if that is meant, start this process with --disable-warning=ONQUEUE_NO_HANDLER.`,
    { type: 'OnqueueWarning', code: 'ONQUEUE_NO_HANDLER' },
  );
}

function checkProperty(job: object, property: string, { file, target, options }: JobDefinition): void {
  const { name } = target;
  if (STEPS.has(property) && (options.checkpoints ?? false) === false) return;
  if (METHODS.has(property) && typeof Reflect.get(job, property) === 'function') {
    throw methodInField(name, property, file);
  }
  const ways = waysToSay(property);
  if (ways !== undefined) {
    const meanings = `If it is the job's option, write ${ways} instead; if it is data, give it another name.`;
    throw reservedProperty(name, property, meanings, file);
  }
  if (MEMBERS.has(property) && extendsJob(target)) throw hiddenMember(name, property, file);
}

/** How to set the option that an own property of this name probably meant. Undefined if the property is data. */
function waysToSay(property: string): string | undefined {
  if (property === 'middleware') return 'a method middleware()';
  const option = Object.hasOwn(JOB_OPTIONS, property) ? JOB_OPTIONS[property as keyof JobOptions] : undefined;
  if (option === undefined || option.isData === true) return undefined;
  const forAll = `@Job({ ${property}: … })`;
  return option.instance === undefined ? forAll : `${forAll} or ${option.instance}`;
}
