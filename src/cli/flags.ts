/** The flags of commands: how each is written, what it means, and how its value is read from the command line. */
import { type Backoff, resolveBackoff } from '../job/backoff';
import type { Duration } from '../job/duration';
import { backoff, count as countKind, type Kind, type Place, seconds } from '../job/option-kinds';
import type { WorkerFlag } from '../worker/worker-options';
import { invalidOption } from './errors';

export interface Flag<Value> {
  /** What its value is called, such as `<count>`; absent: it takes none. */
  readonly value?: string | undefined;
  readonly help: string;
  /** A letter that stands for it. */
  readonly letter?: string;
  readonly isHidden?: true;
  /** It is written `--no-…`. */
  readonly isNegative?: true | undefined;
  readonly conflicts?: string;
  /** Its value is one of these. */
  readonly words?: readonly string[];
  /** Its value where none is given. */
  readonly preset?: string;
  /** The flag that took its place. */
  readonly newName?: string;
  /** A bare number of 1000 and more is probably meant as milliseconds. */
  readonly isShort?: boolean | undefined;
  /** @param before what the same flag gave before, on the same line */
  read?(text: string, flag: string, before: Value | undefined): Value;
}

/** By their names in code: `maxJobs` is `--max-jobs`. */
export type Flags = Readonly<Record<string, Flag<unknown>>>;

/** What a command line gives for a table of flags. */
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

/** One of these words. */
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

/** Several in one value with commas between them, or the flag repeated. */
export function names(help: string): Flag<string> {
  return {
    value: '<names>',
    help,
    read: (given, _flag, before) => (before === undefined ? given : `${before},${given}`),
  };
}

/** The flag may be repeated. */
export function list(value: string, help: string): Flag<readonly string[]> {
  return { value, help, read: (given, _flag, before = []) => [...before, given] };
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
    throw place.refuse(value, 'give a port: 1 to 65535, or 0 for any that is free');
  };
  return ofKind<number>(kind, { value: '<port>', help });
}

/** Checks the value like an option of a program, and passes it on as it was written. */
export function ofKind<Value>(kind: Kind<unknown>, { value, help }: WorkerFlag): Flag<Value> {
  if (value === undefined) return { help };
  const read = (given: string, flag: string): Value => {
    const place: Place = {
      subject: flag,
      refuse: (_value, remedy) => invalidOption(flag, given, `${remedy.charAt(0).toUpperCase()}${remedy.slice(1)}.`),
    };
    if (kind === backoff) return backoffOf(given, flag) as Value;
    const written = bare(given);
    kind(written, place);
    return written as Value;
  };
  return { value, help, read };
}

// A bare number is seconds, as in Laravel.
function bare(given: string): string | number {
  return /^\d+(\.\d+)?$/.test(given) ? Number(given) : given;
}

/** Durations with commas between them, or `1s..10m`: doubled from the one up to the other. */
function backoffOf(given: string, flag: string): Backoff {
  const [first = '', max, ...more] = given.split('..').map((part) => bare(part.trim()));
  if (max === undefined || more.length > 0) {
    const delays = given.split(',').map((part) => bare(part.trim()));
    resolveBackoff(delays, flag);
    return delays as Duration[];
  }
  return resolveBackoff({ exponential: first, max }, flag).delays.map((delay): Duration => `${delay}s`);
}

/** `maxJobs` → `--max-jobs` */
export function flagName(name: string): string {
  return `--${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
}

/** The command line that gives these flags again. */
export function commandLineOf(given: object): string[] {
  return Object.entries(given).flatMap(([name, value]: [string, unknown]) => {
    if (value === undefined) return [];
    if (value === false) return [flagName(`no-${name}`)];
    if (value === true) return [flagName(name)];
    if (name === 'require' && Array.isArray(value)) return value.map((each) => `${flagName(name)}=${String(each)}`);
    return [`${flagName(name)}=${[value].flat().map(String).join(',')}`];
  });
}

/** As a shell reads it: patterns are to reach the command, and not the shell. */
export function quoted(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", String.raw`'\''`)}'`;
}

/** For commands that go to the default connection, or to all, where none is named. */
export const CONNECTION = text('<name>', 'connection to use in place of the default one');

/** For commands that ask in production; see `Session.confirm`. */
export const FORCE = on('do not ask, also in production');

/** Every command that opens a project takes these: they say where its configuration and jobs are. */
export const PROJECT_FLAGS = {
  config: text('<file>', 'configuration to use in place of the onqueue.config.* of the project'),
  require: list('<files>', 'load this file too, or all that match a pattern (*, **, ?); may be repeated'),
  json: on('print one JSON document'),
};

export type ProjectFlags = Given<typeof PROJECT_FLAGS>;
