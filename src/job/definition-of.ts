/** Finds the definition behind an instance, and refuses what was never declared as a job. */
import { extendsJob } from './base';
import type { Class, JobDefinition } from './definition';
import { UndecoratedJobError } from './errors';
import { type JobRegistry, registry } from './registry';

/** @throws UndecoratedJobError */
export function definitionOfJob(job: object, jobs: JobRegistry = registry()): JobDefinition {
  const target = classOf(job);
  const definition = target && jobs.definitionOf(target);
  if (target !== undefined && definition !== undefined) return definition;
  const parent = target && nearestParent(target, jobs)?.target.name;
  throw new UndecoratedJobError(target?.name ?? 'Object', target !== undefined && extendsJob(target), parent);
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

// From the prototype: an own property `constructor` is data.
function classOf(job: object): Class | undefined {
  const prototype: unknown = Object.getPrototypeOf(job);
  if (typeof prototype !== 'object' || prototype === null) return undefined;
  return prototype.constructor;
}
