/** Values in a JSON tree: what kind each is, the names of their places, and what a payload may not hold. */
import { types } from 'node:util';
import { classOf } from '../base/class';
import { InvalidPayloadError } from './errors';

/** An object in JSON's sense. */
export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** These members of an object. Undefined if one of them is no text. */
export function textsIn<Name extends string>(value: unknown, ...names: readonly Name[]) {
  if (!isRecord(value) || names.some((name) => typeof value[name] !== 'string')) return undefined;
  return Object.fromEntries(names.map((name) => [name, value[name]])) as Readonly<Record<Name, string>>;
}

/**
 * The fields of a JSON object. Undefined if there is no text, or it is something else: anybody may have written it, and a reader
 * must not fail.
 */
export function fieldsIn(text: string | undefined): Readonly<Record<string, unknown>> | undefined {
  if (text === undefined) return undefined;
  try {
    const read: unknown = JSON.parse(text);
    return isRecord(read) ? read : undefined;
  } catch {
    return undefined;
  }
}

/** An object literal, possibly of another realm, or an object without a prototype. */
export function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype === Object.prototype || prototype === null) return true;
  return Object.getPrototypeOf(prototype) === null && Object.hasOwn(prototype as object, 'isPrototypeOf');
}

/** An object with these properties. */
export function withPrototype(prototype: object, data: Readonly<Record<string, unknown>>): object {
  // If the prototype has a member of the same name, properties are defined rather than assigned, so that no setter runs. That takes an
  // object literal, and after a while V8 allocates literals in the old generation, where each keeps its job until a full collection.
  for (const name of Object.keys(data)) if (name in prototype) return { __proto__: prototype, ...data };
  return Object.assign(Object.create(prototype), data) as object;
}

/** Whether `JSON.stringify` surely writes the properties exactly, as it does for most jobs. */
export function isPlainData(instance: object): boolean {
  if ('toJSON' in instance) return false;
  for (const key in instance) {
    if (!Object.hasOwn(instance, key)) continue;
    if (isForbiddenKey(key) || !key.isWellFormed()) return false;
    const value = (instance as Record<string, unknown>)[key];
    if (typeof value === 'string' && value.isWellFormed()) continue;
    if (typeof value === 'number' && Number.isFinite(value) && !Object.is(value, -0)) continue;
    if (value !== null && typeof value !== 'boolean') return false;
  }
  return Object.getOwnPropertySymbols(instance).length === 0;
}

/** A property named by a symbol: JSON would silently omit it. */
export function symbolKeyOf(value: object): string | undefined {
  const symbols = Object.getOwnPropertySymbols(value);
  if (symbols.length === 0) return undefined;
  const shown = symbols.find((symbol) => Object.prototype.propertyIsEnumerable.call(value, symbol));
  return shown === undefined ? undefined : String(shown);
}

/** With its article: "a Logger". */
export function described(value: unknown): string {
  if (typeof value !== 'object' || value === null) return `a ${typeof value}`;
  const name = classOf(value)?.name ?? '';
  if (name === '') return 'an instance of a class without a name';
  if (types.isBoxedPrimitive(value)) return `a boxed ${name}`;
  return `${/^[AEIOU]/i.test(name) ? 'an' : 'a'} ${name}`;
}

export function remedyFor(value: unknown): string {
  if (typeof value === 'function') return 'Make it a method or static, or inject it in handle().';
  if (typeof value === 'symbol') return 'Write a string instead.';
  if (types.isBoxedPrimitive(value)) return 'Write the bare value.';
  if (typeof value === 'object' && value !== null && 'then' in value) return 'Await it before the dispatch.';
  const name = ownClassOf(value);
  const asData =
    name === undefined
      ? ''
      : ` A value travels as its parts, or with @Type(() => ${name}) from class-transformer on the property.`;
  return `Make it static, or inject it in handle().${asData}`;
}

// Only for a user's own class: class-transformer cannot build a WeakMap either.
function ownClassOf(value: unknown): string | undefined {
  const target = classOf(value);
  if (target === undefined || target.name === '') return undefined;
  return Function.prototype.toString.call(target).endsWith('{ [native code] }') ? undefined : target.name;
}

export type Segment = string | number;

/** How deep values may be nested: far more than data need, far less than a stack holds. */
export const MAX_DEPTH = 512;

/** Steps of a path that an error shows; of a longer path, its beginning and its end. */
const LONGEST_PATH = 16;

/** A container and the place in it that a pointer names. */
export interface Location {
  readonly parent: Record<Segment, unknown>;
  readonly key: Segment;
}

/** Names places in a JSON tree: as JSON Pointers (RFC 6901) in payloads, and as paths in errors. */
export function toPointer(segments: readonly Segment[]): string {
  let pointer = '';
  for (const segment of segments) {
    pointer += `/${typeof segment === 'number' ? segment : segment.replaceAll('~', '~0').replaceAll('/', '~1')}`;
  }
  return pointer;
}

/** As a program would write it: `SendEmail.items[3].owner`. */
export function toPath(subject: string, segments: readonly Segment[]): string {
  if (segments.length <= LONGEST_PATH) return segments.reduce<string>(joinedPath, subject);
  const last = segments.slice(-LONGEST_PATH / 2).reduce<string>(joinedPath, '');
  return `${segments.slice(0, LONGEST_PATH / 2).reduce<string>(joinedPath, subject)}…${last}`;
}

function joinedPath(path: string, segment: Segment): string {
  if (typeof segment === 'number') return `${path}[${segment}]`;
  return /^[A-Za-z_$][\w$]*$/.test(segment) ? `${path}.${segment}` : `${path}[${JSON.stringify(segment)}]`;
}

/** The number of steps in a pointer. */
export function depthOf(pointer: string): number {
  let depth = 0;
  for (let at = pointer.indexOf('/'); at !== -1; at = pointer.indexOf('/', at + 1)) depth++;
  return depth;
}

/**
 * Finds the value that `pointer` names in `root.value`, through own members of plain objects and arrays only.
 *
 * @param place JSON Pointer to the root, for errors
 * @throws InvalidPayloadError when it is not a pointer, or there is nothing at the place
 */
export function locate(root: { value: unknown }, pointer: string, place: string): Location {
  let parent = root as unknown as Record<Segment, unknown>;
  let key: Segment = 'value';
  if (pointer === '') return { parent, key };
  const [start, ...segments] = pointer.split('/');
  if (start !== '') throw new InvalidPayloadError('a JSON Pointer starts with /', place + pointer);
  for (const segment of segments) {
    parent = parent[key] as Record<Segment, unknown>;
    const step = unescaped(segment);
    if (step === undefined) throw new InvalidPayloadError('in a JSON Pointer, ~ is written ~0', place + pointer);
    key = step;
    if (!holds(parent, key)) throw new InvalidPayloadError('there is nothing at this place', place + pointer);
  }
  return { parent, key };
}

/** Undefined if it is not escaped properly. */
function unescaped(segment: string): string | undefined {
  if (!segment.includes('~')) return segment;
  if (/~(?![01])/.test(segment)) return undefined;
  return segment.replaceAll('~1', '/').replaceAll('~0', '~');
}

/** The steps of a pointer that was made by `toPointer`. */
export function stepsOf(pointer: string): readonly string[] {
  return pointer
    .split('/')
    .slice(1)
    .map((step) => unescaped(step) ?? step);
}

function holds(parent: unknown, key: string): boolean {
  if (Array.isArray(parent)) return /^(0|[1-9]\d*)$/.test(key) && Number(key) < parent.length;
  return typeof parent === 'object' && parent !== null && key !== '__proto__' && Object.hasOwn(parent, key);
}

/** A pattern is compiled on first use. A long one like `(?:a{99}){99}…` would take minutes. */
const LONGEST_PATTERN = 1000;

/** Uses of `\p{…}` in all patterns of a payload: looking one up takes a tenth of a millisecond. */
const MOST_PROPERTIES = 500;

/** As in DNS. The time to encode a host that is not ASCII grows with the square of its length. */
const LONGEST_HOST = 255;
const LONGEST_LABEL = 63;

/** In one Map or Set. The engine hashes only the lowest 64 bits, so that all of them may collide. */
const MOST_LONG_INTEGERS = 1000;

/** Names that reach a prototype if a program copies or merges data by assignment. */
const FORBIDDEN: readonly string[] = ['__proto__', 'constructor', 'prototype'];

export function isForbiddenKey(key: string): boolean {
  return key === '__proto__' || key === 'constructor' || key === 'prototype';
}

/**
 * Says what exceeds a limit, with its article: "a RegExp with the flag v". One instance per payload: a short one may take long to read,
 * use much memory, or harm whoever walks through it.
 *
 * A text of a megabyte must be read within a fraction of a second. Both sides apply the same limits, so that a payload that no worker
 * would read is refused when it is dispatched.
 */
export class Limits {
  #properties = 0;

  ofPattern(source: string, flags: string): string | undefined {
    // With this flag a pattern may name a set of strings, such as all emoji, which takes half a megabyte each time.
    if (flags.includes('v')) return 'a RegExp with the flag v';
    if (source.length > LONGEST_PATTERN) return `a RegExp of more than ${LONGEST_PATTERN} characters`;
    this.#properties += source.split(/\\p/i).length - 1;
    if (this.#properties <= MOST_PROPERTIES) return undefined;
    return `a RegExp with more \\p{…} than the ${MOST_PROPERTIES} that all together may have`;
  }

  ofUrl(href: string): string | undefined {
    const host = hostOf(href);
    if (host === undefined) return undefined;
    if (host.length > LONGEST_HOST) return `a URL whose host has more than ${LONGEST_HOST} characters`;
    const isLong = host.split('.').some((label) => label.length > LONGEST_LABEL);
    return isLong ? `a URL whose host has more than ${LONGEST_LABEL} characters between two dots` : undefined;
  }

  ofKeys(items: readonly unknown[], keyOf = (item: unknown): unknown => item): string | undefined {
    let count = 0;
    for (const item of items) {
      const key = keyOf(item);
      if (typeof key === 'bigint' && key !== BigInt.asIntN(64, key)) count++;
    }
    if (count <= MOST_LONG_INTEGERS) return undefined;
    return `a collection by more than ${MOST_LONG_INTEGERS} bigints beyond 64 bits`;
  }
}

/** The schemes whose hosts are domain names; the parser leaves other hosts unchanged. */
const HOST = /^(?:https?|wss?|ftp|file):[/\\]*([^/\\?#]*)/i;

function hostOf(href: string): string | undefined {
  // The URL parser skips these characters anywhere.
  const authority = HOST.exec(href.replace(/^[\0-\x20]+|[\t\n\r]+/g, ''))?.[1];
  return authority?.slice(authority.lastIndexOf('@') + 1).replace(/:\d*$/, '');
}

/** The payload and its `data` are two levels around a job's data. */
const LEVELS = MAX_DEPTH + 2;

/** A shorter text has too few brackets. */
const SHORTEST_DEEP_TEXT = 2 * LEVELS;

/**
 * @param fields the parsed `text`
 * @throws InvalidPayloadError on a key such as `__proto__`, however it is spelled, and when values are nested too deeply
 */
export function checkNesting(text: string, fields: object): void {
  const mayHold =
    text.length > SHORTEST_DEEP_TEXT ||
    // An escape may spell such a key.
    text.includes('\\u') ||
    text.includes('__proto__') ||
    text.includes('constructor') ||
    text.includes('prototype');
  if (mayHold) walk(fields);
}

/**
 * The same check for data returned by a user's function.
 *
 * @throws InvalidPayloadError
 */
export function checkMade(value: object, place: string): void {
  walk(value, place, new Set());
}

// Level by level: a recursive walk would overflow the stack on the very payloads that it has to find.
function walk(root: object, place?: string, seen?: Set<object>): void {
  let level = [root];
  for (let depth = 0; level.length > 0; depth++) {
    if (depth === LEVELS)
      throw new InvalidPayloadError(`its values are nested more than ${MAX_DEPTH} levels deep`, place);
    const next: object[] = [];
    for (const holder of level) {
      const key = FORBIDDEN.find((name) => Object.hasOwn(holder, name));
      if (key !== undefined) throw new InvalidPayloadError(`it has a key ${key}`, place);
      for (const value of seen === undefined ? Object.values(holder) : heldBy(holder)) {
        if (typeof value !== 'object' || value === null || seen?.has(value) === true) continue;
        seen?.add(value);
        next.push(value);
      }
    }
    level = next;
  }
}

function heldBy(holder: object): readonly unknown[] {
  if (ArrayBuffer.isView(holder)) return [];
  if (types.isMap(holder)) return [...holder].flat();
  return types.isSet(holder) ? [...holder] : Object.values(holder);
}
