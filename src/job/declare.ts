/** What `@Job()` does with a class: check all that a declaration can show, then make it known. */
import { checkInjection } from '../container/parameters';
import { declaredIn } from '../base/declared-in';
import type { Class, JobDefinition } from './definition';
import { nearestParent, parentOf } from './definition-of';
import { invalidJobClass, placed } from './errors';
import { isMinified } from './job-name';
import type { JobOptions } from './options';
import { BUILT_IN, registry } from './registry';
import { checkJobOptions, checkTogether } from './resolve-options';
import { privateMembers } from '../base/source-text';

type Inherited = JobDefinition['options'];

/**
 * @param decorator the function that the class's file calls: the stack is read from there
 * @param isBuiltIn it is part of Onqueue, and may be called so
 * @throws any of the errors of a declaration
 */
// oxlint-disable-next-line typescript/no-unsafe-function-type
export function declareJob(target: Class, options: JobOptions, decorator: Function, isBuiltIn = false): void {
  const file = declaredIn(decorator);
  if (typeof target !== 'function' || target.prototype === undefined) {
    throw invalidJobClass(String(target), file, 'is no class. Write @Job() above a class.');
  }
  checkJobOptions(options, placed(target.name === '' ? 'a class without a name' : target.name, file));
  const { name = target.name, aliases = [], version, upgrade, ...own } = options;
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
  jobs.register({ name, aliases: [...aliases], version, upgrade, target, options: merged, file });
}

/**
 * In production, where code is minified: waiting jobs would run as another class after the next build.
 *
 * @throws E_INVALID_JOB_CLASS
 */
export function checkOwnName(name: string, file: string | undefined): void {
  if (process.env['NODE_ENV'] !== 'production' || !isMinified(name)) return;
  const problem =
    'has a name that a minifier seems to have made: the next build may give it to another class, and jobs that wait would ' +
    "run as that. Name it: name: 'SendMail' in its decorator, or have the bundler keep the names of classes.";
  throw invalidJobClass(name, file, problem);
}

// A job of that name would be run in the place of ours.
function checkNotBuiltIn(names: readonly string[], target: Class, file: string | undefined): void {
  const taken = names.find((name) => name.startsWith(BUILT_IN));
  if (taken === undefined) return;
  const problem = `is called '${taken}', and what begins with '${BUILT_IN}' is Onqueue's own. Give it another name.`;
  throw invalidJobClass(target.name, file, problem);
}

// An option that is there as undefined says nothing, and must not hide the parent's.
function said(options: Inherited): Inherited {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined));
}

function checkPrivateMembers(target: Class, file: string | undefined): void {
  for (let holder: Class | undefined = target; holder !== undefined; holder = parentOf(holder)) {
    const members = privateMembers(Function.prototype.toString.call(holder));
    if (members.length === 0) continue;
    const whose = holder === target ? 'has' : `inherits from ${holder.name}`;
    const problem = `${whose} private #fields (${members.join(', ')}), which cannot be restored; use \`private\`.`;
    throw invalidJobClass(target.name, file, problem);
  }
}
