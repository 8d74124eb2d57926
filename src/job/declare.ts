/**
 * Declares classes: what `@Job()` does with one, `@Handles(SomeJob)` for the handler of a job without behaviour, and
 * `@Listens(SomeEvent)`.
 *
 * A listener is a job: a hidden class under the listener's name carries the event, and has the listener as its handler. So all
 * that jobs can do, listeners can do too.
 */
import { isName, NAME_RULE } from '../base/text';
import { checkInjection, makeResolvable } from '../container/parameters';
import { declaredIn, parentOf, privateMembers, type Class } from '../base/class';
import { BUILT_IN, checkOwnName, registry, type JobDefinition, type JobRegistry } from './registry';
import { nearestParent } from './instance';
import {
  duplicateSchedule,
  invalidJobClass,
  invalidJobOption,
  placed,
  invalidHandler,
  invalidListener,
  type JobDecoratorName,
} from './errors';
import type { JobOptions, ScheduleOptions } from './options';
import { hasHandleAll } from './together';
import { checkJobOptions, checkShared, checkTogether } from './resolve-options';
import type { OnqueueError } from '../base/onqueue-error';
import type { Middleware, MiddlewareFunction } from './middleware';

type Inherited = JobDefinition['options'];

/**
 * @param decorator the function that the class's file called; the stack is read from there
 * @param by the decorator's name; `built-in`: the class is part of Onqueue, and may use a reserved name
 * @throws any of the errors of a declaration
 */
export function declareJob(
  target: Class,
  options: JobOptions,
  // oxlint-disable-next-line typescript/no-unsafe-function-type
  decorator: Function,
  by: JobDecoratorName | 'built-in' = 'Job',
): void {
  const file = declaredIn(decorator);
  if (typeof target !== 'function' || target.prototype === undefined) {
    throw invalidJobClass(String(target), file, 'is not a class. Write @Job() above a class.');
  }
  const isBuiltIn = by === 'built-in';
  const decoratorName = isBuiltIn ? 'Job' : by;
  checkJobOptions(options, placed(target.name === '' ? 'a class without a name' : target.name, file), decoratorName);
  const { name = target.name, aliases = [], version, upgrade, schedule, format, ...own } = options;
  if (name === '') {
    throw invalidJobClass('A class', file, "has no name of its own. Give the job one: @Job({ name: '…' }).");
  }
  if (options.name === undefined) checkOwnName(name, file);
  if (!isBuiltIn) checkNotBuiltIn([name, ...aliases], target, file);
  checkRestorable(target, file);
  checkInjection(target, 'job', file);
  const jobs = registry();
  const inherited = nearestParent(target, jobs)?.options ?? {};
  const merged = { ...inherited, ...said(own) };
  // What is sensitive in the parent's data is so here.
  if (inherited.sensitive !== undefined && own.sensitive !== undefined)
    merged.sensitive = [...inherited.sensitive, ...own.sensitive];
  checkTogether(merged, placed(name, file));
  checkHandlers(target, merged.together !== undefined, file);
  if (format !== undefined) checkShared({ ...merged, version, upgrade, schedule }, placed(name, file));
  const definition = { name, aliases: [...aliases], version, upgrade, schedule, format, target, options: merged, file };
  if (schedule !== undefined) checkScheduled(definition, schedule, jobs);
  jobs.register(definition, decoratorName);
}

// A job with such a name would run in place of ours.
function checkNotBuiltIn(names: readonly string[], target: Class, file: string | undefined): void {
  const taken = names.find((name) => name.startsWith(BUILT_IN));
  if (taken === undefined) return;
  const problem = `is called '${taken}', but names that begin with '${BUILT_IN}' belong to Onqueue. Give it another name.`;
  throw invalidJobClass(target.name, file, problem);
}

/**
 * Workers send scheduled jobs by themselves, so those take no constructor arguments. @throws E_INVALID_JOB_OPTION,
 * E_DUPLICATE_SCHEDULE
 */
function checkScheduled(definition: JobDefinition, schedule: ScheduleOptions, jobs: JobRegistry): void {
  const { name, target, file, options } = definition;
  const refuse = (remedy: string): Error => invalidJobOption(`schedule on ${placed(name, file)}`, schedule, remedy);
  const asks = constructorOf(target).length;
  if (asks > 0)
    throw refuse(`Its constructor takes data (${asks}): give it by Queue.schedule(() => new ${target.name}(…)).`);
  if ((options.debounce ?? false) !== false)
    throw refuse('It also has debounce, which would put it off. Leave one out.');
  if ('queue' in target.prototype)
    throw refuse('Its method queue() pushes it, and so does the schedule. Leave one out.');
  const scheduled = schedule.name ?? name;
  const other = jobs
    .all()
    .find((one) => one.name !== name && one.schedule && (one.schedule.name ?? one.name) === scheduled);
  if (other !== undefined) throw duplicateSchedule(scheduled, placed(other.name, other.file), placed(name, file));
}

/** @throws E_INVALID_JOB_CLASS */
function checkHandlers(target: Class, isTogether: boolean, file: string | undefined): void {
  if (!isTogether) {
    if (!hasHandleAll(target) || 'handle' in target.prototype) return;
    throw invalidJobClass(
      target.name,
      file,
      "has handleAll(), which needs together: { most: 100, wait: '1s' } in @Job().",
    );
  }
  if ('handle' in target.prototype)
    throw invalidJobClass(target.name, file, 'has handle() and handleAll(): remove one.');
  if (!hasHandleAll(target))
    throw invalidJobClass(target.name, file, 'has together, and no method `static async handleAll(jobs)`.');
}

/** The nearest class with a constructor of its own. */
function constructorOf(target: Class): Class {
  const above = parentOf(target);
  const isInherited = !/\bconstructor\s*\(/.test(Function.prototype.toString.call(target));
  return isInherited && above !== undefined && target.length === 0 ? constructorOf(above) : target;
}

// An option set to undefined says nothing, and must not hide the parent's.
function said(options: Inherited): Inherited {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined));
}

/** Data travel as properties, and nothing else does. @throws E_INVALID_JOB_CLASS */
function checkRestorable(target: Class, file: string | undefined): void {
  for (let holder: Class | undefined = target; holder !== undefined; holder = parentOf(holder)) {
    if (isBuiltIn(holder)) {
      const problem = `extends ${holder.name}, whose contents are no properties and would not travel; keep one in a field.`;
      throw invalidJobClass(target.name, file, problem);
    }
    const members = privateMembers(Function.prototype.toString.call(holder));
    if (members.length === 0) continue;
    const whose = holder === target ? 'has' : `inherits from ${holder.name}`;
    const problem = `${whose} private #fields (${members.join(', ')}), which cannot be restored; use \`private\`.`;
    throw invalidJobClass(target.name, file, problem);
  }
}

/** `Map`, `Array`, `Error`, …: all that the engine provides but `Object`, which holds nothing. */
function isBuiltIn(target: Class): boolean {
  const isGlobal = (globalThis as Record<string, unknown>)[target.name] === target;
  return isGlobal && target !== Object && Function.prototype.toString.call(target).includes('[native code]');
}

/** What a handler of `J` looks like; injected parameters come after the job. */
export interface HandlerOf<J> {
  // A property, not a method, so that TypeScript compares the job's type strictly.
  // oxlint-disable-next-line typescript/no-explicit-any
  readonly handle: (job: J, ...injected: any[]) => unknown;
}

/**
 * @throws E_INVALID_HANDLER, and the errors of injection
 */
export function Handles<J extends object>(
  job: Class<J>,
  // oxlint-disable-next-line typescript/no-explicit-any
): (target: Class<HandlerOf<J>>, context?: ClassDecoratorContext<any>) => void {
  return function decorate(target) {
    const file = declaredIn(decorate);
    const refuse = (problem: string): OnqueueError => invalidHandler(target.name, job?.name, file, problem);
    if (job === undefined) {
      throw refuse('the job class is undefined. Two files import each other: move the job into a file of its own.');
    }
    const definition = registry().definitionOf(job);
    if (definition === undefined) throw refuse(`${job.name} has no @Job(). Add it above class ${job.name}.`);
    if (definition.options.together !== undefined)
      throw refuse(`${job.name} has together, so its own handleAll() handles its jobs. Remove one of the two.`);
    if ('handle' in job.prototype) throw refuse(`${job.name} has a handle() of its own. Remove one of the two.`);
    if (!hasHandle(target)) throw refuse('it has no method handle(). (An arrow function in a field does not count.)');
    checkInjection(target, 'handler', file);
    makeResolvable(target);
    registry().setHandler(job, target, file);
  };
}

/** Whether the class has a method `handle`. A field does not exist before there is an instance. */
export function hasHandle(handler: Class): boolean {
  return handler.prototype !== undefined && typeof Reflect.get(handler.prototype, 'handle') === 'function';
}

/** What a listener of `E` looks like; injected parameters come after those given here. */
export interface ListenerOf<E> {
  // Properties, not methods, so that TypeScript compares the event's type strictly.
  readonly handle: (event: E, ...injected: never[]) => unknown;
  /** Called once when the listener has failed for good. */
  readonly failed?: (event: E, error: Error, ...injected: never[]) => unknown;
  /** Asked when the event is dispatched, by the process that dispatches it: whether this listener is to run. */
  readonly shouldQueue?: (event: E, ...injected: never[]) => boolean | Promise<boolean>;
  /** Wraps the run. */
  readonly middleware?: (event: E, ...injected: never[]) => readonly (Middleware | MiddlewareFunction)[];
}

/** The options of a job. Functions in them get the event: `unique: { by: (event: OrderShipped) => event.order }`. */
export type ListenerOptions = Omit<JobOptions, 'schedule' | 'together'>;

/** The job that carries an event to one listener. */
export class HeardEvent {
  readonly event: object;

  constructor(event: object) {
    this.event = event;
  }
}

/** What a job is about, for people and for handlers: the job itself, or the event that it carries to a listener. */
export function subjectOf(job: object): object {
  return job instanceof HeardEvent ? job.event : job;
}

/** Methods by which a single job chooses its options. A listener's get the event first. */
const ASKED = ['tries', 'timeout', 'retryUntil', 'backoff'] as const;

/**
 * @param event its listeners also hear events of classes that extend it
 * @throws E_INVALID_LISTENER, and the errors of `@Job()` and of injection
 */
export function Listens<E extends object>(
  event: Class<E>,
  options: ListenerOptions = {},
  // oxlint-disable-next-line typescript/no-explicit-any
): (target: Class<ListenerOf<E>>, context?: ClassDecoratorContext<any>) => void {
  return function decorate(target) {
    const file = declaredIn(decorate);
    const refuse = (problem: string): OnqueueError => invalidListener(target.name, file, problem);
    if (event === undefined) {
      throw refuse(
        'the class of the event is undefined. Two files import each other: move the event into a file of its own.',
      );
    }
    if (!hasHandle(target))
      throw refuse('it has no method handle(event). (An arrow function in a field does not count.)');
    const jobs = registry();
    if (jobs.definitionOf(target) !== undefined) throw refuse('it has @Job() too. Remove one of the two.');
    if (jobs.jobOf(target) !== undefined) {
      throw refuse('it has @Listens() twice. Let both events extend one class, and listen to that.');
    }
    if (Object.hasOwn(Object(options) as object, 'schedule')) {
      throw refuse(
        'it has a schedule, but runs when its event is dispatched. Dispatch the event from a scheduled job.',
      );
    }
    const name = checkedEvent(event, refuse);
    checkInjection(target, 'listener', file);
    makeResolvable(target);
    const job = carrierFor(target);
    declareJob(job, forJobs(options), decorate, 'Listens');
    jobs.setListener(job, target, event, name, file);
  };
}

/**
 * The name of a class of events in payloads. Checks that its events can travel.
 *
 * @param given default: the class's own name
 * @throws what `refuse` makes, E_INVALID_JOB_CLASS
 */
export function checkedEvent(event: Class, refuse: (problem: string) => OnqueueError, given?: string): string {
  if (typeof event !== 'function' || event.prototype === undefined) throw refuse('the event is not a class.');
  const known = registry().nameOf(event);
  const name = given ?? known ?? event.name;
  if (known !== undefined && name !== known) throw refuse(`the event is known as '${known}' already.`);
  if (!isName(name)) throw refuse(`the class of the event needs a name: ${NAME_RULE}.`);
  for (let above: Class | undefined = event; above !== undefined; above = parentOf(above)) {
    if (!/\{\s*\[native code\]\s*\}$/.test(Function.prototype.toString.call(above))) continue;
    throw refuse(
      `the event ${event === above ? 'is' : 'extends'} ${above.name}, whose contents would be lost on the way.`,
    );
  }
  if (given === undefined && known === undefined) checkOwnName(name, undefined);
  checkRestorable(event, undefined);
  return name;
}

function carrierFor(listener: Class): Class<HeardEvent> {
  const parent = nearestParent(listener, registry())?.target;
  const base = parent?.prototype instanceof HeardEvent ? (parent as typeof HeardEvent) : HeardEvent;
  class Carrier extends base {}
  Object.defineProperty(Carrier, 'name', { value: listener.name });
  for (const option of ASKED) {
    const ask: unknown = Reflect.get(listener.prototype, option);
    if (typeof ask !== 'function') continue;
    const value = function asked(this: HeardEvent, ...given: readonly unknown[]): unknown {
      // Without its dependencies: it is asked where the event is dispatched.
      return Reflect.apply(ask, Object.create(listener.prototype), [this.event, ...given]);
    };
    Object.defineProperty(Carrier.prototype, option, { value, configurable: true });
  }
  return Carrier;
}

function forJobs<Options extends ListenerOptions>(options: Options): Options {
  const { unique, debounce, lane, sensitive } = Object(options) as Options;
  if ((unique ?? debounce ?? lane ?? sensitive) === undefined) return options;
  return {
    ...options,
    ...(unique && { unique: byEvent(unique) }),
    ...(debounce && { debounce: byEvent(debounce) }),
    ...(lane && { lane: byEvent(lane) }),
    ...(Array.isArray(sensitive) && { sensitive: sensitive.map((path) => `event.${String(path)}`) }),
  };
}

function byEvent<Option>(option: Option): Option {
  const by: unknown = Reflect.get(Object(option) as object, 'by');
  return typeof by === 'function' ? { ...option, by: (job: HeardEvent): unknown => by(job.event) } : option;
}
