/** What kind of value something is, and what users can do who tried to send it. */
import { types } from 'node:util';
import { choiceCalls } from '../job/beside-instance';
import { classOf } from '../base/class';

/** An object in JSON's sense. */
export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
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

/** A property named by a symbol: JSON would silently omit it. */
export function symbolKeyOf(value: object): string | undefined {
  const symbols = Object.getOwnPropertySymbols(value);
  if (symbols.length === 0) return undefined;
  const shown = symbols.find((symbol) => Object.prototype.propertyIsEnumerable.call(value, symbol));
  return shown === undefined ? undefined : String(shown);
}

/** Why a job cannot be data of another job: it was told where and when to go, which does not travel. Undefined if it can. */
export function strayChoice(value: object): readonly [kind: string, remedy: string] | undefined {
  const calls = choiceCalls(value);
  if (calls === undefined) return undefined;
  return [`${described(value)} with what ${calls} chose`, 'Choose it where that job is dispatched.'];
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
  if (types.isPromise(value)) return 'Await it before the dispatch.';
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
