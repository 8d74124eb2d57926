/** A logger that adds the same facts to each line: those that tell one process from another. */
import type { Logger } from './logger';

export function tagged(logger: Logger, tag: object): Logger {
  const add =
    (level: keyof Logger) =>
    (facts: object, message: string): void =>
      logger[level]({ ...facts, ...tag }, message);
  return { debug: add('debug'), info: add('info'), warn: add('warn'), error: add('error') };
}
