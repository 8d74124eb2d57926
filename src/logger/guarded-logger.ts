/** A logger of the user's that cannot do harm: what it throws is dropped, since an outcome matters more than its line. */
import type { Logger } from './logger';

export function guarded(logger: Logger): Logger {
  const guard =
    (level: keyof Logger) =>
    (facts: object, message: string): void => {
      try {
        logger[level](facts, message);
      } catch {
        // There is nowhere left to tell it.
      }
    };
  return { debug: guard('debug'), info: guard('info'), warn: guard('warn'), error: guard('error') };
}
