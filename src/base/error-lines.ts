/** An error in a log line: its shape, which is that of pino's `err`, and how a terminal shows it. */

export interface ErrorRecord {
  /** Its class. */
  readonly type: string;
  readonly message: string;
  readonly code?: string;
  readonly stack: string;
  readonly cause?: ErrorRecord;
  /** Of an error that stands for several. */
  readonly aggregateErrors?: readonly ErrorRecord[];
}

/** As it is read on a terminal: each line behind `indent`; empty where the message says all that is known. */
export function errorLines({ stack, type, message, cause, aggregateErrors = [] }: ErrorRecord, indent: string): string {
  const more = [...aggregateErrors.map((one) => told('One of: ', one)), ...(cause ? [told('Caused by: ', cause)] : [])];
  if (more.length === 0 && (stack === `${type}: ${message}` || stack === '')) return '';
  return [stack, ...more].join('\n').replace(/^/gm, indent);
}

function told(before: string, { stack, cause }: ErrorRecord): string {
  return `${before}${stack}${cause === undefined ? '' : `\n${told('Caused by: ', cause)}`}`;
}
