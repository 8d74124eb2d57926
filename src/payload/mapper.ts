/**
 * class-transformer, kept from what it would spoil: it is shown only what a decorator concerns.
 *
 * Left to itself it calls functions that it finds in properties, turns typed arrays and maps into plain objects and the
 * keys of a map into strings, loses the class of what has no `@Type`, and overflows the stack on a cycle.
 */
import { types } from 'node:util';
import type { Class } from '../job/definition';
import type { ClassTransformer, Executor } from './class-transformer';
import { isError } from './error-form';
import { InvalidPayloadError } from './errors';
import { described, remedyFor, strayChoice, symbolKeyOf } from './kinds';
import { MAX_DEPTH, type Segment } from './pointer';

/** Throws the error for a value that cannot be carried, which stands at `way` in the instance. */
export type RefuseValue = (kind: string, remedy: string, way: readonly Segment[]) => never;

export interface Mapper {
  toPlain(instance: object, target: Class, refuse: RefuseValue): object;
  toInstance(data: Readonly<Record<string, unknown>>, target: Class): object;
}

/** A `@Type` that asks for a conversion of whatever stands there. */
const CONVERSIONS: ReadonlySet<unknown> = new Set([String, Number, Boolean]);

/** A `@Type` that names the container instead of what is in it. */
const CONTAINERS: ReadonlySet<unknown> = new Set([undefined, Array, Map, Object, Set]);

type TransformArguments = Parameters<Executor['transform']>;

export function createMapper({ Executor, storage, TransformationType }: ClassTransformer): Mapper {
  const propertyOf = (target: unknown, name: string): string =>
    storage.findExposeMetadataByCustomName(target, name)?.propertyName ?? name;

  class CarefulExecutor extends Executor {
    readonly #refuse: RefuseValue | undefined;
    readonly #ancestors: object[] = [];
    /** Of a property with a discriminator, which class-transformer takes apart by their own class. */
    readonly #discriminated = new WeakSet<object>();

    constructor(refuse?: RefuseValue) {
      super(refuse === undefined ? TransformationType.PLAIN_TO_CLASS : TransformationType.CLASS_TO_PLAIN, {
        exposeUnsetFields: true,
      });
      this.#refuse = refuse;
    }

    override transform(...given: TransformArguments): unknown {
      const [, value, targetType, , , level = 0] = given;
      if (!isObject(value)) return super.transform(...given);
      if (level > 0 && isHeldOut(value, targetType) && !this.#discriminated.has(value)) return value;
      const isCycle = this.#ancestors.includes(value);
      this.#ancestors.push(value);
      if (isCycle) this.#refuseHere('a way back to an object that holds it', 'Carry an id instead.');
      const excess = excessOf(value);
      if (excess !== undefined) {
        this.#refuseHere(excess, 'Carry them in a Map.');
        throw new InvalidPayloadError(`${excess} is not read`);
      }
      if (level > MAX_DEPTH) this.#refuseHere(`more than ${MAX_DEPTH} levels down`, 'Make the data flatter.');
      const stray = level > 0 ? strayChoice(value) : undefined;
      if (stray !== undefined) this.#refuseHere(...stray);
      const transformed = this.#transformItems(value, targetType, level) ?? super.transform(...given);
      this.#ancestors.pop();
      return transformed;
    }

    override getKeys(target: unknown, object: object, isMap: boolean | undefined): string[] {
      const keys = super.getKeys(target, object, isMap);
      if (this.#refuse === undefined)
        return keys.filter((key) => !isReadOnly(target as Class, propertyOf(target, key)));
      const symbol = symbolKeyOf(object);
      if (symbol !== undefined) this.#refuseHere(`an object with the property ${symbol}`, 'Name it by a string.');
      for (const key of keys) {
        if (!Object.hasOwn(object, key)) continue;
        if (key === '__proto__') this.#refuseHere('a property of that name', 'Rename it.', key);
        const value = (object as Record<string, unknown>)[key];
        if (typeof value === 'function') this.#refuseHere(described(value), remedyFor(value), key);
        const hasDiscriminator = storage.findTypeMetadata(target, key)?.options?.discriminator !== undefined;
        if (hasDiscriminator) for (const item of [value].flat()) if (isObject(item)) this.#discriminated.add(item);
      }
      return keys;
    }

    #transformItems(value: object, targetType: unknown, level: number): object | undefined {
      const items = types.isMap(value) ? value.values() : types.isSet(value) ? value : undefined;
      if (items === undefined) return undefined;
      const transformed = super.transform(undefined, [...items], targetType, undefined, false, level) as unknown[];
      if (!types.isMap(value)) return new Set(transformed);
      return new Map([...value.keys()].map((key, index) => [key, transformed[index]]));
    }

    #refuseHere(kind: string, remedy: string, ...further: readonly Segment[]): void {
      this.#refuse?.(kind, remedy, [...wayThrough(this.#ancestors), ...further]);
    }
  }

  return {
    toPlain: (instance, target, refuse) =>
      new CarefulExecutor(refuse).transform(undefined, instance, target, undefined, false) as object,

    toInstance(data, target) {
      const instance = Object.create(target.prototype) as Record<string, unknown>;
      const covered = Object.keys(data)
        .flatMap((key) => [key, propertyOf(target, key)])
        .filter((name) => coverThrowing(instance, name));
      new CarefulExecutor().transform(instance, data, target, undefined, false);
      for (const name of covered) {
        if (instance[name] === undefined) delete instance[name];
      }
      return instance;
    },
  };
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}

/** Of one object: class-transformer compares each key with all before it. */
const MOST_KEYS = 10_000;

function excessOf(value: object): string | undefined {
  if (Array.isArray(value) || Object.keys(value).length <= MOST_KEYS) return undefined;
  return `an object with more than ${MOST_KEYS} properties that class-transformer goes through`;
}

function isHeldOut(value: object, targetType: unknown): boolean {
  if (CONVERSIONS.has(targetType)) return false;
  return CONTAINERS.has(targetType) || isBuiltIn(value);
}

function isBuiltIn(value: object): boolean {
  return (
    ArrayBuffer.isView(value) ||
    types.isDate(value) ||
    types.isAnyArrayBuffer(value) ||
    types.isRegExp(value) ||
    types.isPromise(value) ||
    types.isBoxedPrimitive(value) ||
    value instanceof URL ||
    isError(value)
  );
}

/** A getter alone, which class-transformer would assign to where a parent class has it. */
function isReadOnly(target: Class, property: string): boolean {
  for (let owner: object | null = target.prototype; owner; owner = Object.getPrototypeOf(owner)) {
    const descriptor = Object.getOwnPropertyDescriptor(owner, property);
    if (descriptor !== undefined) return descriptor.get !== undefined && descriptor.set === undefined;
  }
  return false;
}

/** class-transformer reads what it is about to write; `id` of a job that does not run is a getter that throws. */
function coverThrowing(instance: object, name: string): boolean {
  try {
    Reflect.get(instance, name);
    return false;
  } catch {
    return Reflect.defineProperty(instance, name, {
      value: undefined,
      writable: true,
      enumerable: true,
      configurable: true,
    });
  }
}

/** The names by which each object is reached from the one before it; only looked for when one must be told. */
function wayThrough(objects: readonly object[]): readonly Segment[] {
  return objects.slice(1).flatMap((object, index): readonly Segment[] => {
    const holder = objects[index]!;
    if (Array.isArray(holder)) return [holder.indexOf(object)];
    const key = Object.keys(holder).find((key) => (holder as Record<string, unknown>)[key] === object);
    return key === undefined ? [] : [key];
  });
}
