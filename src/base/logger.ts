export type LogLevel = 'debug' | 'info' | 'warn' | 'error';

/** A logger in pino's shape. */
export interface Logger {
  debug(facts: object, message: string): void;
  info(facts: object, message: string): void;
  warn(facts: object, message: string): void;
  error(facts: object, message: string): void;
  /** Whether lines of a level are wanted, as pino's says it: those that are not are not even made. Absent: all are. */
  isLevelEnabled?(level: LogLevel): boolean;
}

/** Whether to make a line at all. */
export function wants(logger: Logger, level: LogLevel): boolean {
  return logger.isLevelEnabled?.(level) ?? true;
}
