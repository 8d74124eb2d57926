/** Puts in place what JSON could not hold: each value that `types` names, the innermost first. */
import { oneLine } from '../base/plain-text';
import { bigintOf } from './bigint-form';
import { bufferOf, bytesOf, TYPED_ARRAYS } from './bytes';
import type { CodecClasses, Types } from './codec';
import { ERRORS, errorOf } from './error-form';
import { InvalidPayloadError, UnknownClassError } from './errors';
import { Limits } from './limits';
import { toInstance } from './mapping';
import { depthOf, locate } from './pointer';
import { upgraded } from './upgraded';

/**
 * Gives undefined where the form is not that of the type; may throw a RangeError or SyntaxError for the same reason, and an
 * InvalidPayloadError where it would take too much.
 */
type Build = (form: unknown, limits: Limits) => unknown;

const NUMBERS: ReadonlyMap<unknown, number> = new Map([
  ['NaN', NaN],
  ['Infinity', Infinity],
  ['-Infinity', -Infinity],
  ['-0', -0],
]);

/** Every type but `undefined` and `class:…`; docs/format.md shows the form of each. */
export const BUILDERS: ReadonlyMap<string, Build> = new Map<string, Build>([
  ['Date', dateOf],
  ['Map', mapOf],
  ['Set', setOf],
  ['RegExp', regExpOf],
  ['URL', urlOf],
  ['ArrayBuffer', ofBytes(bufferOf)],
  ['bigint', bigintOf],
  ['number', (form) => NUMBERS.get(form)],
  ['string', ofBytes((bytes) => bytes.toString('utf16le'))],
  ...[...TYPED_ARRAYS].map(([type, build]): [string, Build] => [type, ofBytes(build)]),
  ...[...ERRORS.keys()].map((type): [string, Build] => [type, (form) => isRecord(form) && errorOf(type, form)]),
]);

const CLASS = 'class:';

export class Decoder {
  readonly #classes: CodecClasses;
  readonly #place: string;
  /** Of the data of jobs, by the pointers to them. */
  readonly #versions: Readonly<Record<string, unknown>>;
  readonly #limits = new Limits();

  constructor(classes: CodecClasses, place: string, versions: Readonly<Record<string, unknown>> = {}) {
    this.#classes = classes;
    this.#place = place;
    this.#versions = versions;
  }

  decode(command: unknown, types: Types): unknown {
    const root = { value: command };
    // What stands deeper first: it can only be found while all above it is still plain JSON.
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
    const build = BUILDERS.get(type);
    if (build === undefined && type !== 'undefined') {
      throw this.#refusal(`there is no type '${oneLine(type, 40)}'`, pointer);
    }
    const value = this.#built(build, form, pointer);
    if (value === undefined || value === false) {
      throw this.#refusal(`what stands there is not the JSON form of a ${type}`, pointer);
    }
    return value;
  }

  #built(build: Build | undefined, form: unknown, pointer: string): unknown {
    try {
      return build?.(form, this.#limits);
    } catch (error) {
      if (error instanceof TooMuch) throw this.#refusal(`${error.message} is not read`, pointer);
      return undefined;
    }
  }

  // The place is put together only for an error: there may be very many.
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

/** The form is right, and is not read all the same. */
class TooMuch extends Error {}

function checkLimit(excess: string | undefined): void {
  if (excess !== undefined) throw new TooMuch(excess);
}

function ofBytes(make: (bytes: Buffer) => unknown): Build {
  return (form) => {
    const bytes = bytesOf(form);
    return bytes && make(bytes);
  };
}

function dateOf(form: unknown): Date | undefined {
  if (form === null) return new Date(NaN);
  const date = new Date(typeof form === 'string' ? form : NaN);
  return Number.isNaN(date.getTime()) ? undefined : date;
}

function mapOf(form: unknown, limits: Limits): Map<unknown, unknown> | undefined {
  const entries = listOf(form);
  if (entries?.every((entry) => Array.isArray(entry) && entry.length === 2) !== true) return undefined;
  checkLimit(limits.ofKeys(entries.map((entry) => (entry as [unknown, unknown])[0])));
  return new Map(entries as [unknown, unknown][]);
}

function setOf(form: unknown, limits: Limits): Set<unknown> | undefined {
  const members = listOf(form);
  if (members === undefined) return undefined;
  checkLimit(limits.ofKeys(members));
  return new Set(members);
}

function urlOf(form: unknown, limits: Limits): URL | undefined {
  if (typeof form !== 'string') return undefined;
  checkLimit(limits.ofUrl(form));
  return new URL(form);
}

function regExpOf(form: unknown, limits: Limits): RegExp | undefined {
  if (!isRecord(form)) return undefined;
  const { source, flags, lastIndex = 0 } = form;
  if (typeof source !== 'string' || typeof flags !== 'string' || !Number.isSafeInteger(lastIndex)) return undefined;
  checkLimit(limits.ofPattern(source, flags));
  return Object.assign(new RegExp(source, flags), { lastIndex });
}

// PHP and cjson write an empty list as {}, and cannot tell.
function listOf(form: unknown): readonly unknown[] | undefined {
  if (Array.isArray(form)) return form;
  return isRecord(form) && Object.keys(form).length === 0 ? [] : undefined;
}

function isRecord(form: unknown): form is Record<string, unknown> {
  return typeof form === 'object' && form !== null && !Array.isArray(form);
}
