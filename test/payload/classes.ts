/** The classes registered for a payload test. */
import type { Class } from '../../src/base/class';
import type { JobDefinition } from '../../src/job/registry';
import type { CodecClasses } from '../../src/payload/encoder';

/** @param known the classes by name; may grow later */
export const classesOf = (known: ReadonlyMap<string, Class> = new Map()): CodecClasses => ({
  nameOf: (target) => [...known].find(([, registered]) => registered === target)?.[0],
  classOf: (name) => known.get(name),
  definitionOf: () => undefined,
});

export const definitionOf = (target: Class, more: Partial<JobDefinition> = {}): JobDefinition => ({
  name: target.name,
  aliases: [],
  version: undefined,
  upgrade: undefined,
  target,
  options: {},
  file: undefined,
  ...more,
});
