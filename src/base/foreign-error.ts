/**
 * Foreign errors in a form that our errors may hold. Clients attach what they were doing to their errors: a command with its
 * password, a statement with its payload, a request with its keys. We keep what the error says, where it happened, and its code.
 */
import { types } from 'node:util';
import { isSecretKey, MASK, redact } from './redact';

/** Properties that we keep besides numbers: programs tell errors apart by them. */
const TELLING = ['code', 'sqlState', 'severity', 'syscall', 'address', 'hostname'];

const MOST_PARTS = 10;
const DEEPEST = 5;

/**
 * Data quoted in messages of Redis, MySQL, PostgreSQL and SQS: what stands between a beginning and the last end behind it. Not
 * with one regular expression, which would look for the end again behind each beginning.
 */
const QUOTED: readonly (readonly [RegExp, string])[] = [
  [/\bnear '/, "' at line"],
  [/\b(?:Incorrect \w{1,64} value: |Duplicate entry )'/, "' for "],
  [/\binvalid input [^:\n]{0,100}: "/, '"'],
  [/\bValue /, ' for parameter'],
];
const ARGUMENTS = /, with args beginning with: [^]*/;
const JSON_TEXT = /\{\s*\\*"[^]*\}|\{\s*\\*"[^]*/;

const made = new WeakMap<object, Error>();

/** Also true for errors of another realm, such as a test runner's sandbox. */
export function isError(value: unknown): value is Error {
  return value instanceof Error || value instanceof DOMException || types.isNativeError(value);
}

/** A text of a server or client without data or secrets. */
export function foreignText(text: string): string {
  const told = QUOTED.reduce(
    (some, [beginning, end]) => withoutQuoted(some, beginning, end),
    text.replace(ARGUMENTS, ''),
  );
  return redact(told.replace(JSON_TEXT, '{…}'));
}

function withoutQuoted(text: string, beginning: RegExp, end: string): string {
  const { index, 0: found = '' } = beginning.exec(text) ?? {};
  if (index === undefined) return text;
  const from = index + found.length;
  const to = text.lastIndexOf(end);
  return to < from ? text : `${text.slice(0, from)}…${text.slice(to)}`;
}

/** What the server or the system said. Undefined if nothing. For an attempt on several addresses, the words of its parts. */
export function wordsOf(error: unknown): string | undefined {
  if (error === undefined || error === null) return undefined;
  if (typeof error !== 'object') return toldOf(error);
  const { message, code, errors } = error as Partial<AggregateError> & NodeJS.ErrnoException;
  if (typeof message === 'string' && message !== '') return foreignText(message);
  return errors?.map(wordsOf).join(', ') || code;
}

/**
 * A copy of the error that has the same class, message and code, and nothing else; it prints only its message. A value that is
 * not an error becomes a text.
 */
export function bare(error: unknown, depth = 0): unknown {
  if (error === undefined || error === null) return error;
  try {
    return isError(error) ? bared(error, depth) : toldOf(error);
  } catch {
    // Anything may be thrown, and must not hide the error that it caused.
    return new Error('an unreadable error');
  }
}

function bared(error: Error, depth: number): Error {
  const known = made.get(error);
  if (known !== undefined) return known;
  const copy = likeness(error);
  made.set(error, copy).set(copy, copy);
  const parts: unknown = (error as Partial<AggregateError>).errors;
  if (Array.isArray(parts) && depth < DEEPEST) {
    hide(
      copy,
      'errors',
      parts.slice(0, MOST_PARTS).map((part) => bare(part, depth + 1)),
    );
  }
  if (error.cause !== undefined && depth < DEEPEST) hide(copy, 'cause', bare(error.cause, depth + 1));
  return copy;
}

function likeness(error: Error): Error {
  const copy = new Error(textOf(error.message));
  const prototype = Object.getPrototypeOf(error) as object;
  hide(copy, 'stack', withoutNode(textOf(error.stack)));
  hide(copy, 'name', textOf(error.name));
  // Accessors of the class may read properties that the copy lacks, and throw; those of `DOMException` do.
  for (const key of accessorsOf(prototype)) if (!Object.hasOwn(copy, key)) hide(copy, key, codeOf(error, key));
  for (const key of Object.keys(error)) {
    const code = codeOf(error, key);
    if (code !== undefined && !Object.hasOwn(copy, key)) hide(copy, key, code);
  }
  return Object.setPrototypeOf(copy, prototype) as Error;
}

/** The property's value if we may keep it. Undefined if not. */
function codeOf(error: Error, key: string): string | number | undefined {
  const value: unknown = Reflect.get(error, key);
  if (typeof value === 'number') return value;
  return TELLING.includes(key) && typeof value === 'string' ? foreignText(value) : undefined;
}

function accessorsOf(prototype: object | null): readonly string[] {
  if (prototype === null || Object.hasOwn(prototype, 'isPrototypeOf')) return [];
  const own = Object.entries(Object.getOwnPropertyDescriptors(prototype));
  const accessors = own.filter(([, member]) => 'get' in member).map(([key]) => key);
  return [...accessors, ...accessorsOf(Object.getPrototypeOf(prototype) as object | null)];
}

/** Frames of Node.js itself say nothing about what went wrong. */
function withoutNode(stack: string): string {
  return stack.replace(/\n +at (?:[^\n]*\()?node:[^\n]*/g, '');
}

/** Only the kind of an object: its fields may be data. */
function toldOf(value: {}): string {
  return typeof value === 'string' ? foreignText(value) : Object.prototype.toString.call(value);
}

/** Users may have assigned anything to a property that should be a text. */
function textOf(value: unknown): string {
  return typeof value === 'string' ? foreignText(value) : '';
}

/** Defines a property that is not enumerable, as `message` and `stack` are not. */
export function hide(error: Error, key: string, value: unknown): void {
  Object.defineProperty(error, key, { value, writable: true, enumerable: false, configurable: true });
}

/** Marks an error of ours as safe: it holds nothing that it must hide. */
export function trust(error: Error): void {
  made.set(error, error);
}

/** How deep facts may be nested. */
const DEEPEST_FACT = 6;

/** The same value without secrets in its texts and errors, as far as it consists of plain objects and arrays. */
export function redacted<T>(value: T, depth = 0): T {
  if (typeof value === 'string') return redact(value) as T;
  if (typeof value !== 'object' || value === null || depth === DEEPEST_FACT) return value;
  if (isError(value)) return bare(value) as T;
  if (Array.isArray(value)) return value.map((item) => redacted(item as unknown, depth + 1)) as T;
  if (Object.getPrototypeOf(value) !== Object.prototype) return value;
  const told = ([key, item]: [string, unknown]): [string, unknown] =>
    typeof item === 'string' && isSecretKey(key) ? [key, MASK] : [key, redacted(item, depth + 1)];
  return Object.fromEntries(Object.entries(value).map(told)) as T;
}
