/**
 * What logs, histories and the failed store say of an error: its text with stack and causes, and its record for a log line, in the
 * shape of pino's `err`. Both are bounded, and contain no passwords.
 */
import { classOf, isMinified } from './class';
import { isError } from './foreign-error';
import { manyLines, oneLine, sentence } from './text';
import { redact } from './redact';
import { dirname, sep } from 'node:path';
import { pathToFileURL } from 'node:url';

/** The failed store is not a log: a longer text says little more, and would fill it. */
const LONGEST_TEXT = 16 * 1024;
const LONGEST_MESSAGE = 1000;
export const MOST_CAUSES = 5;

const UNREADABLE = 'an unreadable error: looking at it throws another one';

/** Never throws, like the functions below, whatever it is given. */
export function toError(thrown: unknown): Error {
  return readable(() => errorOf(thrown), undefined) ?? new Error(UNREADABLE);
}

/** The error's message in one line, for logs: bounded, without passwords, and never empty. */
export function errorMessage(thrown: unknown): string {
  return readable(() => messageOf(toError(thrown)), UNREADABLE);
}

/** The error's message with that of its cause: if a run was aborted, the error that its handler threw is the cause. */
export function wholeMessage(error: Error): string {
  const cause = causeOf(error);
  return cause === undefined ? errorMessage(error) : `${sentence(errorMessage(error))} Cause: ${errorMessage(cause)}`;
}

/**
 * What the error is called in logs, failed jobs and histories: the name of its class, as in pino, because most classes set no
 * `name` and inherit `Error`. A class of JavaScript itself, or one that a minifier named, says less than `name`.
 */
export function errorName(error: Error): string {
  return readable(() => nameOf(error), 'Error');
}

/** The error's cause. Undefined if none is known. */
export function causeOf(error: Error): Error | undefined {
  return readable(() => (isError(error.cause) ? error.cause : undefined), undefined);
}

/** The errors that this one stands for. */
export function partsOf(error: Error): readonly Error[] {
  return readable(
    () => (error instanceof AggregateError ? error.errors.filter(isError).slice(0, MOST_CAUSES) : []),
    [],
  );
}

/** Whether `other` is among the causes of an error. */
export function leadsTo(error: Error, other: Error): boolean {
  return readable(() => causesOf(error).includes(other), false);
}

/** The code that Node.js or a driver gave the error. */
export function codeText(error: Error): string | undefined {
  return readable(() => codeOf(error), undefined);
}

/** The stack of this error alone, preceded by its message. */
export function stackText(error: Error): string {
  return readable(() => bounded(stackOf(error)), UNREADABLE);
}

export function exceptionText(error: Error): string {
  return readable(() => wholeText(error), UNREADABLE);
}

// Anything may be thrown, such as a proxy or an object with throwing accessors. That must not block an outcome.
function readable<T>(read: () => T, otherwise: T): T {
  try {
    return read();
  } catch {
    return otherwise;
  }
}

function errorOf(thrown: unknown): Error {
  if (thrown instanceof Error) return thrown;
  // Errors of another realm (a vm, a test runner's sandbox) are not instances of ours, but have all that we read.
  if (typeof thrown === 'object' && thrown !== null && 'message' in thrown && 'stack' in thrown) return thrown as Error;
  return new Error(`a value that is not an error was thrown: ${describe(thrown)}`, { cause: thrown });
}

const LONGEST_NAME = 255;

const OF_JAVASCRIPT: ReadonlySet<string> = new Set(
  'Error,EvalError,RangeError,ReferenceError,SyntaxError,TypeError,URIError,AggregateError,DOMException'.split(','),
);

function nameOf(error: Error): string {
  // By name: those of another realm are other classes.
  const ofClass: unknown = classOf(error)?.name;
  const isTelling =
    typeof ofClass === 'string' && ofClass !== '' && !isMinified(ofClass) && !OF_JAVASCRIPT.has(ofClass);
  const name: unknown = isTelling ? ofClass : error.name;
  return (typeof name === 'string' && oneLine(name.slice(0, LONGEST_NAME))) || 'Error';
}

function messageOf(error: Error): string {
  const { message } = error;
  const said = typeof message === 'string' && message !== '' ? message : codeOf(error);
  // Cut before masking: masking looks at every character, and a message may be as long as a response body.
  const text = oneLine(redact((said ?? errorName(error)).slice(0, LONGEST_MESSAGE)));
  return said !== undefined && said.length > LONGEST_MESSAGE ? `${text}…` : text;
}

function wholeText(error: Error): string {
  const parts = [stackOf(error)];
  if (error instanceof AggregateError)
    parts.push(...error.errors.slice(0, MOST_CAUSES).map((one) => `One of: ${told(one)}`));
  parts.push(...causesOf(error).map((cause) => `Caused by: ${told(cause)}`));
  return bounded(parts.join('\n'));
}

// Each once, even if they form a circle.
function causesOf(error: Error): readonly unknown[] {
  const causes: unknown[] = [];
  let { cause } = error;
  while (cause !== undefined && cause !== null && cause !== error && !causes.includes(cause)) {
    if (causes.length === MOST_CAUSES) break;
    causes.push(cause);
    // An error of Node.js is no instance of our Error in another realm.
    cause = typeof cause === 'object' && 'cause' in cause ? cause.cause : undefined;
  }
  return causes;
}

function bounded(whole: string): string {
  const text = manyLines(redact(whole.slice(0, LONGEST_TEXT)));
  return whole.length > LONGEST_TEXT ? `${text}\n… (cut)` : text;
}

function told(value: unknown): string {
  return isError(value) ? stackOf(value) : describe(value);
}

// Node.js leaves the message of a refused connection empty, and gives only a code.
function codeOf(error: Error): string | undefined {
  return 'code' in error && typeof error.code === 'string' ? error.code : undefined;
}

// What clients that throw plain objects say in them; otherwise only the kind: other fields may be the job's data, which must not
// end up in a failure's text.
function describe(value: unknown): string {
  if (typeof value !== 'object' || value === null) return String(value);
  const { code, message } = value as { readonly code?: unknown; readonly message?: unknown };
  if (typeof message !== 'string' || message === '') return Object.prototype.toString.call(value);
  return typeof code === 'string' || typeof code === 'number' ? `${code}: ${message}` : message;
}

function stackOf(error: Error): string {
  // A thrown value may have any message.
  const { message: own }: { readonly message: unknown } = error;
  const message = String(own).slice(0, LONGEST_TEXT);
  const name = errorName(error);
  const stack = typeof error.stack === 'string' ? error.stack.slice(0, 2 * LONGEST_TEXT) : '';
  // A stack that was captured before the message was set does not contain it.
  const isWhole = stack.includes(message) && stack !== '';
  const whole = isWhole ? headed(stack, name, error) : `${name}: ${message}\n${stack}`.trimEnd();
  // Most of our own errors have no class of their own: their code says what they are.
  return whole.replace(/^OnqueueError(?=: )/, `OnqueueError [${codeOf(error) ?? ''}]`);
}

// V8 begins a stack with the name that the error had when it was made: as a rule, one that it inherits.
function headed(stack: string, name: string, error: Error): string {
  const [first = ''] = /^[\w$.]+(?=:|\n|$| \[)/.exec(stack) ?? [];
  const isItsName = first === error.name || OF_JAVASCRIPT.has(first);
  return first !== '' && isItsName ? name + stack.slice(first.length) : stack;
}

export interface ErrorRecord {
  /** The name of its class. */
  readonly type: string;
  readonly message: string;
  readonly code?: string;
  readonly stack: string;
  readonly cause?: ErrorRecord;
  /** The parts of an error that stands for several. */
  readonly aggregateErrors?: readonly ErrorRecord[];
}

/** The folder with all of Onqueue's code. */
const OURS = dirname(__dirname) + sep;
const OUR_FRAMES = [
  `(${OURS}`,
  `at ${OURS}`,
  pathToFileURL(OURS).href,
  '(node:internal',
  'at node:internal',
  '(node:async_hooks',
];

/** Never throws. `above`: the errors whose causes or parts lead to this one. */
export function errorRecord(error: Error, above: readonly Error[] = []): ErrorRecord {
  const path = [...above, error];
  const isDeepest = path.length > MOST_CAUSES;
  const cause = isDeepest ? undefined : causeOf(error);
  const code = codeText(error);
  const parts = isDeepest ? [] : partsOf(error);
  return {
    type: errorName(error),
    message: errorMessage(error),
    ...(code !== undefined && { code }),
    stack: withoutOurs(stackText(error)),
    ...(cause !== undefined && !path.includes(cause) && { cause: errorRecord(cause, path) }),
    ...(parts.length > 0 && { aggregateErrors: parts.map((part) => errorRecord(part, path)) }),
  };
}

function withoutOurs(stack: string): string {
  const lines = stack.split('\n');
  return lines.filter((line) => !isOurFrame(line)).join('\n');
}

/** Whether a line of a stack is a frame of Onqueue or Node.js. */
export function isOurFrame(line: string): boolean {
  return OUR_FRAMES.some((frame) => line.includes(frame));
}
