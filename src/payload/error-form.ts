/** The form of errors: name, message, stack, cause and all other properties. */
import { errorName } from '../base/exception-text';
import { hide } from '../base/foreign-error';
import { OnqueueError } from '../base/onqueue-error';

type ErrorConstructor = new (message?: string) => Error;

/** A subclass comes back as the nearest of these, with its name: nothing else is constructed from a payload. */
export const ERRORS: ReadonlyMap<string, ErrorConstructor> = new Map<string, ErrorConstructor>([
  ...[Error, EvalError, RangeError, ReferenceError, SyntaxError, TypeError, URIError].map(
    (Native): [string, ErrorConstructor] => [Native.name, Native],
  ),
  ['AggregateError', AggregateError.bind(undefined, []) as unknown as ErrorConstructor],
]);

const HIDDEN = ['name', 'message', 'stack', 'cause'];

/** Whether the property is not enumerable on such an error. All others are ordinary properties. */
function isHidden(type: string, key: string): boolean {
  return HIDDEN.includes(key) || (type === 'AggregateError' && key === 'errors');
}

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
