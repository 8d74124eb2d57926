/** The flags of `work` and `listen`, with Laravel's names: the worker's options and those of the command itself. */
import { WORKER_OPTIONS, type WorkerOption, type WorkerOptions } from '../worker/worker-options';
import { count, type Flag, type Given, names, ofKind, on, port, text, time, word, type ProjectFlags } from './flags';

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

/**
 * How many seconds a process of `listen` waits for its job before it is replaced. It ends earlier when its code has changed: see
 * `fresh`.
 */
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
  supervisor: on('work in this very process, without a supervisor that restarts it when it dies', { isNegative: true }),
  healthPort: port('serve the health of the workers by HTTP: /live, /ready, /health, /metrics'),
  healthHost: text('<address>', 'address for --health-port; 0.0.0.0 means all (default: 127.0.0.1)'),
  ...SHARED_FLAGS,
  /**
   * Set by `listen` for its processes: the first prints the opening as `work` does, and all stop before they would run outdated
   * code.
   */
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
