/** An error in a log line: its shape, which is that of pino's `err`, and its text on a terminal. */

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

/** The lines for a terminal, each after `indent`. Empty if the log message already says everything. */
export function errorLines({ stack, type, message, cause, aggregateErrors = [] }: ErrorRecord, indent: string): string {
  const more = [...aggregateErrors.map((one) => told('One of: ', one)), ...(cause ? [told('Caused by: ', cause)] : [])];
  if (more.length === 0 && (stack === `${type}: ${message}` || stack === '')) return '';
  return [stack, ...more].join('\n').replace(/^/gm, indent);
}

function told(before: string, { stack, cause }: ErrorRecord): string {
  return `${before}${stack}${cause === undefined ? '' : `\n${told('Caused by: ', cause)}`}`;
}
