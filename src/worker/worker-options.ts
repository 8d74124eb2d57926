/**
 * The options of a worker: what `new Worker()` takes, and one table that says how each option is checked, what its default
 * is and how `onqueue work` takes it. The command's flags and their help come from this table. At the end, what a worker
 * works with besides.
 *
 * A new option needs a line in `WorkerOptions`, a row in the table, and code that acts on it.
 */
import { isName, nearest } from '../base/text';
import { warnOfSeconds, type Backoff, type Duration } from '../job/duration';
import { MEANT_IN_WORKER } from '../job/foreign-words';
import { backoff, count, countOrNoLimit, flag, seconds, type Kind, type Place } from '../job/option-kinds';
import type { WorkerDefaults } from '../job/options';
import { invalidWorkerOption } from './errors';
import { parseQueues, type WeightedQueue } from './queues';
import type { Seconds } from '../base/clock';
import type { LogFormat } from '../base/logger';
import type { Application } from '../connections/application';
import type { Connection } from '../connections/contract';
import type { FailedStore } from '../connections/failed-store';
import type { RecordStore } from '../connections/record-store';

export interface WorkerOptions {
  /**
   * What the worker is called wherever workers are shown. Default: the environment's `ONQUEUE_WORKER_NAME`, or the name of the
   * host and a random part.
   */
  name?: string | undefined;
  /** The connection to work on. Default: the configuration's `default`. */
  connection?: string | undefined;
  /** Queues, emptied in this order: one name, names with commas between them, or a list. Default: the connection's `queue`. */
  queue?: string | readonly string[] | undefined;
  /** Draw the order of queues for each reserve by weights (`high:3,default:1`), so that none starves. Default: `false`. */
  fair?: boolean | undefined;
  /** Jobs that run at once. Default: 1. */
  concurrency?: number | undefined;
  /** Attempts of jobs that set none themselves; 0: no limit. Default: 1. */
  tries?: number | undefined;
  /** Wait before the next attempt, in seconds or as `'10s'`, for jobs that set none themselves. Default: 0. */
  backoff?: Backoff | undefined;
  /** Time for one attempt, in seconds or as `'2m'`, for jobs that set none themselves; 0: no limit. Default: 60 s. */
  timeout?: Duration | undefined;
  /** Stop after this many jobs; 0: never. Default: 0. */
  maxJobs?: number | undefined;
  /** Stop after this time, in seconds or as `'1h'`; 0: never. Default: 0. */
  maxTime?: Duration | undefined;
  /** Stop when the process uses more than this many MB of resident memory; 0: never. Default: 0. */
  memory?: number | undefined;
  /** Pause when there is no work and the store cannot wake the worker, and after a veto of `looping`: seconds, or `'500ms'`. Default: 1 s. */
  sleep?: Duration | undefined;
  /** Pause of a slot after each job, in seconds or as `'500ms'`. Default: 0. */
  rest?: Duration | undefined;
  /** Run one job at most, and wait for it at most as long as `sleep`. Default: `false`. */
  once?: boolean | undefined;
  /**
   * Stop when no job is ready and none runs here, as in Laravel: delayed jobs are left for the next worker. Default:
   * `false`.
   */
  stopWhenEmpty?: boolean | undefined;
  /**
   * Stop when nothing is left that this worker can run, now or later. It waits for delayed jobs, but not for jobs that
   * others have reserved, for paused queues, or for jobs whose names it does not know. Takes precedence over
   * `stopWhenEmpty`. Default: `false`.
   */
  drain?: boolean | undefined;
  /** Time for running jobs to finish when the worker stops, and for a job past its timeout: seconds, or `'30s'`. Default: 30 s. */
  grace?: Duration | undefined;
  /** Also send the jobs of [schedules](schedules.md) declared in this process when they are due. Default: `true`. */
  schedule?: boolean | undefined;
}

/** How `onqueue work` takes an option. */
export interface WorkerFlag {
  /** Placeholder of its value, such as `<count>`; absent: it takes no value. */
  readonly value?: string;
  readonly help: string;
  /** On by default; `--no-…` turns it off. */
  readonly isNegative?: true;
}

export interface WorkerOption {
  readonly read: Kind<unknown>;
  /** The value if the option is not given. */
  readonly default: unknown;
  /** Names that people know from other queues. */
  readonly otherNames?: readonly string[];
  /** A bare number of 1000 or more is probably meant as milliseconds. */
  readonly isShort?: true;
  readonly flag?: WorkerFlag;
}

const name: Kind<string> = (value, place) => {
  if (typeof value === 'string' && value !== '') return value;
  throw place.refuse(value, 'give a name');
};

const workerName: Kind<string> = (value, place) => {
  if (isName(value) && value.length <= LONGEST_NAME) return value;
  throw place.refuse(value, `give a name of 1 to ${LONGEST_NAME} characters, none of them a control character`);
};

/** Checked by `parseQueues`, because what is valid depends on `fair`. */
const queues: Kind<string | readonly string[]> = (value) => value as string | readonly string[];

const LONGEST_NAME = 100;
const MEGABYTE = 1024 * 1024;

/** A limit that 0 turns off, as in Laravel. */
function limit(read: Kind<number>, unit = 1): Kind<number> {
  return (value, place) => {
    const most = read(value, place) * unit;
    return most === 0 ? Infinity : most;
  };
}

type Rows = { readonly [Option in keyof Required<WorkerOptions>]: WorkerOption };

export const WORKER_OPTIONS = {
  name: {
    read: workerName,
    default: undefined,
    flag: { value: '<name>', help: 'name of this worker wherever it is shown (default: the host and a random part)' },
  },
  connection: { read: name, default: undefined },
  queue: {
    read: queues,
    default: undefined,
    flag: {
      value: '<names>',
      help: "queues to work on, in this order: high,default; '*', in quotes, is those of all registered jobs (default: the connection's)",
    },
  },
  fair: {
    read: flag,
    default: false,
    flag: { help: 'draw the order of queues for each job, by weight: --queue=high:3,default:1' },
  },
  concurrency: {
    read: count(1),
    default: 1,
    flag: { value: '<count>', help: 'jobs at once (default: 1)' },
  },
  tries: {
    read: countOrNoLimit,
    default: undefined,
    otherNames: ['attempts', 'maxTries'],
    flag: { value: '<count>', help: 'attempts of jobs that set none themselves; 0: no limit (default: 1)' },
  },
  backoff: {
    read: backoff,
    default: undefined,
    otherNames: ['delay'],
    isShort: true,
    flag: {
      value: '<times>',
      help: 'wait before the next attempt: 10s; a list whose last wait repeats: 10s,1m,5m; or doubled each time: 1s..10m (default: 0)',
    },
  },
  timeout: {
    read: seconds,
    default: undefined,
    isShort: true,
    flag: {
      value: '<time>',
      help: 'time for one attempt of jobs that set none themselves; 0: no limit (default: 60s)',
    },
  },
  maxJobs: {
    read: limit(countOrNoLimit),
    default: Infinity,
    otherNames: ['limit'],
    flag: { value: '<count>', help: 'stop after this many jobs; each process counts its own' },
  },
  maxTime: {
    read: limit(seconds),
    default: Infinity,
    flag: { value: '<time>', help: 'stop after this time' },
  },
  /** In bytes. */
  memory: {
    read: limit(countOrNoLimit, MEGABYTE),
    default: Infinity,
    flag: { value: '<MB>', help: 'replace a process that uses more than this many megabytes after a job' },
  },
  sleep: {
    read: seconds,
    default: 1,
    isShort: true,
    flag: { value: '<time>', help: 'pause when there is no work and the store cannot wake the worker (default: 1s)' },
  },
  rest: {
    read: seconds,
    default: 0,
    isShort: true,
    flag: { value: '<time>', help: 'pause after each job (default: 0)' },
  },
  once: {
    read: flag,
    default: false,
    flag: { help: 'run one job at most; wait for it as long as --sleep says' },
  },
  stopWhenEmpty: {
    read: flag,
    default: false,
    flag: { help: 'stop when nothing is ready and nothing runs here; delayed jobs are left for later' },
  },
  drain: {
    read: flag,
    default: false,
    flag: { help: 'stop when nothing is left; waits for delayed jobs' },
  },
  grace: {
    read: seconds,
    default: 30,
    isShort: true,
    flag: { value: '<time>', help: 'time for running jobs to finish when the worker stops (default: 30s)' },
  },
  schedule: {
    read: flag,
    default: true,
    otherNames: ['scheduler', 'schedules'],
    flag: { help: 'do not send the jobs of schedules; leave that to other workers', isNegative: true },
  },
} as const satisfies Rows;

type Table = typeof WORKER_OPTIONS;

type Read = { readonly [Option in keyof Table]: ReturnType<Table[Option]['read']> | Table[Option]['default'] };

export type ResolvedWorkerOptions = Omit<Read, 'queue' | keyof WorkerDefaults> & {
  readonly queues: readonly WeightedQueue[] | undefined;
  readonly defaults: WorkerDefaults;
};

const ROWS: Rows = WORKER_OPTIONS;
const OPTIONS = Object.keys(ROWS) as (keyof WorkerOptions)[];

/** @throws E_INVALID_WORKER_OPTION, E_INVALID_DURATION, E_INVALID_QUEUE_NAME */
export function resolveWorkerOptions(options: WorkerOptions): ResolvedWorkerOptions {
  checkNames(options);
  const values = OPTIONS.map((option) => [option, readOption(option, options[option])]);
  const { queue, tries, backoff, timeout, ...others } = Object.fromEntries(values) as Read;
  const { once, drain, fair } = others;
  return {
    ...others,
    queues: queue === undefined ? undefined : parseQueues(queue, fair),
    defaults: { tries, backoff, timeout },
    maxJobs: once ? 1 : others.maxJobs,
    stopWhenEmpty: others.stopWhenEmpty || drain,
  };
}

function readOption(option: keyof WorkerOptions, value: unknown): unknown {
  const row = ROWS[option];
  if (value === undefined) return row.default;
  const place: Place = {
    subject: `${option} of a worker`,
    refuse: (given, remedy) => invalidWorkerOption(option, given, remedy),
  };
  const read = row.read(value, place);
  if (row.isShort === true) warnOfSeconds(value, place.subject);
  return read;
}

function checkNames(options: WorkerOptions): void {
  if (typeof options !== 'object' || options === null) {
    throw invalidWorkerOption(
      'the first argument',
      options,
      "give an object: new Worker({ queue: 'mail' }). The work belongs in the job's handle(), and `await worker.run()` starts the worker",
    );
  }
  for (const [option, value] of Object.entries(options)) {
    if (Object.hasOwn(ROWS, option)) continue;
    const said = MEANT_IN_WORKER.get(option);
    const known = OPTIONS.find((each) => ROWS[each].otherNames?.includes(option)) ?? nearest(option, OPTIONS, 1)[0];
    const remedy = said === undefined ? known && `; did you mean ${known}?` : `: ${said}`;
    throw invalidWorkerOption(option, value, `there is no such option${remedy ?? ''}`, 'set');
  }
}

/** A rejected promise that nobody waited for, or an exception that nobody caught. */
export type UncaughtKind = 'rejection' | 'exception';

/**
 * Listens for such errors. `hear` is called in the async context that an error came from. `alone`: the project has no
 * handler of its own for them. Returns the function that stops listening.
 */
export type WatchUncaught = (hear: (thrown: unknown, kind: UncaughtKind, alone: boolean) => void) => () => void;

/**
 * Powers of a worker that `onqueue work` runs, because it has its process to itself. A worker in a program has none of them.
 */
export interface WorkersProcess {
  /** Whether the process may be ended when a handler blocks its event loop. */
  readonly endsProcess?: boolean | undefined;
  /** The format of log lines on standard error. */
  readonly log?: LogFormat | undefined;
  /** It replaces a worker that died: under `drain` it waits for the jobs that the dead one held. */
  readonly afterCrash?: boolean | undefined;
  /** Called before each handler starts, because a handler may kill the process; and when the worker takes no more jobs. */
  readonly changed?: (() => void) | undefined;
  /** Listens for errors that nobody caught. */
  readonly uncaught?: WatchUncaught | undefined;
}

/** What a worker works with. */
export interface WorkerSettings {
  /** What the worker is called. */
  readonly name: string;
  readonly options: ResolvedWorkerOptions;
  readonly connection: Connection;
  readonly queues: readonly WeightedQueue[];
  readonly lease: Seconds;
  readonly application: Application;
  /** The connection's own store, or the one that takes its failed jobs. Undefined if the connection buries them. */
  readonly failedStore: FailedStore | undefined;
  /** Where records about jobs are kept. Undefined if nowhere. */
  readonly records: RecordStore | undefined;
  readonly process: WorkersProcess;
}
