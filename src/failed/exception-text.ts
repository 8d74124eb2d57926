/** The text of an error as the failed store keeps it: with its stack and causes, bounded, and without passwords. */
import { manyLines, oneLine } from '../errors/plain-text';
import { redact } from './redact';

/** The store is no log: what is longer says too little more, and would fill it. */
const LONGEST_TEXT = 16 * 1024;
const LONGEST_MESSAGE = 1000;
const MOST_CAUSES = 5;

export function toError(thrown: unknown): Error {
  if (thrown instanceof Error) return thrown;
  // Errors of another realm (a vm, a test runner's sandbox) are no instances of ours but have all that we read.
  if (typeof thrown === 'object' && thrown !== null && 'message' in thrown && 'stack' in thrown) return thrown as Error;
  return new Error(`a value that is no error was thrown: ${describe(thrown)}`, { cause: thrown });
}

/** One line of what an error says, for logs: bounded, without passwords, and never empty. */
export function errorMessage(error: Error): string {
  const { message, name } = error;
  const said = typeof message === 'string' && message !== '' ? message : codeOf(error);
  // Cut first: masking looks at every character, and a message may be as long as a response body.
  const text = oneLine(redact((said ?? name).slice(0, LONGEST_MESSAGE)));
  return said !== undefined && said.length > LONGEST_MESSAGE ? `${text}…` : text;
}

export function exceptionText(error: Error): string {
  const parts = [stackOf(error)];
  if (error instanceof AggregateError)
    parts.push(...error.errors.slice(0, MOST_CAUSES).map((one) => `One of: ${told(one)}`));
  let cause = error.cause;
  for (let depth = 0; cause !== undefined && cause !== null && depth < MOST_CAUSES; depth += 1) {
    parts.push(`Caused by: ${told(cause)}`);
    cause = cause instanceof Error ? cause.cause : undefined;
  }
  const whole = parts.join('\n');
  const text = manyLines(redact(whole.slice(0, LONGEST_TEXT)));
  return whole.length > LONGEST_TEXT ? `${text}\n… (cut)` : text;
}

function told(value: unknown): string {
  return value instanceof Error ? stackOf(value) : describe(value);
}

// What Node.js says of a connection that nobody took, where the message is empty.
function codeOf(error: Error): string | undefined {
  return 'code' in error && typeof error.code === 'string' ? error.code : undefined;
}

// Only the kind of an object: its fields may be the job's data, which do not belong into a failure's text.
function describe(value: unknown): string {
  return typeof value === 'object' && value !== null ? Object.prototype.toString.call(value) : String(value);
}

function stackOf(error: Error): string {
  // Whatever is thrown may have any message.
  const { message: own }: { readonly message: unknown } = error;
  const message = String(own).slice(0, LONGEST_TEXT);
  const heading = `${error.name}: ${message}`;
  const stack = typeof error.stack === 'string' ? error.stack.slice(0, 2 * LONGEST_TEXT) : '';
  // A stack that was made before the message was set (or the name changed) does not hold it.
  return stack.includes(message) && stack !== '' ? stack : `${heading}\n${stack}`.trimEnd();
}
