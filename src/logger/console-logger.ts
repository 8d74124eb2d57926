/** The logger that is used when none is given: for people on a terminal, JSON lines elsewhere, nothing under Jest. */
import { inspect, styleText } from 'node:util';
import { systemClock } from '../clock/clock';
import { oneLine } from '../errors/plain-text';
import type { Logger } from './logger';

type Level = keyof Logger;

/** What is needed of `process.stderr`. */
export interface LogStream {
  readonly isTTY?: boolean | undefined;
  write(text: string): unknown;
}

const RANK: Readonly<Record<Level, number>> = { debug: 20, info: 30, warn: 40, error: 50 };

/** Facts that stand in the sentence already, or are of use to programs only. */
const UNTOLD = new Set(['job', 'outcome', 'error', 'err', 'connection', 'ms', 'delay']);

export const silentLogger: Logger = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
};

export class ConsoleLogger implements Logger {
  readonly #stream: LogStream;
  readonly #least: number;

  /** Standard error by default, so that what a program prints itself stays clean. */
  constructor(stream: LogStream = process.stderr, level: Level = 'info') {
    this.#stream = stream;
    this.#least = RANK[level];
  }

  debug(facts: object, message: string): void {
    this.#write('debug', facts, message);
  }

  info(facts: object, message: string): void {
    this.#write('info', facts, message);
  }

  warn(facts: object, message: string): void {
    this.#write('warn', facts, message);
  }

  error(facts: object, message: string): void {
    this.#write('error', facts, message);
  }

  #write(level: Level, facts: object, message: string): void {
    if (RANK[level] < this.#least) return;
    const moment = new Date(systemClock.now());
    const line =
      this.#stream.isTTY === true
        ? forPeople(level, moment, facts, message)
        : forPrograms(level, moment, facts, message);
    this.#stream.write(`${line}\n`);
  }
}

/** Silent under Jest: a test that wants to see lines gives a logger. */
export function defaultLogger(): Logger {
  return process.env['JEST_WORKER_ID'] === undefined ? new ConsoleLogger() : silentLogger;
}

function forPrograms(level: Level, moment: Date, facts: object, message: string): string {
  const line = { level, time: moment.toISOString(), msg: message };
  try {
    return JSON.stringify({ ...line, ...facts });
  } catch {
    // A cycle or a bigint among the facts: the line matters more.
    return JSON.stringify(line);
  }
}

function forPeople(level: Level, moment: Date, facts: object, message: string): string {
  const color = { debug: 'gray', info: 'green', warn: 'yellow', error: 'red' } as const;
  const details = Object.entries(facts)
    .filter(([key, value]) => !UNTOLD.has(key) && value !== undefined)
    .map(
      ([key, value]) =>
        `${key}=${typeof value === 'string' ? oneLine(value) : inspect(value, { breakLength: Infinity })}`,
    );
  const took = 'ms' in facts ? ` (${String(facts.ms)} ms)` : '';
  const time = moment.toTimeString().slice(0, 8);
  return [
    styleText('gray', time),
    styleText(color[level], level.padEnd(5)),
    `${oneLine(message)}${took}`,
    styleText('gray', details.join(' ')),
  ]
    .join(' ')
    .trimEnd();
}
