/** The flags of `work` and `listen`, under Laravel's names: those of a worker's options, and those of the command itself. */
import { WORKER_OPTIONS, type WorkerOption, type WorkerOptions } from '../worker/worker-options';
import { count, type Flag, type Given, names, ofKind, on, port, text, time, word, type ProjectFlags } from './flags';

type FlagOption = Exclude<keyof WorkerOptions, 'connection'>;

type FlagOf<Option extends FlagOption> = Flag<Option extends 'queue' ? string : NonNullable<WorkerOptions[Option]>>;

function flagsOf<Option extends FlagOption>(options: readonly Option[]): { readonly [Name in Option]: FlagOf<Name> } {
  const flags = options.map((option) => {
    const { read, isShort, flag }: WorkerOption<unknown, unknown> = WORKER_OPTIONS[option];
    const { isNegative } = flag!;
    return [option, option === 'queue' ? names(flag!.help) : { ...ofKind(read, flag!), isShort, isNegative }];
  });
  return Object.fromEntries(flags) as { readonly [Name in Option]: FlagOf<Name> };
}

/** How long a process of `listen` waits for its job before a new one takes its place. It ends earlier when its code has changed: see `fresh`. */
export const LISTEN_SLEEP = 10;

const LISTENED = ['queue', 'fair', 'tries', 'backoff', 'timeout', 'rest', 'grace'] as const;

const SHARED_FLAGS = {
  delay: { ...flagsOf(['backoff']).backoff, newName: 'backoff', isHidden: true },
  json: on('the same as --log=json'),
  log: word(
    '<format>',
    ['json', 'text'],
    'how log lines are written: json or text (default: text on a terminal, otherwise json)',
  ),
  verbose: on('also log when a job starts', { letter: 'v' }),
  quiet: on('log warnings and errors alone; also leaves out the opening', { letter: 'q', conflicts: 'verbose' }),
} as const;

export const LISTEN_FLAGS = {
  ...flagsOf(LISTENED),
  sleep: time(`how long a process waits for its job before the next takes its place (default: ${LISTEN_SLEEP}s)`, {
    isShort: true,
  }),
  ...SHARED_FLAGS,
};

const OPTIONS = Object.keys(WORKER_OPTIONS).filter((option): option is FlagOption => option !== 'connection');

export const WORK_FLAGS = {
  ...flagsOf(OPTIONS),
  processes: count(
    '<count>',
    'processes that a supervisor keeps at work, each with its own --concurrency (default: 1)',
    1,
  ),
  recycle: time('replace a process that has worked for so long'),
  supervisor: on('work in this very process: when it dies, somebody else has to start it anew', { isNegative: true }),
  healthPort: port('tell by HTTP how the workers are: /live, /ready, /health, /metrics'),
  healthHost: text('<address>', 'address that --health-port is heard on; 0.0.0.0: all (default: 127.0.0.1)'),
  name: text('<name>', 'what log lines, --health-port and the list of processes call this worker'),
  ...SHARED_FLAGS,
  /** Set by `listen` for its processes: the first opens as `work` does, and all stop before they run code that has changed. */
  fresh: word('<turn>', ['first', 'again'], '', { isHidden: true }),
  /** Set by a supervisor for its processes, which count from 1. */
  processNumber: count('<number>', '', 1, { isHidden: true }),
  /** Set by a supervisor: another process has printed the opening. */
  opened: on('', { isHidden: true }),
  /** Set by a supervisor: another process has died, and what it held is still reserved. */
  afterCrash: on('', { isHidden: true }),
};

export type ListenFlags = Given<typeof LISTEN_FLAGS> & ProjectFlags;
export type WorkFlags = Given<typeof WORK_FLAGS> & ProjectFlags;

/** What is logged, and how. */
export type LogFlags = Pick<WorkFlags, 'log' | 'json' | 'verbose' | 'quiet' | 'name'>;

/** Where an orchestrator asks how the workers are, and what they are called there. */
export type HealthFlags = Pick<WorkFlags, 'healthPort' | 'healthHost' | 'name'>;

/** Which of the flags are options of the worker. */
export function workerOptions(connection: string | undefined, flags: WorkFlags): WorkerOptions {
  return { connection, ...Object.fromEntries(OPTIONS.map((option) => [option, flags[option]])) };
}
