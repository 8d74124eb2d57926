/** The values that JSON cannot hold, each with the form that represents it in a payload: `docs/format.md` lists them all. */
import { types } from 'node:util';
import { isError, hide } from '../base/foreign-error';
import { isRecord, type Limits } from './values';
import { errorName } from '../base/exception-text';
import { OnqueueError } from '../base/onqueue-error';

export interface BuiltIn {
  /** Whether the value is of this type, whatever its constructor is called. */
  is(value: object): boolean;
  /** The value's form. Items of a list or an object may need a form in turn. */
  write(value: object): unknown;
  /** Returns undefined or throws if `form` is not a form of this type. */
  read(form: unknown): unknown;
  /** What in the form exceeds the limits of a payload, with its article. */
  excess?(form: unknown, limits: Limits): string | undefined;
  /** What users can do who tried to send that. */
  readonly remedy?: string;
  /** Its own properties are its content, or are part of the form. */
  readonly hasProperties?: true;
}

/** Ten times as many digits take a hundred times as long to parse: one text of a megabyte would block the process. */
export const MAX_DIGITS = 10_000;

const WHOLE_NUMBER = new RegExp(`^-?\\d{1,${MAX_DIGITS}}$`);

const LARGEST = 10n ** BigInt(MAX_DIGITS);

/** Undefined if it has too many digits. */
export function bigintForm(value: bigint): string | undefined {
  // Compared without writing it first: writing millions of digits takes as long as parsing them.
  return value < LARGEST && value > -LARGEST ? String(value) : undefined;
}

/** A text as UTF-16, lowest byte first, which can represent lone surrogates. */
export function utf16(text: string): string {
  return Buffer.from(text, 'utf16le').toString('base64');
}

const NUMBERS: ReadonlyMap<unknown, number> = new Map([
  ['NaN', NaN],
  ['Infinity', Infinity],
  ['-Infinity', -Infinity],
  ['-0', -0],
]);

/** A type of primitive values, which the encoder handles itself. */
function primitive(read: BuiltIn['read']): BuiltIn {
  return { is: () => false, write: (value) => value, read };
}

function builtIn(
  is: (value: object) => boolean,
  write: (value: never) => unknown,
  read: BuiltIn['read'],
  more: Partial<BuiltIn> = {},
): BuiltIn {
  return { is, write: write as BuiltIn['write'], read, ...more };
}

/** @param make builds the value from its bytes, lowest byte first; throws a RangeError if bytes are left over */
function typedArray(make: (bytes: Buffer) => ArrayBufferView): BuiltIn {
  return builtIn((value) => ArrayBuffer.isView(value), base64, ofBytes(make), { hasProperties: true });
}

interface TypedArrayConstructor {
  readonly name: string;
  new (buffer: ArrayBuffer): ArrayBufferView;
}

const TYPED_ARRAYS = [
  Int8Array,
  Uint8Array,
  Uint8ClampedArray,
  Int16Array,
  Uint16Array,
  Int32Array,
  Uint32Array,
  Float32Array,
  Float64Array,
  BigInt64Array,
  BigUint64Array,
] as unknown as readonly TypedArrayConstructor[];

type ErrorConstructor = new (message?: string) => Error;

/** A subclass comes back as the nearest of these, with its name: nothing else is constructed from a payload. */
export const ERRORS: ReadonlyMap<string, ErrorConstructor> = new Map<string, ErrorConstructor>([
  ...[Error, EvalError, RangeError, ReferenceError, SyntaxError, TypeError, URIError].map(
    (Native): [string, ErrorConstructor] => [Native.name, Native],
  ),
  ['AggregateError', AggregateError.bind(undefined, []) as unknown as ErrorConstructor],
]);

/**
 * By constructor name, so that values of another realm and of a faked `Date` are recognised; errors by the nearest native
 * class.
 */
export const BUILT_INS: ReadonlyMap<string, BuiltIn> = new Map<string, BuiltIn>([
  ['bigint', primitive((form) => (typeof form === 'string' && WHOLE_NUMBER.test(form) ? BigInt(form) : undefined))],
  ['number', primitive((form) => NUMBERS.get(form))],
  ['string', primitive(ofBytes((bytes) => bytes.toString('utf16le')))],
  ['Date', builtIn(types.isDate, (date: Date) => (Number.isNaN(date.getTime()) ? null : date.toISOString()), dateOf)],
  [
    'Map',
    builtIn(types.isMap, (map: ReadonlyMap<unknown, unknown>) => [...map], mapOf, {
      excess: (form, limits) => limits.ofKeys(listOf(form) ?? [], (entry) => Array.isArray(entry) && entry[0]),
      remedy: 'Make them strings.',
    }),
  ],
  [
    'Set',
    builtIn(types.isSet, (set: ReadonlySet<unknown>) => [...set], setOf, {
      excess: (form, limits) => limits.ofKeys(listOf(form) ?? []),
      remedy: 'Make them strings.',
    }),
  ],
  [
    'RegExp',
    builtIn(types.isRegExp, regExpForm, regExpOf, {
      excess: (form, limits) => (isPattern(form) ? limits.ofPattern(form.source, form.flags) : undefined),
      remedy: 'Make it in handle().',
    }),
  ],
  [
    'URL',
    builtIn(
      (value) => value instanceof URL,
      (url: URL) => url.href,
      (form) => (typeof form === 'string' ? new URL(form) : undefined),
      {
        excess: (form, limits) => (typeof form === 'string' ? limits.ofUrl(form) : undefined),
        remedy: 'Write it as a string.',
      },
    ),
  ],
  [
    'ArrayBuffer',
    builtIn(types.isArrayBuffer, (buffer: ArrayBuffer) => base64(new Uint8Array(buffer)), ofBytes(bufferOf)),
  ],
  ['Buffer', typedArray((bytes) => bytes)],
  ...TYPED_ARRAYS.map((Typed): [string, BuiltIn] => [Typed.name, typedArray((bytes) => new Typed(bufferOf(bytes)))]),
  ...[...ERRORS.keys()].map((type): [string, BuiltIn] => [
    type,
    builtIn(isError, errorForm, (form) => (isRecord(form) ? errorOf(type, form) : undefined), { hasProperties: true }),
  ]),
]);

/** The name of a value's type. Undefined if there is none for it. */
export function typeOf(value: object): string | undefined {
  const name = value.constructor?.name ?? '';
  if (BUILT_INS.get(name)?.is(value) === true) return name;
  return isError(value) ? nativeNameOf(value) : undefined;
}

function base64({ buffer, byteOffset, byteLength }: ArrayBufferView): string {
  return Buffer.from(buffer, byteOffset, byteLength).toString('base64');
}

function ofBytes(make: (bytes: Buffer) => unknown): BuiltIn['read'] {
  return (form) => {
    if (typeof form !== 'string') return undefined;
    const bytes = Buffer.from(form, 'base64');
    // Invalid characters are skipped without an error, but the length shows them.
    return bytes.length === Buffer.byteLength(form, 'base64') ? make(bytes) : undefined;
  };
}

/** A copy that begins at 0, as typed arrays of wide elements need it. */
function bufferOf(bytes: Uint8Array): ArrayBuffer {
  return new Uint8Array(bytes).buffer;
}

function dateOf(form: unknown): Date | undefined {
  if (form === null) return new Date(NaN);
  const date = new Date(typeof form === 'string' ? form : NaN);
  return Number.isNaN(date.getTime()) ? undefined : date;
}

// PHP and cjson write an empty list as {}.
function listOf(form: unknown): readonly unknown[] | undefined {
  if (Array.isArray(form)) return form;
  return isRecord(form) && Object.keys(form).length === 0 ? [] : undefined;
}

function mapOf(form: unknown): Map<unknown, unknown> | undefined {
  const entries = listOf(form);
  const isMap = entries?.every((entry) => Array.isArray(entry) && entry.length === 2) === true;
  return isMap ? new Map(entries as [unknown, unknown][]) : undefined;
}

function setOf(form: unknown): Set<unknown> | undefined {
  const members = listOf(form);
  return members && new Set(members);
}

function regExpForm({ source, flags, lastIndex }: RegExp): object {
  return lastIndex === 0 ? { source, flags } : { source, flags, lastIndex };
}

function isPattern(form: unknown): form is { source: string; flags: string; lastIndex?: unknown } {
  return isRecord(form) && typeof form['source'] === 'string' && typeof form['flags'] === 'string';
}

function regExpOf(form: unknown): RegExp | undefined {
  if (!isPattern(form)) return undefined;
  const { source, flags, lastIndex = 0 } = form;
  return Number.isSafeInteger(lastIndex) ? Object.assign(new RegExp(source, flags), { lastIndex }) : undefined;
}

const HIDDEN = ['name', 'message', 'stack', 'cause'];

/** Whether the property is not enumerable on such an error. All others are ordinary properties. */
function isHidden(type: string, key: string): boolean {
  return HIDDEN.includes(key) || (type === 'AggregateError' && key === 'errors');
}

/** The form of errors: name, message, stack, cause and all other properties. */
export function errorForm(error: Error): object {
  const type = nativeNameOf(error);
  // Programs may have assigned anything to these; the form has strings.
  const { name, message, stack } = error as { name: unknown; message: unknown; stack?: unknown };
  const form: [string, unknown][] = [];
  // A subclass that set no name would otherwise lose its own.
  const shown = name === type ? errorName(error) : name;
  if (shown !== type) form.push(['name', String(shown)]);
  if (message !== '' || Object.hasOwn(error, 'message')) form.push(['message', String(message)]);
  if (typeof stack === 'string') form.push(['stack', stack]);
  if (Object.hasOwn(error, 'cause')) form.push(['cause', error.cause]);
  if (type === 'AggregateError') form.push(['errors', (error as AggregateError).errors]);
  for (const key of Object.keys(error)) {
    if (!isHidden(type, key)) form.push([key, (error as unknown as Record<string, unknown>)[key]]);
  }
  if (error instanceof OnqueueError) form.push(['facts', error.facts]);
  return Object.fromEntries(form);
}

/** Undefined if the form is not that of an error. */
export function errorOf(type: string, form: Readonly<Record<string, unknown>>): Error | undefined {
  const Native = ERRORS.get(type);
  if (Native === undefined || !['name', 'message', 'stack'].every((key) => isTextOrAbsent(form[key]))) return undefined;
  if (type === 'AggregateError' && !Array.isArray(form['errors'])) return undefined;
  const error = withoutStack(() => new Native(form['message'] as string | undefined));
  // A stack from here would not tell where the error came from.
  hide(error, 'stack', `${(form['name'] as string | undefined) ?? type}: ${error.message}`);
  for (const [key, value] of Object.entries(form)) {
    if (isHidden(type, key)) hide(error, key, value);
    else Object.defineProperty(error, key, { value, writable: true, enumerable: true, configurable: true });
  }
  return error;
}

// Recording a stack takes longer than everything else, and there may be very many errors.
function withoutStack(make: () => Error): Error {
  const { stackTraceLimit } = Error;
  Error.stackTraceLimit = 0;
  try {
    return make();
  } finally {
    Error.stackTraceLimit = stackTraceLimit;
  }
}

/** The nearest class that an error can come back as. */
export function nativeNameOf(error: Error): string {
  for (
    let prototype: object | null = Object.getPrototypeOf(error);
    prototype;
    prototype = Object.getPrototypeOf(prototype)
  ) {
    const { name } = prototype.constructor;
    if (ERRORS.has(name)) return name;
  }
  return 'Error';
}

function isTextOrAbsent(value: unknown): boolean {
  return value === undefined || typeof value === 'string';
}
