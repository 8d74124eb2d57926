/**
 * A logger of the user's that cannot do harm: what it throws is dropped, since an outcome matters more than its line; and
 * what goes wrong is told to it without passwords.
 */
import { redacted } from '../errors/foreign-error';
import { redact } from '../errors/redact';
import type { Logger } from './logger';

export function guarded(logger: Logger): Logger {
  const guard =
    (level: keyof Logger, isTrouble = false) =>
    (facts: object, message: string): void => {
      try {
        if (isTrouble) logger[level](redacted(facts), redact(message));
        else logger[level](facts, message);
      } catch {
        // There is nowhere left to tell it.
      }
    };
  // A line for each job that went well holds nothing that others wrote, and there are many of them.
  return { debug: guard('debug'), info: guard('info'), warn: guard('warn', true), error: guard('error', true) };
}
