/** Finds the definition of an instance, and refuses instances that were never declared as jobs or cannot be sent as such. */
import { type Class, classOf, parentOf } from '../base/class';
import { extendsJob, hiddenMember, MEMBERS } from './base';
import type { JobDefinition } from './definition';
import { methodInField, notAJob, reservedProperty, undecoratedJob } from './errors';
import { JOB_OPTIONS, type JobOptions } from './options';
import { type JobRegistry, registry } from './registry';

/** @throws E_UNDECORATED_JOB, E_NOT_A_JOB */
export function definitionOfJob(job: object, jobs: JobRegistry = registry()): JobDefinition {
  const target = classOf(job);
  if (target === undefined || target === Object) throw notAJob(job);
  const definition = jobs.definitionOf(target);
  if (definition !== undefined) return definition;
  if (jobs.jobOf(target) !== undefined) throw notAJob(job, 'no listener');
  const parent = nearestParent(target, jobs);
  throw undecoratedJob(target.name, extendsJob(target), parent && { name: parent.target.name, file: parent.file });
}

/** The definition of the jobs of a class, or of those that run a listener. @throws E_UNDECORATED_JOB */
export function definitionOfClass(target: Class, jobs: JobRegistry = registry()): JobDefinition {
  return jobs.jobOf(target) ?? definitionOfJob(Object.create(target.prototype) as object, jobs);
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
 * Checks what only an instance can show, at dispatch: fields that mean something other than data.
 *
 * @throws E_RESERVED_PROPERTY, E_METHOD_IN_FIELD
 */
export function checkInstance(job: object, definition: JobDefinition): void {
  for (const property of Object.keys(job)) if (SUSPECT.has(property)) checkProperty(job, property, definition);
}

function checkProperty(job: object, property: string, { file, target }: JobDefinition): void {
  const { name } = target;
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
