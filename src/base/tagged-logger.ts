/** A logger that adds the same facts to each line: those that tell one process from another. */
import { type Logger, type LogLevel, wants } from './logger';

export function tagged(logger: Logger, tag: object): Logger {
  if (Object.keys(tag).length === 0) return logger;
  const add =
    (level: LogLevel) =>
    (facts: object, message: string): void =>
      logger[level]({ ...facts, ...tag }, message);
  const isLevelEnabled = (level: LogLevel): boolean => wants(logger, level);
  return { debug: add('debug'), info: add('info'), warn: add('warn'), error: add('error'), isLevelEnabled };
}
