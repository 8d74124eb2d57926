import { redacted } from './foreign-error';
import { redact } from './redact';

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

/**
 * A logger of the user's that cannot do harm: what it throws is dropped, since an outcome matters more than its line; and
 * what goes wrong is told to it without passwords.
 *
 * @param given gives the present logger: a configuration may bring another one
 */
export function guarded(given: () => Logger): Logger {
  const guard =
    (level: LogLevel, isTrouble = false) =>
    (facts: object, message: string): void => {
      try {
        if (isTrouble) given()[level](redacted(facts), redact(message));
        else given()[level](facts, message);
      } catch {
        // There is nowhere left to tell it.
      }
    };
  const isLevelEnabled = (level: LogLevel): boolean => {
    try {
      return wants(given(), level);
    } catch {
      return true;
    }
  };
  // A line for each job that went well holds nothing that others wrote, and there are many of them.
  const [debug, info] = [guard('debug'), guard('info')];
  return { debug, info, warn: guard('warn', true), error: guard('error', true), isLevelEnabled };
}

/** A logger that adds the same facts to each line: those that tell one process from another. */
export function tagged(logger: Logger, tag: object): Logger {
  if (Object.keys(tag).length === 0) return logger;
  const add =
    (level: LogLevel) =>
    (facts: object, message: string): void =>
      logger[level]({ ...facts, ...tag }, message);
  const isLevelEnabled = (level: LogLevel): boolean => wants(logger, level);
  return { debug: add('debug'), info: add('info'), warn: add('warn'), error: add('error'), isLevelEnabled };
}
