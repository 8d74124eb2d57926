/** Restores the values that JSON cannot hold: each that `types` names, the innermost first. */
import { oneLine } from '../base/plain-text';
import type { JobDefinition } from '../job/definition';
import { BUILT_INS } from './built-ins';
import type { CodecClasses } from './encoder';
import { type EntityHolder, HeldEntities } from './entities';
import { InvalidPayloadError, PayloadVersionError, UnknownClassError } from './errors';
import { isPlain, isRecord } from './kinds';
import { checkMade, Limits } from './limits';
import { toInstance } from './mapping';
import { depthOf, locate } from './pointer';

type Data = Record<string, unknown>;

const CLASS = 'class:';

/**
 * The value that was encoded. Reuses the objects of `command`, which must not be used afterwards.
 *
 * @param place JSON Pointer to `command`, for errors
 * @param versions of the jobs in it, as read
 * @param holder gets what stands for entities in the value. Without it, there can be none
 * @throws InvalidPayloadError when `types` and `command` do not fit each other
 * @throws UnknownClassError when a class is not registered here
 * @throws PayloadVersionError when the data of a job have a later version than its class
 */
export function decodeValue(
  command: unknown,
  types: Readonly<Data> | undefined,
  classes: CodecClasses,
  place = '',
  versions?: Readonly<Data>,
  holder?: EntityHolder,
): unknown {
  return types === undefined ? command : new Decoder(classes, place, versions, holder).decode(command, types);
}

class Decoder {
  readonly #classes: CodecClasses;
  readonly #place: string;
  /** The versions of jobs' data, by their pointers. */
  readonly #versions: Readonly<Data>;
  readonly #limits = new Limits();

  readonly #holder: EntityHolder | undefined;

  constructor(classes: CodecClasses, place: string, versions: Readonly<Data> = {}, holder?: EntityHolder) {
    this.#classes = classes;
    this.#place = place;
    this.#versions = versions;
    this.#holder = holder;
  }

  decode(command: unknown, types: Readonly<Data>): unknown {
    const root = { value: command };
    // The deepest first: they can only be found while everything above them is still plain JSON.
    const pointers = Object.keys(types).map((pointer) => ({ pointer, depth: depthOf(pointer) }));
    pointers.sort((a, b) => b.depth - a.depth);
    for (const { pointer } of pointers) {
      const { parent, key } = locate(root, pointer, this.#place);
      parent[key] = this.#build(types[pointer], parent[key], pointer);
    }
    return root.value;
  }

  #build(type: unknown, form: unknown, pointer: string): unknown {
    if (typeof type !== 'string') throw this.#refusal('the name of a type is a string', pointer);
    if (type.startsWith(CLASS)) return this.#instance(type.slice(CLASS.length), form, pointer);
    if (type === 'undefined' && form === null) return undefined;
    const builtIn = BUILT_INS.get(type);
    if (builtIn === undefined && type !== 'undefined') {
      const held = this.#holder && HeldEntities.read(type, form, this.#place + pointer);
      if (held !== undefined) {
        (this.#holder!.held ??= []).push(held);
        return held;
      }
      throw this.#refusal(`there is no type '${oneLine(type, 40)}'`, pointer);
    }
    const excess = builtIn?.excess?.(form, this.#limits);
    if (excess !== undefined) throw this.#refusal(`${excess} is not read`, pointer);
    let value: unknown;
    try {
      value = builtIn?.read(form);
    } catch {
      // Not the form of this type: see below.
    }
    if (value === undefined) throw this.#refusal(`the value there is not the JSON form of a ${type}`, pointer);
    return value;
  }

  // The place is built only for an error: there may be very many values.
  #refusal(reason: string, pointer: string): InvalidPayloadError {
    return new InvalidPayloadError(reason, this.#place + pointer);
  }

  #instance(name: string, form: unknown, pointer: string): object {
    const place = this.#place + pointer;
    const target = this.#classes.classOf(name);
    if (target === undefined) throw new UnknownClassError(name, place);
    if (!isRecord(form)) throw new InvalidPayloadError(`the data of a ${name} are an object`, place);
    const definition = this.#classes.definitionOf(target);
    const data = definition === undefined ? form : upgraded(form, this.#versions[pointer], definition, place);
    return toInstance(target, data, place);
  }
}

/**
 * Converts data that an older version of a class wrote to what the class expects today.
 *
 * @param data with its typed values restored
 * @param from the version in the payload; undefined: 0
 * @param place JSON Pointer to the data, for errors
 * @throws PayloadVersionError when the data have a later version than the class
 * @throws InvalidPayloadError when `upgrade()` returned no data, or `from` is not a version
 */
export function upgraded(data: Data, from: unknown, definition: JobDefinition, place: string): Data {
  const { name, version = 0, upgrade } = definition;
  const written = checkedVersion(from, place) ?? 0;
  if (written > version) throw new PayloadVersionError(name, written, version);
  if (written === version || upgrade === undefined) return data;
  const result: unknown = upgrade(data, written);
  if (!isRecord(result) || !isPlain(result)) {
    throw new InvalidPayloadError(`upgrade() of ${name} returned no plain object for version ${written}`, place);
  }
  checkMade(result, place);
  return result;
}

/** @throws InvalidPayloadError */
export function checkedVersion(version: unknown, place: string): number | undefined {
  if (version === undefined || version === null) return undefined;
  if (Number.isSafeInteger(version) && (version as number) >= 0) return version as number;
  throw new InvalidPayloadError('expected a whole number from 0', place);
}
