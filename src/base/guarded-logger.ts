/**
 * A logger of the user's that cannot do harm: what it throws is dropped, since an outcome matters more than its line; and
 * what goes wrong is told to it without passwords.
 */
import { redacted } from './foreign-error';
import { redact } from './redact';
import { type Logger, type LogLevel, wants } from './logger';

export function guarded(logger: Logger): Logger {
  const guard =
    (level: LogLevel, isTrouble = false) =>
    (facts: object, message: string): void => {
      try {
        if (isTrouble) logger[level](redacted(facts), redact(message));
        else logger[level](facts, message);
      } catch {
        // There is nowhere left to tell it.
      }
    };
  const isLevelEnabled = (level: LogLevel): boolean => {
    try {
      return wants(logger, level);
    } catch {
      return true;
    }
  };
  // A line for each job that went well holds nothing that others wrote, and there are many of them.
  const [debug, info] = [guard('debug'), guard('info')];
  return { debug, info, warn: guard('warn', true), error: guard('error', true), isLevelEnabled };
}
