/**
 * Loggers: the shape of pino that users give, what makes one harmless, and the default one, which writes text for people on a
 * terminal, JSON lines elsewhere, and nothing under Jest.
 */
import { isUnderJest } from './environment';
import { redacted } from './foreign-error';
import { redact } from './redact';
import { inspect, styleText } from 'node:util';
import { systemClock } from './clock';
import { oneLine } from './text';
import type { ErrorRecord } from './exception-text';

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
 * Warnings and errors reach it without passwords. Lines about jobs that went well contain no foreign text and are many, so they are
 * not redacted.
 */
export class GuardedLogger implements Logger {
  /** A configuration may replace it. */
  target: Logger;

  constructor(target: Logger) {
    this.target = target;
  }

  debug(facts: object, message: string): void {
    this.#write('debug', facts, message);
  }

  info(facts: object, message: string): void {
    this.#write('info', facts, message);
  }

  warn(facts: object, message: string): void {
    this.#write('warn', facts, message, true);
  }

  error(facts: object, message: string): void {
    this.#write('error', facts, message, true);
  }

  isLevelEnabled(level: LogLevel): boolean {
    try {
      return wants(this.target, level);
    } catch {
      return true;
    }
  }

  #write(level: LogLevel, facts: object, message: string, isTrouble = false): void {
    try {
      if (isTrouble) this.target[level](redacted(facts), redact(message));
      else this.target[level](facts, message);
    } catch {
      // There is nowhere left to report it.
    }
  }
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

export type LogFormat = 'json' | 'text';

const RANK: Readonly<Record<LogLevel, number>> = { debug: 20, info: 30, warn: 40, error: 50 };

/** Facts that the sentence already contains, or that only programs need. */
const UNTOLD = new Set(['job', 'outcome', 'error', 'err', 'connection', 'ms', 'delay']);

const INDENT = '    ';

/** Writes nothing. */
export const silentLogger: Logger = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
  isLevelEnabled: () => false,
};

/** The default logger: text for people on a terminal, JSON lines elsewhere, nothing under Jest. */
export class ConsoleLogger implements Logger {
  readonly #lines: LogLines;
  readonly #least: number;
  readonly #format: LogFormat;

  /**
   * @param stream standard error by default, to keep the program's own output clean
   * @param level the lowest level to write
   * @param format default: `text` on a terminal, otherwise `json`
   */
  constructor(stream: LogStream = process.stderr, level: LogLevel = 'info', format = usualFormat(stream)) {
    this.#lines = new LogLines(stream);
    this.#least = RANK[level];
    this.#format = format;
  }

  isLevelEnabled(level: LogLevel): boolean {
    return RANK[level] >= this.#least;
  }

  debug(facts: object, message: string): void {
    this.#add('debug', facts, message);
    // Whoever asks for these lines wants to know what a process did last: what comes next may block it, or end it at once.
    this.flush();
  }

  info(facts: object, message: string): void {
    this.#add('info', facts, message);
  }

  warn(facts: object, message: string): void {
    this.#add('warn', facts, message);
    this.flush();
  }

  error(facts: object, message: string): void {
    this.#add('error', facts, message);
    this.flush();
  }

  /** Writes the lines that are still waiting. */
  flush(): void {
    this.#lines.write();
  }

  #add(level: LogLevel, facts: object, message: string): void {
    if (!this.isLevelEnabled(level)) return;
    const line =
      this.#format === 'json'
        ? forPrograms(level, facts, message)
        : forPeople(level, facts, message, hasColors(this.#lines));
    this.#lines.add(line);
  }
}

/** Text for people on a terminal, JSON for programs elsewhere. */
export function usualFormat({ isTTY }: LogStream): LogFormat {
  return isTTY === true ? 'text' : 'json';
}

/** Silent under Jest: a test that wants to see lines passes a logger. */
export function defaultLogger(): Logger {
  return isUnderJest() ? silentLogger : new ConsoleLogger();
}

let moment = NaN;
let momentText = '';

// Cached, because many lines may fall into one millisecond.
function timeText(): string {
  const now = systemClock.now();
  if (now !== moment) momentText = new Date(now).toISOString();
  moment = now;
  return momentText;
}

function forPrograms(level: LogLevel, facts: object, message: string): string {
  const line = `{"level":"${level}","time":"${timeText()}","msg":${JSON.stringify(message)}`;
  try {
    const more = JSON.stringify(facts);
    return more === '{}' ? `${line}}` : `${line},${more.slice(1)}`;
  } catch {
    // A cycle or a bigint among the facts: the line is more important than they are.
    return `${line}}`;
  }
}

/** On a terminal, unless the user wants none: https://no-color.org, which Node.js 20 ignores. */
export const hasColors = ({ isTTY }: LogStream): boolean => isTTY === true && (process.env['NO_COLOR'] ?? '') === '';

const COLOR = { debug: 'gray', info: 'green', warn: 'yellow', error: 'red' } as const;

/** We know the stream: Node.js would look at its standard output, and a log on a terminal beside a pipe had no colours. */
const UNASKED = { validateStream: false };

function forPeople(level: LogLevel, facts: object, message: string, isColored: boolean): string {
  const colored = (color: (typeof COLOR)[LogLevel], text: string): string =>
    isColored && text !== '' ? styleText(color, text, UNASKED) : text;
  const details = Object.entries(facts)
    .filter(([key, value]) => !UNTOLD.has(key) && value !== undefined)
    .map(
      ([key, value]) =>
        `${key}=${typeof value === 'string' ? oneLine(value) : inspect(value, { breakLength: Infinity })}`,
    );
  const took = 'ms' in facts ? ` (${String(facts.ms)} ms)` : '';
  const time = new Date(systemClock.now()).toTimeString().slice(0, 8);
  const line = [
    colored('gray', time),
    colored(COLOR[level], level.padEnd(5)),
    `${oneLine(message)}${took}`,
    colored('gray', details.join(' ')),
  ]
    .join(' ')
    .trimEnd();
  const lines = 'err' in facts && isRecord(facts.err) ? errorLines(facts.err, INDENT) : '';
  return lines === '' ? line : `${line}\n${colored('gray', lines)}`;
}

function isRecord(err: unknown): err is ErrorRecord {
  return typeof err === 'object' && err !== null && 'stack' in err && typeof err.stack === 'string';
}

/** The lines for a terminal, each after `indent`. Empty if the log message already says everything. */
function errorLines({ stack, type, message, cause, aggregateErrors = [] }: ErrorRecord, indent: string): string {
  const more = [...aggregateErrors.map((one) => told('One of: ', one)), ...(cause ? [told('Caused by: ', cause)] : [])];
  if (more.length === 0 && (stack === `${type}: ${message}` || stack === '')) return '';
  return [stack, ...more].join('\n').replace(/^/gm, indent);
}

function told(before: string, { stack, cause }: ErrorRecord): string {
  return `${before}${stack}${cause === undefined ? '' : `\n${told('Caused by: ', cause)}`}`;
}

/** The part of `process.stderr` that we need. */
export interface LogStream {
  readonly isTTY?: boolean | undefined;
  write(text: string): unknown;
}

/** Those with unwritten lines. */
const waiting = new Set<LogLines>();
let hearsExit = false;

/**
 * Lines waiting for a stream: lines of one moment are written together, because each write is a system call.
 *
 * All but those of level info are written at once, and nothing is left behind when the process ends or a signal handler begins: all is
 * written as soon as the running code has returned.
 */
export class LogLines {
  readonly #stream: LogStream;
  #text = '';

  constructor(stream: LogStream) {
    this.#stream = stream;
  }

  get isTTY(): boolean {
    return this.#stream.isTTY === true;
  }

  add(line: string): void {
    const isFirst = this.#text === '';
    this.#text += `${line}\n`;
    if (!isFirst) return;
    waiting.add(this);
    if (!hearsExit) process.on('exit', writeAll);
    hearsExit = true;
    // A promise, because fake timers replace `queueMicrotask`.
    Promise.resolve()
      .then(() => this.write())
      // Nobody can be told that the stream throws, and a rejection would end the process.
      .catch(() => undefined);
  }

  write(): void {
    const text = this.#text;
    if (text === '') return;
    this.#text = '';
    waiting.delete(this);
    this.#stream.write(text);
  }
}

function writeAll(): void {
  for (const lines of waiting) lines.write();
}
