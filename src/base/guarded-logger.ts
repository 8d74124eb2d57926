/**
 * A logger of the user's that cannot do harm: what it throws is dropped, since an outcome matters more than its line; and
 * what goes wrong is told to it without passwords.
 */
import { redacted } from './foreign-error';
import { redact } from './redact';
import { type Logger, type LogLevel, wants } from './logger';

/** @param given gives the present logger: a configuration may bring another one */
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
