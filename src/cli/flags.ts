/** The flags of commands: how each is written, what it means, and how its value is read. */
import { resolveBackoff, type Backoff, type Duration } from '../job/duration';
import { backoff, count as countKind, placeOf, seconds, type Kind } from '../job/option-kinds';
import { WORKER_OPTIONS, type WorkerFlag, type WorkerOption, type WorkerOptions } from '../worker/worker-options';
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
  /** What `--no-…` means, if that may be written too. Its value is false. */
  readonly negation?: string;
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

/** Shows data in the clear. */
export const reveal = (): Flag<boolean> => on('open encrypted data and mask nothing in the data; the log says so');

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

/** Reads a value, and refuses one without effect. @param before the value of an earlier occurrence */
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
  envFile: {
    ...text('<file>', "read environment variables from this file instead of the project's .env"),
    negation: 'read no file of environment variables',
  } as Flag<string | false>,
  json: on('print one JSON document'),
};

export type ProjectFlags = Given<typeof PROJECT_FLAGS>;

type FlagOption = Exclude<keyof WorkerOptions, 'connection'>;

type FlagOf<Option extends FlagOption> = Flag<Option extends 'queue' ? string : NonNullable<WorkerOptions[Option]>>;

function flagsOf<Option extends FlagOption>(options: readonly Option[]): { readonly [Name in Option]: FlagOf<Name> } {
  const flags = options.map((option) => {
    const { read, isShort, flag }: WorkerOption = WORKER_OPTIONS[option];
    const { isNegative } = flag!;
    return [option, option === 'queue' ? names(flag!.help) : { ...ofKind(read, flag!), isShort, isNegative }];
  });
  return Object.fromEntries(flags) as { readonly [Name in Option]: FlagOf<Name> };
}

/** Seconds that a process of `listen` waits for its job before it is replaced, unless its code has changed: see `fresh`. */
export const LISTEN_SLEEP = 10;

const LISTENED = ['queue', 'fair', 'tries', 'backoff', 'timeout', 'rest', 'grace'] as const;

const SHARED_FLAGS = {
  delay: { ...flagsOf(['backoff']).backoff, newName: 'backoff', isHidden: true },
  json: on('same as --log=json'),
  log: word(
    '<format>',
    ['json', 'text'],
    'format of log lines: json or text (default: text on a terminal, otherwise json)',
  ),
  verbose: on('also log the start of each job', { letter: 'v' }),
  quiet: on('log only warnings and errors, and no opening lines', { letter: 'q', conflicts: 'verbose' }),
} as const;

export const LISTEN_FLAGS = {
  ...flagsOf(LISTENED),
  sleep: time(`how long a process waits for its job before it is replaced (default: ${LISTEN_SLEEP}s)`, {
    isShort: true,
  }),
  ...SHARED_FLAGS,
};

const OPTIONS = Object.keys(WORKER_OPTIONS).filter((option): option is FlagOption => option !== 'connection');

export const WORK_FLAGS = {
  ...flagsOf(OPTIONS),
  processes: count(
    '<count>',
    'number of processes that the supervisor keeps running, each with its own --concurrency (default: 1)',
    1,
  ),
  recycle: time('replace each process after this time'),
  watch: on('replace the processes when source files of the project change; not with NODE_ENV=production'),
  supervisor: on('work in this very process, without a supervisor that restarts it when it dies', { isNegative: true }),
  healthPort: port('serve the health of the workers by HTTP: /live, /ready, /health, /metrics'),
  healthHost: text('<address>', 'address for --health-port; 0.0.0.0 means all (default: 127.0.0.1)'),
  ...SHARED_FLAGS,
  /** Set by `listen`: its first process prints the opening, and all stop before they would run outdated code. */
  fresh: word('<turn>', ['first', 'again'], '', { isHidden: true }),
  /** Set by a supervisor for its processes; counts from 1. */
  processNumber: count('<number>', '', 1, { isHidden: true }),
  /** Set by a supervisor if another process has already printed the opening. */
  opened: on('', { isHidden: true }),
  /** Set by a supervisor if another process has died and its jobs are still reserved. */
  afterCrash: on('', { isHidden: true }),
};

export type ListenFlags = Given<typeof LISTEN_FLAGS> & ProjectFlags;
export type WorkFlags = Given<typeof WORK_FLAGS> & ProjectFlags;

/** What is logged, and in which format. */
export type LogFlags = Pick<WorkFlags, 'log' | 'json' | 'verbose' | 'quiet' | 'name'>;

/** Where an orchestrator asks for the health of the workers, and their name there. */
export type HealthFlags = Pick<WorkFlags, 'healthPort' | 'healthHost' | 'name'>;

/** The flags that are options of the worker. */
export function workerOptions(connection: string | undefined, flags: WorkFlags): WorkerOptions {
  return { connection, ...Object.fromEntries(OPTIONS.map((option) => [option, flags[option]])) };
}
