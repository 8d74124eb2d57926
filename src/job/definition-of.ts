/** Finds the definition behind an instance, and refuses what was never declared as a job. */
import { extendsJob } from './base';
import type { Class, JobDefinition } from './definition';
import { notAJob, undecoratedJob } from './errors';
import { type JobRegistry, registry } from './registry';

/** @throws E_UNDECORATED_JOB, E_NOT_A_JOB */
export function definitionOfJob(job: object, jobs: JobRegistry = registry()): JobDefinition {
  const target = classOf(job);
  if (target === undefined || target === Object) throw notAJob(job);
  const definition = jobs.definitionOf(target);
  if (definition !== undefined) return definition;
  const parent = nearestParent(target, jobs);
  throw undecoratedJob(target.name, extendsJob(target), parent && { name: parent.target.name, file: parent.file });
}

/** The nearest decorated class above `target`. */
export function nearestParent(target: Class, jobs: JobRegistry): JobDefinition | undefined {
  for (let above = parentOf(target); above !== undefined; above = parentOf(above)) {
    const definition = jobs.definitionOf(above);
    if (definition !== undefined) return definition;
  }
  return undefined;
}

export function parentOf(target: Class): Class | undefined {
  const above: unknown = Object.getPrototypeOf(target);
  return typeof above === 'function' && above !== Function.prototype ? above : undefined;
}

/** The class of an instance; undefined for a class, for a value that is no object, and for an object without one. */
export function classOf(job: unknown): Class | undefined {
  if (typeof job !== 'object' || job === null) return undefined;
  // From the prototype: an own property `constructor` is data.
  const prototype: unknown = Object.getPrototypeOf(job);
  return typeof prototype === 'object' && prototype !== null ? prototype.constructor : undefined;
}
