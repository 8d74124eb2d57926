/** What can only be seen on an instance, when it is dispatched: fields that mean something else than data. */
import { extendsJob, hiddenMember, hidesMember } from './base';
import type { JobDefinition } from './definition';
import { methodInField, reservedProperty } from './errors';
import { JOB_OPTIONS, type JobOptions } from './options';

const METHODS: ReadonlySet<string> = new Set([
  'handle',
  'failed',
  'middleware',
  ...Object.entries(JOB_OPTIONS).flatMap(([option, { hasMethod }]) => (hasMethod === true ? [option] : [])),
]);

/** @throws E_RESERVED_PROPERTY, E_METHOD_IN_FIELD */
export function checkInstance(job: object, definition: JobDefinition): void {
  const { file, target } = definition;
  const { name } = target;
  const inherits = extendsJob(target);
  for (const property of Object.keys(job)) {
    if (METHODS.has(property) && typeof Reflect.get(job, property) === 'function') {
      throw methodInField(name, property, file);
    }
    const ways = waysToSay(property);
    if (ways !== undefined) {
      const meanings = `If it is the job's option, write ${ways} instead; if it is data, give it another name.`;
      throw reservedProperty(name, property, meanings, file);
    }
    if (inherits && hidesMember(property)) throw hiddenMember(name, property, file);
  }
}

/** How an option is said, of which an own property of this name reads like an attempt; undefined: the property is data. */
function waysToSay(property: string): string | undefined {
  if (property === 'middleware') return 'a method middleware()';
  const option = Object.hasOwn(JOB_OPTIONS, property) ? JOB_OPTIONS[property as keyof JobOptions] : undefined;
  if (option === undefined || option.isData === true) return undefined;
  const forAll = `@Job({ ${property}: … })`;
  return option.instance === undefined ? forAll : `${forAll} or ${option.instance}`;
}
