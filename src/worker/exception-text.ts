/** The text of an error as the failed store keeps it: with its stack and causes, bounded, and without passwords. */
import { redact } from '../failed/redact';

/** The store is no log: what is longer says too little more, and would fill it. */
const LONGEST_TEXT = 16 * 1024;
const MOST_CAUSES = 5;

export function toError(thrown: unknown): Error {
  if (thrown instanceof Error) return thrown;
  // Errors of another realm (a vm, a test runner's sandbox) are no instances of ours but have all that we read.
  if (typeof thrown === 'object' && thrown !== null && 'message' in thrown && 'stack' in thrown) return thrown as Error;
  return new Error(`a value that is no error was thrown: ${describe(thrown)}`, { cause: thrown });
}

export function exceptionText(error: Error): string {
  const parts = [stackOf(error)];
  let cause = error.cause;
  for (let depth = 0; cause !== undefined && cause !== null && depth < MOST_CAUSES; depth += 1) {
    parts.push(`Caused by: ${cause instanceof Error ? stackOf(cause) : describe(cause)}`);
    cause = cause instanceof Error ? cause.cause : undefined;
  }
  const text = redact(parts.join('\n')).toWellFormed();
  return text.length > LONGEST_TEXT ? `${text.slice(0, LONGEST_TEXT).toWellFormed()}\n… (cut)` : text;
}

// Only the kind of an object: its fields may be the job's data, which do not belong into a failure's text.
function describe(value: unknown): string {
  return typeof value === 'object' && value !== null ? Object.prototype.toString.call(value) : String(value);
}

function stackOf(error: Error): string {
  const heading = `${error.name}: ${error.message}`;
  const stack = typeof error.stack === 'string' ? error.stack : '';
  // A stack that was made before the message was set (or the name changed) does not hold it.
  return stack.includes(error.message) && stack !== '' ? stack : `${heading}\n${stack}`.trimEnd();
}
