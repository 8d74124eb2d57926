/** Puts in place what JSON could not hold: each value that `types` names, the innermost first. */
import { oneLine } from '../errors/plain-text';
import { bigintOf } from './bigint-form';
import { bufferOf, bytesOf, TYPED_ARRAYS } from './bytes';
import type { CodecClasses, Types } from './codec';
import { ERRORS, errorOf } from './error-form';
import { InvalidPayloadError, UnknownClassError } from './errors';
import { toInstance } from './mapping';
import { depthOf, locate } from './pointer';
import { upgraded } from './upgraded';

/** Gives undefined where the form is not that of the type; may throw a RangeError or SyntaxError for the same reason. */
type Build = (form: unknown) => unknown;

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
  ['Set', (form) => listOf(form) && new Set(listOf(form))],
  ['RegExp', regExpOf],
  ['URL', (form) => (typeof form === 'string' && URL.canParse(form) ? new URL(form) : undefined)],
  ['ArrayBuffer', (form) => bytesOf(form) && bufferOf(bytesOf(form)!)],
  ['bigint', bigintOf],
  ['number', (form) => NUMBERS.get(form)],
  ['string', (form) => bytesOf(form)?.toString('utf16le')],
  ...[...TYPED_ARRAYS].map(([type, build]): [string, Build] => [
    type,
    (form) => bytesOf(form) && build(bytesOf(form)!),
  ]),
  ...[...ERRORS.keys()].map((type): [string, Build] => [type, (form) => isRecord(form) && errorOf(type, form)]),
]);

const CLASS = 'class:';

export class Decoder {
  readonly #classes: CodecClasses;
  readonly #place: string;
  /** Of the data of jobs, by the pointers to them. */
  readonly #versions: Readonly<Record<string, unknown>>;

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
      const { parent, key } = locate(root, pointer, this.#place + pointer);
      parent[key] = this.#build(types[pointer], parent[key], pointer);
    }
    return root.value;
  }

  #build(type: unknown, form: unknown, pointer: string): unknown {
    const place = this.#place + pointer;
    if (typeof type !== 'string') throw new InvalidPayloadError('the name of a type is a string', place);
    if (type.startsWith(CLASS)) return this.#instance(type.slice(CLASS.length), form, pointer);
    if (type === 'undefined' && form === null) return undefined;
    const build = BUILDERS.get(type);
    if (build === undefined && type !== 'undefined') {
      throw new InvalidPayloadError(`there is no type '${oneLine(type, 40)}'`, place);
    }
    const value = built(build, form);
    if (value === undefined || value === false) {
      throw new InvalidPayloadError(`what stands there is not the JSON form of a ${type}`, place);
    }
    return value;
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

function built(build: Build | undefined, form: unknown): unknown {
  try {
    return build?.(form);
  } catch {
    return undefined;
  }
}

function dateOf(form: unknown): Date | undefined {
  if (form === null) return new Date(NaN);
  const date = new Date(typeof form === 'string' ? form : NaN);
  return Number.isNaN(date.getTime()) ? undefined : date;
}

function mapOf(form: unknown): Map<unknown, unknown> | undefined {
  const entries = listOf(form);
  const isMap = entries?.every((entry) => Array.isArray(entry) && entry.length === 2);
  return isMap === true ? new Map(entries as [unknown, unknown][]) : undefined;
}

function regExpOf(form: unknown): RegExp | undefined {
  if (!isRecord(form)) return undefined;
  const { source, flags, lastIndex = 0 } = form;
  if (typeof source !== 'string' || typeof flags !== 'string' || !Number.isSafeInteger(lastIndex)) return undefined;
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
