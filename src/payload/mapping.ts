/**
 * Converts between an instance and the plain data that represent it: directly, or by class-transformer if the class has its
 * decorators. The instance is never made by its constructor; instances that class-transformer builds for `@Type` are.
 *
 * We subclass its inner executor, because its public functions would spoil values without decorators: they call functions in
 * properties, turn typed arrays and maps into plain objects and the keys of a map into strings, lose the class of values
 * without `@Type`, and overflow the stack on a cycle. Neither the executor nor the metadata storage is exported, so both are read
 * from inside the package, whose last release is 0.5.1. We test whether they belong to the copy that the application's decorators
 * write to: with another copy, excluded properties would be sent.
 */
import { choiceCalls } from '../job/choices';
import { types } from 'node:util';
import type { Class } from '../base/class';
import { isError } from '../base/foreign-error';
import { InvalidPayloadError, classTransformerMissing } from './errors';
import { described, remedyFor, symbolKeyOf, checkMade, withPrototype, MAX_DEPTH, type Segment } from './values';

/** Throws the error for a value that cannot be carried, found at `path` in the instance. */
type RefuseValue = (kind: string, remedy: string, path: readonly Segment[]) => never;

type Data = Readonly<Record<string, unknown>>;

const known = new WeakMap<Class, boolean>();

/** Whether the class or a parent class has `@Type`, `@Expose`, `@Exclude` or `@Transform`. */
export function mapsByClassTransformer(target: Class): boolean {
  let maps = known.get(target);
  if (maps === undefined) known.set(target, (maps = hasDecorators(target)));
  return maps;
}

function hasDecorators(target: Class): boolean {
  const storage = classTransformer()?.storage;
  if (storage === undefined) return false;
  const { _typeMetadatas, _transformMetadatas, _exposeMetadatas, _excludeMetadatas } = storage;
  const decorated = [_typeMetadatas, _transformMetadatas, _exposeMetadatas, _excludeMetadatas];
  for (let owner: unknown = target; typeof owner === 'function'; owner = Object.getPrototypeOf(owner)) {
    if (decorated.some((classes) => classes.has(owner))) return true;
  }
  return false;
}

/** The plain object that class-transformer makes of the instance. Values without decorators are in it unchanged. */
export function toPlain(instance: object, target: Class, refuse: RefuseValue): object {
  return makeExecutor(refuse).transform(undefined, instance, target, undefined, false) as object;
}

/**
 * The instance that the data represent.
 *
 * @param place JSON Pointer to the data, for errors
 */
export function toInstance(target: Class, data: Data, place: string): object {
  if (!mapsByClassTransformer(target)) return withPrototype(target.prototype, data);
  const instance = Object.create(target.prototype) as Record<string, unknown>;
  const covered = Object.keys(data)
    .flatMap((key) => [key, propertyOf(target, key)])
    .filter((name) => coverThrowing(instance, name));
  makeExecutor().transform(instance, data, target, undefined, false);
  for (const name of covered) if (instance[name] === undefined) delete instance[name];
  // Decorators may rename properties and create new values.
  checkMade(instance, place);
  return instance;
}

/** The property that class-transformer reads or writes under this name. */
function propertyOf(target: unknown, name: string): string {
  return classTransformer()!.storage.findExposeMetadataByCustomName(target, name)?.propertyName ?? name;
}

/** Whether a property is a getter without a setter: class-transformer would assign to one of a parent class. */
function isReadOnly(target: Class, property: string): boolean {
  for (let owner: object | null = target.prototype; owner; owner = Object.getPrototypeOf(owner)) {
    const descriptor = Object.getOwnPropertyDescriptor(owner, property);
    if (descriptor !== undefined) return descriptor.get !== undefined && descriptor.set === undefined;
  }
  return false;
}

/** class-transformer reads a property before it writes it, and `id` of a job that does not run is a getter that throws. */
function coverThrowing(instance: object, name: string): boolean {
  try {
    Reflect.get(instance, name);
    return false;
  } catch {
    const cover = { value: undefined, writable: true, enumerable: true, configurable: true };
    return Reflect.defineProperty(instance, name, cover);
  }
}

/** `@Type`s that ask to convert whatever is there. */
const CONVERSIONS: ReadonlySet<unknown> = new Set([String, Number, Boolean]);

/** `@Type`s that name the container instead of its contents. */
const CONTAINERS: ReadonlySet<unknown> = new Set([undefined, Array, Map, Object, Set]);

/** Whether class-transformer must not see the value: it has nothing to do there, or would spoil it. */
function isHeldOut(value: object, targetType: unknown): boolean {
  if (CONVERSIONS.has(targetType)) return false;
  return (
    CONTAINERS.has(targetType) ||
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

/** Most keys of one object: class-transformer compares each key with all before it. */
const MOST_KEYS = 10_000;

type TransformArguments = Parameters<Executor['transform']>;
type MakeExecutor = (refuse?: RefuseValue) => Executor;

let make: MakeExecutor | undefined;

// Only called for a class with decorators, so the library is there.
const makeExecutor: MakeExecutor = (refuse) => (make ??= executorOn(classTransformer()!))(refuse);

function executorOn({ Executor, storage, TransformationType }: ClassTransformer): MakeExecutor {
  class CarefulExecutor extends Executor {
    /** Undefined while instances are built. */
    readonly #refuse: RefuseValue | undefined;
    readonly #ancestors: object[] = [];
    /** Values of properties with a discriminator, which class-transformer handles by their own classes. */
    readonly #discriminated = new WeakSet<object>();

    constructor(refuse?: RefuseValue) {
      const { PLAIN_TO_CLASS, CLASS_TO_PLAIN } = TransformationType;
      super(refuse === undefined ? PLAIN_TO_CLASS : CLASS_TO_PLAIN, { exposeUnsetFields: true });
      this.#refuse = refuse;
    }

    override transform(...given: TransformArguments): unknown {
      const [, value, targetType, , , level = 0] = given;
      if (!isObject(value)) return super.transform(...given);
      if (level > 0 && isHeldOut(value, targetType) && !this.#discriminated.has(value)) return value;
      this.#enter(value, level);
      const transformed = this.#transformItems(value, targetType, level) ?? super.transform(...given);
      this.#ancestors.pop();
      return transformed;
    }

    override getKeys(target: unknown, object: object, isMap: boolean | undefined): string[] {
      const keys = super.getKeys(target, object, isMap);
      if (this.#refuse === undefined) {
        return keys.filter((key) => !isReadOnly(target as Class, propertyOf(target, key)));
      }
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

    #enter(value: object, level: number): void {
      const isCycle = this.#ancestors.includes(value);
      this.#ancestors.push(value);
      if (isCycle) this.#refuseHere('a way back to an object that holds it', 'Carry an id instead.');
      if (!Array.isArray(value) && Object.keys(value).length > MOST_KEYS) {
        const excess = `an object with more than ${MOST_KEYS} properties that class-transformer goes through`;
        this.#refuseHere(excess, 'Carry them in a Map.');
        throw new InvalidPayloadError(`${excess} is not read`);
      }
      if (level > MAX_DEPTH) this.#refuseHere(`more than ${MAX_DEPTH} levels down`, 'Make the data flatter.');
      const stray = level > 0 ? strayChoice(value) : undefined;
      if (stray !== undefined) this.#refuseHere(...stray);
    }

    #transformItems(value: object, targetType: unknown, level: number): object | undefined {
      const items = types.isMap(value) ? value.values() : types.isSet(value) ? value : undefined;
      if (items === undefined) return undefined;
      const transformed = super.transform(undefined, [...items], targetType, undefined, false, level) as unknown[];
      if (!types.isMap(value)) return new Set(transformed);
      return new Map([...value.keys()].map((key, index) => [key, transformed[index]]));
    }

    #refuseHere(kind: string, remedy: string, ...further: readonly Segment[]): void {
      this.#refuse?.(kind, remedy, [...pathThrough(this.#ancestors), ...further]);
    }
  }
  return (refuse) => new CarefulExecutor(refuse);
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}

/** The names that lead from each object to the next. Only for errors. */
function pathThrough(objects: readonly object[]): readonly Segment[] {
  return objects.slice(1).flatMap((object, index): readonly Segment[] => {
    const holder = objects[index]!;
    if (Array.isArray(holder)) return [holder.indexOf(object)];
    const key = Object.keys(holder).find((key) => (holder as Record<string, unknown>)[key] === object);
    return key === undefined ? [] : [key];
  });
}

export interface Executor {
  transform(
    source: unknown,
    value: unknown,
    targetType: unknown,
    arrayType: unknown,
    isMap?: boolean,
    level?: number,
  ): unknown;
  getKeys(target: unknown, object: object, isMap: boolean | undefined): string[];
}

/** The decorators' metadata, by class. */
type Metadata = ReadonlyMap<unknown, unknown>;

interface Storage {
  readonly _typeMetadatas: Metadata;
  readonly _transformMetadatas: Metadata;
  readonly _exposeMetadatas: Metadata;
  readonly _excludeMetadatas: Metadata;
  findTypeMetadata(
    target: unknown,
    property: string,
  ): { readonly options?: { readonly discriminator?: unknown } } | undefined;
  findExposeMetadataByCustomName(target: unknown, name: string): { readonly propertyName: string } | undefined;
}

interface Library {
  Expose(): (target: object, property: string) => void;
  readonly TransformationType: { readonly PLAIN_TO_CLASS: number; readonly CLASS_TO_PLAIN: number };
}

export interface ClassTransformer {
  readonly storage: Storage;
  readonly Executor: new (type: number, options: { readonly exposeUnsetFields: boolean }) => Executor;
  readonly TransformationType: Library['TransformationType'];
}

type Build = () => readonly [
  { defaultMetadataStorage: Storage },
  { TransformOperationExecutor: ClassTransformer['Executor'] },
];

/** Node.js loads the first, some bundlers include the second. The names are spelled out so that bundlers find them. */
const BUILDS: readonly Build[] = [
  () => [require('class-transformer/cjs/storage'), require('class-transformer/cjs/TransformOperationExecutor')],
  () => [require('class-transformer/esm5/storage'), require('class-transformer/esm5/TransformOperationExecutor')],
];

let found: ClassTransformer | null | undefined;

/** Null if it is not installed, and so no class has its decorators. @throws E_CLASS_TRANSFORMER */
export function classTransformer(): ClassTransformer | null {
  // A program that never sends a job need not load it.
  if (found === undefined) found = find();
  return found;
}

function find(): ClassTransformer | null {
  let library: Library;
  try {
    library = require('class-transformer');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'MODULE_NOT_FOUND') return null;
    throw error;
  }
  class Probe {}
  library.Expose()(Probe.prototype, 'probe');
  let cause: unknown;
  for (const build of BUILDS) {
    try {
      const [{ defaultMetadataStorage: storage }, { TransformOperationExecutor: Executor }] = build();
      const { TransformationType } = library;
      if (storage._exposeMetadatas.has(Probe)) return { storage, Executor, TransformationType };
    } catch (error) {
      cause ??= error;
    }
  }
  throw classTransformerMissing(cause);
}

/** Why a job cannot be data of another job: it was told where and when to go, which does not travel. Undefined if it can. */
export function strayChoice(value: object): readonly [kind: string, remedy: string] | undefined {
  const calls = choiceCalls(value);
  if (calls === undefined) return undefined;
  return [`${described(value)} with what ${calls} chose`, 'Choose it where that job is dispatched.'];
}
