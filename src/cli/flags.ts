/** The flags of commands: how each is written, what it means, and how its value is read. */
import { type Backoff, resolveBackoff } from '../job/backoff';
import type { Duration } from '../job/duration';
import { backoff, count as countKind, type Kind, placeOf, seconds } from '../job/option-kinds';
import type { WorkerFlag } from '../worker/worker-options';
import { invalidOption } from './errors';

export interface Flag<Value> {
  /** The placeholder of its value, such as `<count>`. Absent if it takes none. */
  readonly value?: string | undefined;
  readonly help: string;
  /** Its short form. */
  readonly letter?: string;
  readonly isHidden?: true;
  /** Written as `--no-…`. */
  readonly isNegative?: true | undefined;
  readonly conflicts?: string;
  /** The values that it accepts. */
  readonly words?: readonly string[];
  /** The value of the flag alone. */
  readonly preset?: string;
  /** The flag that replaced it. */
  readonly newName?: string;
  /** A bare number of 1000 or more was probably meant as milliseconds. */
  readonly isShort?: boolean | undefined;
  /** It may be given several times. */
  readonly repeats?: true;
  /** @param before the value of an earlier occurrence on the same line, if it `repeats` */
  read?(text: string, flag: string, before: Value | undefined): Value;
}

/** By their names in code: `maxJobs` is `--max-jobs`. */
export type Flags = Readonly<Record<string, Flag<unknown>>>;

/** The values that a command line gives for a table of flags. */
export type Given<Table> = {
  readonly [Name in keyof Table]?: (Table[Name] extends Flag<infer Value> ? Value : never) | undefined;
};

type More = Omit<Flag<unknown>, 'value' | 'help' | 'read'>;

/** A flag without a value. */
export function on(help: string, more: More = {}): Flag<boolean> {
  return { ...more, help };
}

export function text(value: string, help: string, more: More = {}): Flag<string> {
  return { ...more, value, help, read: (given) => given };
}

/** A flag whose value is one of these words. */
export function word<Word extends string>(
  value: string,
  words: readonly Word[],
  help: string,
  more: More = {},
): Flag<Word> {
  const read = (given: string, flag: string): Word => {
    const found = words.find((each) => each === given);
    if (found === undefined) throw invalidOption(flag, given, `Give ${words.join(' or ')}.`);
    return found;
  };
  return { ...more, value, help, words, read };
}

/** Several names in one value, separated by commas, or the flag repeated. */
export function names(help: string): Flag<string> {
  return {
    value: '<names>',
    help,
    repeats: true,
    read(given, flag, before) {
      namesIn(given, flag);
      return before === undefined ? given : `${before},${given}`;
    },
  };
}

/** The names in `high,default`. @param place where they are, for the error */
export function namesIn(given: string, place: string): string[] {
  const all = given.split(',').map((name) => name.trim());
  // From a variable of a shell that is not set. Without this name, the command would perhaps choose queues by itself.
  if (all.includes('')) throw invalidOption(place, given, 'One of its names is empty.');
  return all;
}

/** The flag may be repeated. */
export function list(value: string, help: string): Flag<readonly string[]> {
  return { value, help, repeats: true, read: (given, _flag, before = []) => [...before, given] };
}

export function count(value: string, help: string, least = 0, more: More = {}): Flag<number> {
  return { ...more, ...ofKind<number>(countKind(least), { value, help }) };
}

export function time(help: string, more: More = {}): Flag<Duration> {
  return { ...more, ...ofKind<Duration>(seconds, { value: '<time>', help }) };
}

export function port(help: string): Flag<number> {
  const kind: Kind<number> = (value, place) => {
    if (Number.isInteger(value) && (value as number) <= 65_535) return value as number;
    throw place.refuse(value, 'give a port: 1 to 65535, or 0 for any free one');
  };
  return ofKind<number>(kind, { value: '<port>', help });
}

/** Checks the value like an option of a program, and returns it as it was written. */
export function ofKind<Value>(kind: Kind<unknown>, { value, help }: WorkerFlag): Flag<Value> {
  if (value === undefined) return { help };
  const read = (given: string, flag: string): Value => {
    const place = placeOf(flag, (subject, _value, remedy) => invalidOption(subject, given, remedy));
    if (kind === backoff) return backoffOf(given, flag) as Value;
    const written = bare(given);
    kind(written, place);
    return written as Value;
  };
  return { value, help, read };
}

// A bare number means seconds, as in Laravel.
function bare(given: string): string | number {
  return /^\d+(\.\d+)?$/.test(given) ? Number(given) : given;
}

/** Durations separated by commas, or `1s..10m`: doubling from the first to the second. */
function backoffOf(given: string, flag: string): Backoff {
  const [first = '', max, ...more] = given.split('..').map((part) => bare(part.trim()));
  if (max === undefined || more.length > 0) {
    const delays = given.split(',').map((part) => bare(part.trim()));
    resolveBackoff(delays, flag);
    return delays as Duration[];
  }
  return resolveBackoff({ exponential: first, max }, flag).delays.map((delay): Duration => `${delay}s`);
}

/**
 * Reads a value, and refuses one that would have no effect.
 *
 * @param before the value of an earlier occurrence
 */
export function valueOf(flag: Flag<unknown>, written: string, text: string, before: unknown): unknown {
  const value = flag.read?.(text, written, before);
  if (text.trim() === '') throw invalidOption(written, text, 'Give a value, or leave the flag out.');
  if (before !== undefined && flag.repeats !== true)
    throw invalidOption(written, text, 'The flag is there twice, and only one value can count.');
  return value;
}

/** `maxJobs` → `--max-jobs` */
export function flagName(name: string): string {
  return `--${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
}

/** The command line that gives the same flags again. */
export function commandLineOf(given: object): string[] {
  return Object.entries(given).flatMap(([name, value]: [string, unknown]) => {
    if (value === undefined) return [];
    if (value === false) return [flagName(`no-${name}`)];
    if (value === true) return [flagName(name)];
    if (name === 'require' && Array.isArray(value)) return value.map((each) => `${flagName(name)}=${String(each)}`);
    return [`${flagName(name)}=${[value].flat().map(String).join(',')}`];
  });
}

/** Quotes a word for a shell: patterns must reach the command unexpanded. */
export function quoted(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", String.raw`'\''`)}'`;
}

/** For commands that use the default connection, or all connections, if none is named. */
export const CONNECTION = text('<name>', 'the connection to use instead of the default one');

/** How many jobs or batches a command lists by default. */
export const LISTED = 100;

export const LIMIT = count('<count>', `how many to list at most (default: ${LISTED})`, 1);

/** For commands that ask for confirmation in production; see `Session.confirm`. */
export const FORCE = on('do not ask for confirmation in production');

/** Every command that opens a project takes these: where its configuration and jobs are. */
export const PROJECT_FLAGS = {
  config: text('<file>', "configuration file to use instead of the project's onqueue.config.*"),
  require: list('<files>', 'also load this file, or all files that match a pattern (*, **, ?); may be repeated'),
  json: on('print one JSON document'),
};

export type ProjectFlags = Given<typeof PROJECT_FLAGS>;
