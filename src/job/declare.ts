/** What `@Job()` does with a class: check everything that a declaration shows, then register the class. */
import { checkInjection } from '../container/parameters';
import { declaredIn } from '../base/declared-in';
import { isMinified, parentOf } from '../base/class';
import type { Class, JobDefinition } from './definition';
import { nearestParent } from './definition-of';
import { duplicateSchedule, invalidJobClass, invalidJobOption, type JobDecoratorName, placed } from './errors';
import type { JobOptions } from './options';
import { BUILT_IN, type JobRegistry, registry } from './registry';
import { checkJobOptions, checkShared, checkTogether } from './resolve-options';
import type { ScheduleOptions } from './schedule';
import { privateMembers } from '../base/source-text';

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
  checkPrivateMembers(target, file);
  checkInjection(target, 'job', file);
  const jobs = registry();
  const inherited = nearestParent(target, jobs)?.options ?? {};
  const merged = { ...inherited, ...said(own) };
  checkTogether(merged, placed(name, file));
  if (format !== undefined) checkShared({ ...merged, version, upgrade, schedule }, placed(name, file));
  const definition = { name, aliases: [...aliases], version, upgrade, schedule, format, target, options: merged, file };
  if (schedule !== undefined) checkScheduled(definition, schedule, jobs);
  jobs.register(definition, decoratorName);
}

/**
 * Only in production, where code is minified: after the next build, waiting jobs would run as another class.
 *
 * @throws E_INVALID_JOB_CLASS
 */
export function checkOwnName(name: string, file: string | undefined): void {
  if (process.env['NODE_ENV'] !== 'production' || !isMinified(name)) return;
  const problem =
    'has a name that a minifier seems to have made: the next build may give it to another class, and waiting jobs would ' +
    "run as that class. Name it: name: 'SendMail' in its decorator, or have the bundler keep the names of classes.";
  throw invalidJobClass(name, file, problem);
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

/** @throws E_INVALID_JOB_CLASS */
export function checkPrivateMembers(target: Class, file: string | undefined): void {
  for (let holder: Class | undefined = target; holder !== undefined; holder = parentOf(holder)) {
    const members = privateMembers(Function.prototype.toString.call(holder));
    if (members.length === 0) continue;
    const whose = holder === target ? 'has' : `inherits from ${holder.name}`;
    const problem = `${whose} private #fields (${members.join(', ')}), which cannot be restored; use \`private\`.`;
    throw invalidJobClass(target.name, file, problem);
  }
}
