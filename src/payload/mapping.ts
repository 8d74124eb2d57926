/**
 * Between an instance and the plain data that stand for it: directly, or by way of class-transformer where the class
 * bears decorators of it.
 *
 * The instance is never made by its constructor. One that class-transformer builds for a property with `@Type` is.
 */
import type { Class } from '../job/definition';
import { classTransformer } from './class-transformer';
import { createMapper, type Mapper, type RefuseValue } from './mapper';
import { checkMade } from './nesting';

const known = new WeakMap<Class, boolean>();
let mapper: Mapper | undefined;

/** Whether the class or a parent of it bears `@Type`, `@Expose`, `@Exclude` or `@Transform`. @throws ClassTransformerError */
export function mapsByClassTransformer(target: Class): boolean {
  let maps = known.get(target);
  if (maps === undefined) known.set(target, (maps = bearsDecorators(target)));
  return maps;
}

/** What class-transformer makes of the instance; what no decorator concerns is in it as it was. */
export function toPlain(instance: object, target: Class, refuse: RefuseValue): object {
  return loadedMapper().toPlain(instance, target, refuse);
}

/**
 * The instance that the data stand for.
 *
 * @param place JSON Pointer to the data, for errors
 */
export function toInstance(target: Class, data: Readonly<Record<string, unknown>>, place: string): object {
  // Defines, never assigns: no setter of the class runs on data.
  if (!mapsByClassTransformer(target)) return { __proto__: target.prototype, ...data };
  const instance = loadedMapper().toInstance(data, target);
  // A decorator names properties, and makes values of others.
  checkMade(instance, place);
  return instance;
}

function loadedMapper(): Mapper {
  // Only asked for a class that bears decorators, so the library is there.
  return (mapper ??= createMapper(classTransformer()!));
}

function bearsDecorators(target: Class): boolean {
  const storage = classTransformer()?.storage;
  if (storage === undefined) return false;
  const decorated = [
    storage._typeMetadatas,
    storage._transformMetadatas,
    storage._exposeMetadatas,
    storage._excludeMetadatas,
  ];
  for (let owner: unknown = target; typeof owner === 'function'; owner = Object.getPrototypeOf(owner)) {
    if (decorated.some((classes) => classes.has(owner))) return true;
  }
  return false;
}
