import { redacted } from './foreign-error';
import { redact } from './redact';

export type LogLevel = 'debug' | 'info' | 'warn' | 'error';

/** A logger in pino's shape. */
export interface Logger {
  debug(facts: object, message: string): void;
  info(facts: object, message: string): void;
  warn(facts: object, message: string): void;
  error(facts: object, message: string): void;
  /** Whether lines of a level are wanted, as in pino; unwanted lines are not even built. If absent, all are wanted. */
  isLevelEnabled?(level: LogLevel): boolean;
}

/** Whether to build a line at all. */
export function wants(logger: Logger, level: LogLevel): boolean {
  return logger.isLevelEnabled?.(level) ?? true;
}

/**
 * Wraps the user's logger so that it can do no harm: its errors are dropped, since an outcome is more important than its line.
 * Warnings and errors reach it without passwords.
 *
 * @param given returns the current logger: a configuration may replace it
 */
export function guarded(given: () => Logger): Logger {
  const guard =
    (level: LogLevel, isTrouble = false) =>
    (facts: object, message: string): void => {
      try {
        if (isTrouble) given()[level](redacted(facts), redact(message));
        else given()[level](facts, message);
      } catch {
        // There is nowhere left to report it.
      }
    };
  const isLevelEnabled = (level: LogLevel): boolean => {
    try {
      return wants(given(), level);
    } catch {
      return true;
    }
  };
  // Lines about jobs that went well contain no foreign text and are many, so they are not redacted.
  const [debug, info] = [guard('debug'), guard('info')];
  return { debug, info, warn: guard('warn', true), error: guard('error', true), isLevelEnabled };
}

/** A logger that adds the same facts to each line, to tell one process from another. */
export function tagged(logger: Logger, tag: object): Logger {
  if (Object.keys(tag).length === 0) return logger;
  const add =
    (level: LogLevel) =>
    (facts: object, message: string): void =>
      logger[level]({ ...facts, ...tag }, message);
  const isLevelEnabled = (level: LogLevel): boolean => wants(logger, level);
  return { debug: add('debug'), info: add('info'), warn: add('warn'), error: add('error'), isLevelEnabled };
}
