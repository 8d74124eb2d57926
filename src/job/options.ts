/**
 * The options of a job: what `@Job()` takes, and one table that says how each option is checked, who else may set it, how it
 * travels in a payload, and its default.
 *
 * A new option needs its line in `JobOptions`, its row in the table, and the code that acts on it.
 */
import type { Milliseconds, Seconds } from '../base/clock';
import { type Backoff, NO_BACKOFF } from './backoff';
import { debounce, type DebounceOptions } from './debounce';
import type { Delay, Duration } from './duration';
import type { JobFormat } from './format';
import { isName, NAME_RULE } from './job-name';
import { backoff, count, countOrNoLimit, delay, flag, kept, type Kind, moment, seconds, text } from './option-kinds';
import { checkQueueName } from './queue-name';
import { schedule, type ScheduleOptions } from './schedule';
import { unique, type UniqueOptions } from './unique';

export interface JobOptions {
  /** The name in payloads. Set it where a bundler minifies class names. Default: the class's. */
  name?: string | undefined;
  /** Former names that payloads may still use. Default: none. */
  aliases?: readonly string[] | undefined;
  /** Version of the job's data; payloads of an older version go through `upgrade`. Default: none. */
  version?: number | undefined;
  /**
   * Turns data of an older version into today's. Gets the decoded plain data and the version they were written with (0: none).
   * Default: none.
   */
  upgrade?: ((data: Record<string, unknown>, from: number) => Record<string, unknown>) | undefined;
  /** The connection that the job is sent to. Default: the configuration's `default`. */
  connection?: string | undefined;
  /** The queue that the job is sent to. Default: the connection's `queue`. */
  queue?: string | undefined;
  /** A duration from the dispatch, or a `Date`. Default: 0. */
  delay?: Delay | undefined;
  /** Attempts before the job fails; 0: no limit. Default: 1. */
  tries?: number | undefined;
  /** Wait before the next attempt: `'10s'`, a list, `{ delays, jitter }`, or `{ exponential, max, jitter }`. Default: 0. */
  backoff?: Backoff | undefined;
  /** Time for one attempt; 0: no limit. Default: 60 s. */
  timeout?: Duration | undefined;
  /** Fail at the first timeout, whatever `tries` says. Default: `false`. */
  failOnTimeout?: boolean | undefined;
  /** The job fails after this many workers died or froze while running it; 0: no limit. Default: 3. */
  maxCrashes?: number | undefined;
  /** The job fails after this many throws or timeouts, whatever `tries` says. Default: no limit. */
  maxExceptions?: number | undefined;
  /** No attempt starts after this span from the dispatch, or this `Date`, by the store's clock. Replaces `tries`. Default: none. */
  retryUntil?: Delay | undefined;
  /**
   * Within `Queue.transaction()`: `true` sends the job after the commit, as if the dispatch said `afterCommit()`; `false` sends
   * it at once. Default: the connection's.
   */
  afterCommit?: boolean | undefined;
  /**
   * `true`, or `{ by, until, for }`: while a job with the same key exists, another one is not sent: see [unique
   * jobs](unique-jobs.md). Default: `false`.
   */
  unique?: boolean | UniqueOptions | undefined;
  /**
   * `{ by, wait, longest }`: the job waits for a while, in which a later one with the same key takes its place: see [debounced
   * jobs](debounced-jobs.md). Default: `false`.
   */
  debounce?: false | DebounceOptions | undefined;
  /** If an entity that the job carries is gone, cancel the job instead of failing the attempt. Default: `false`. */
  deleteWhenMissing?: boolean | undefined;
  /**
   * How long the result of `handle()` is kept for `Queue.result(id)`: see [results](results.md). Default: `false`, not at all.
   */
  keepResult?: false | Duration | undefined;
  /**
   * `{ cron, every, timezone, name, missed, overlap }`: workers send the job by themselves: see [schedules](schedules.md). Not
   * inherited. Default: none.
   */
  schedule?: ScheduleOptions | undefined;
  /**
   * Properties that are dates. Only for [string jobs](dispatching.md#string-jobs-and-raw-payloads), whose JSON has texts such as
   * `2026-11-21T10:00:00Z` there. Default: none.
   */
  dates?: readonly string[] | undefined;
  /** How jobs are written and read that another framework shares: `@LaravelJob()` sets it. Not inherited. Default: Onqueue's own. */
  format?: JobFormat | undefined;
}

interface JobOption {
  readonly read: Kind<unknown>;
  /** The names that other queues have for it. */
  readonly otherNames?: readonly string[];
  /** A bare number of 1000 or more was probably meant as milliseconds. */
  readonly isShort?: true;
  /** How a single instance sets it. */
  readonly instance?: string;
  /** A method of the job may set it, so a function in a field of that name is a mistake. */
  readonly hasMethod?: true;
  /** An own property of this name is data, not an attempt to set the option. */
  readonly isData?: true;
}

/** The form of a value in a payload. */
export type PayloadForm = 'count' | 'seconds' | 'flag' | 'backoff' | 'moment';

/** An option that a run obeys. It travels if the dispatch or the instance set it. */
interface RunOption extends JobOption {
  readonly default: unknown;
  /** Laravel's field, or ours if Laravel has none. `olderField` is only read. */
  readonly field: string;
  readonly olderField?: string;
  readonly form: PayloadForm;
}

/** In the order of the payload's fields. */
export const RUN_OPTIONS = {
  tries: {
    read: countOrNoLimit,
    default: 1,
    field: 'maxTries',
    form: 'count',
    instance: 'a method tries()',
    hasMethod: true,
    otherNames: ['attempts', 'maxAttempts', 'maxTries', 'retries', 'retry', 'trys'],
  },
  maxExceptions: { read: count(1), default: undefined, field: 'maxExceptions', form: 'count' },
  failOnTimeout: { read: flag, default: false, field: 'failOnTimeout', form: 'flag' },
  backoff: {
    read: backoff,
    default: NO_BACKOFF,
    field: 'backoff',
    form: 'backoff',
    isShort: true,
    instance: 'a method backoff()',
    hasMethod: true,
    otherNames: ['retryDelay'],
  },
  timeout: {
    read: seconds,
    default: 60,
    field: 'timeout',
    form: 'seconds',
    isShort: true,
    instance: 'a method timeout()',
    hasMethod: true,
  },
  retryUntil: {
    read: moment,
    default: undefined,
    field: 'retryUntil',
    olderField: 'timeoutAt',
    form: 'moment',
    instance: 'a method retryUntil()',
    hasMethod: true,
    otherNames: ['timeoutAt'],
  },
  maxCrashes: {
    read: countOrNoLimit,
    default: 3,
    field: 'maxCrashes',
    form: 'count',
    otherNames: ['maxStalledCount'],
  },
} as const satisfies Readonly<Record<string, RunOption>>;

const jobName: Kind<string> = (value, place) => {
  const name = text(value, place);
  if (isName(name)) return name;
  throw place.refuse(value, `a name has ${NAME_RULE}`);
};

export const JOB_OPTIONS: { readonly [Option in keyof Required<JobOptions>]: JobOption } = {
  name: { read: jobName, isData: true },
  aliases: {
    read: (value, place) => {
      if (Array.isArray(value)) return value.map((alias) => jobName(alias, place));
      throw place.refuse(value, 'give a list of names');
    },
    isData: true,
    otherNames: ['alias'],
  },
  version: { read: count(1), isData: true },
  upgrade: {
    read: (value, place) => {
      if (typeof value === 'function') return value;
      throw place.refuse(value, 'give a function (data, from) => data');
    },
    isData: true,
  },
  connection: { read: text, instance: 'onConnection()' },
  queue: {
    read: (value, { subject }) => checkQueueName(value, subject),
    instance: 'onQueue()',
    hasMethod: true,
    otherNames: ['queueName'],
  },
  delay: { read: delay, isShort: true, instance: 'delay()', otherNames: ['wait'] },
  ...RUN_OPTIONS,
  afterCommit: { read: flag, isData: true },
  unique: {
    read: unique,
    isData: true,
    otherNames: ['deduplication', 'uniqueId', 'uniqueFor', 'uniqueUntil', 'singletonKey'],
  },
  debounce: { read: debounce, isData: true, otherNames: ['debounceFor', 'debounceBy'] },
  deleteWhenMissing: { read: flag, isData: true, otherNames: ['deleteWhenMissingModels'] },
  keepResult: { read: kept, isData: true, isShort: true, otherNames: ['resultTtl', 'resultTTL', 'keepResults'] },
  schedule: { read: schedule, isData: true, otherNames: ['cron', 'every', 'repeat'] },
  dates: {
    read: (value, place) => {
      if (Array.isArray(value) && value.every((name) => typeof name === 'string')) return value;
      throw place.refuse(value, "give a list of properties, such as ['at']");
    },
    isData: true,
  },
  format: {
    read: (value, place) => {
      if (typeof value === 'object' && value !== null && 'read' in value && 'write' in value) return value;
      throw place.refuse(value, 'write @LaravelJob() of onqueue/laravel instead of @Job()');
    },
    isData: true,
  },
};

type RunTable = typeof RUN_OPTIONS;

/** The options of one run. */
export type RunOptions = {
  readonly [Option in keyof RunTable]: ReturnType<RunTable[Option]['read']> | RunTable[Option]['default'];
};

/** What the dispatch or the instance chose. Only this travels in the payload. */
export type ChosenOptions = { readonly [Option in keyof RunOptions]?: RunOptions[Option] | undefined } & {
  /** A span from the push; it becomes `retryUntil` by the store's clock. */
  readonly retryWithin?: Seconds | undefined;
};

export const NOTHING_CHOSEN: ChosenOptions = Object.freeze({});

const BLANK = Object.fromEntries(Object.keys(RUN_OPTIONS).map((option) => [option, undefined]));

/** Options to fill in by name. All have one shape, which makes access fast. */
export function blankOptions(): Record<string, unknown> {
  return { ...BLANK };
}

/** The worker's options for jobs that say nothing themselves. */
export type WorkerDefaults = Pick<ChosenOptions, 'tries' | 'backoff' | 'timeout'>;

/** Where and when a dispatch goes. */
export interface Route {
  readonly connection: string;
  readonly queue: string;
  /** 0 if the job waits for a moment. */
  readonly delay: Seconds;
  /** The moment that the job waits for, if its delay is not a duration. */
  readonly dueAt?: Milliseconds | undefined;
}
