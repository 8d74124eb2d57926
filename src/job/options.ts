/**
 * The options of a job: what `@Job()` takes, and one table that says how each option is checked, who else may set it, how it
 * travels in a payload, and its default.
 *
 * A new option needs its line in `JobOptions`, its row in the table, and the code that acts on it.
 */
import { isName, NAME_RULE } from '../base/text';
import type { Milliseconds, Seconds } from '../base/clock';
import { late } from '../base/late-parts';
import { NO_BACKOFF, durationSeconds, lastingSeconds, type Backoff, type Delay, type Duration } from './duration';
import {
  backoff,
  count,
  countOrNoLimit,
  delay,
  flag,
  kept,
  moment,
  seconds,
  text,
  checkQueueName,
  membersOf,
  type Kind,
} from './option-kinds';
import { lane, type LaneOptions } from './lane';
import { together, type TogetherOptions } from './together';

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
  /** How long after the dispatch, in seconds or as `'10m'`, or a `Date`. Default: 0. */
  delay?: Delay | undefined;
  /** Attempts before the job fails; 0: no limit. Default: 1. */
  tries?: number | undefined;
  /** Wait before the next attempt: seconds, `'10s'`, a list, `{ delays, jitter }`, or `{ exponential, max, jitter }`. Default: 0. */
  backoff?: Backoff | undefined;
  /** Time for one attempt, in seconds or as `'2m'`; 0: no limit. Default: 60 s. */
  timeout?: Duration | undefined;
  /** Fail at the first timeout, whatever `tries` says. Default: `false`. */
  failOnTimeout?: boolean | undefined;
  /** The job fails after this many workers died or froze while running it; 0: no limit. Default: 3. */
  maxCrashes?: number | undefined;
  /** The job fails after this many throws or timeouts, whatever `tries` says. Default: no limit. */
  maxExceptions?: number | undefined;
  /** No attempt starts later than this after the dispatch, in seconds or as `'1d'`, or than this `Date`, by the store's clock. Replaces `tries`. Default: none. */
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
  /**
   * `{ by, running, ordered }`: no more jobs of one key than that are ready or running at a time, over all workers; the others wait
   * their turn: see [lanes](lanes.md). Default: `false`.
   */
  lane?: false | LaneOptions | undefined;
  /**
   * `{ most, wait }`: the static method `handleAll(jobs)` of the class handles many jobs in one call, each with its own outcome: see
   * [many at once](many-at-once.md). Default: each job by itself.
   */
  together?: TogetherOptions | undefined;
  /**
   * `true`, or `{ steps: 4 }`, which also tells the progress: the job keeps its steps and cursors, and a later attempt goes on from
   * there: see [long jobs](long-jobs.md). Default: `false`.
   */
  checkpoints?: boolean | CheckpointOptions | undefined;
  /**
   * Seals the job's data, its middleware of `through()` and its kept result with a key of the configuration, so that nobody can read
   * them who has access to the store: see [secrets](secrets.md). Default: `false`.
   */
  encrypted?: boolean | undefined;
  /**
   * Paths to properties whose values are masked wherever people look: `['password', 'card.number']`. A path goes on in each item of a
   * list. See [secrets](secrets.md). Default: none; what is called like a secret is masked anyway.
   */
  sensitive?: readonly string[] | undefined;
  /** If an entity that the job carries is gone, cancel the job instead of failing the attempt. Default: `false`. */
  deleteWhenMissing?: boolean | undefined;
  /**
   * How long the result of `handle()` is kept for `Queue.result(id)`, in seconds or as `'1h'`: see [results](results.md). Default: `false`, not at all.
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

export interface UniqueOptions {
  /**
   * What tells two jobs of the class apart: a number, or a text of 1 to 1000 characters, made from the job's data. Write the
   * job's type: `by: (job: Reindex) => job.product`. Default: nothing; one job of the class at a time.
   */
  by?(this: void, job: object): string | number;
  /** What frees the key: the end of the job, whatever its outcome, or its start. Default: `'end'`. */
  readonly until?: 'start' | 'end' | undefined;
  /**
   * The longest time that the key is held, in seconds or as `'1h'`, counted from the dispatch by the store's clock. Default: as long as the job exists.
   */
  readonly for?: Duration | undefined;
}

export interface Uniqueness {
  readonly by: ((job: object) => unknown) | undefined;
  readonly until: 'start' | 'end';
  readonly for: Seconds | undefined;
}

const UNIQUE_REMEDY =
  "give true, or an object with one or more of by (a function), until ('start' or 'end') and for (a duration)";

const membersOfUnique = membersOf(['by', 'until', 'for'], UNIQUE_REMEDY);

/** Undefined if there is no limit. */
export const unique: Kind<Uniqueness | undefined> = (value, place) => {
  if (value === false) return undefined;
  if (value === true) return { by: undefined, until: 'end', for: undefined };
  const { by, until = 'end', for: most } = membersOfUnique(value, place);
  if (by !== undefined && typeof by !== 'function') throw place.refuse(value, UNIQUE_REMEDY);
  if (until !== 'start' && until !== 'end') throw place.refuse(value, UNIQUE_REMEDY);
  const seconds = most === undefined ? undefined : lastingSeconds(most, `for in ${place.subject}`);
  return { by: by as Uniqueness['by'], until, for: seconds };
};

export interface DebounceOptions {
  /**
   * What tells two jobs of the class apart: a number, or a text of 1 to 1000 characters, made from the job's data. Write the
   * job's type: `by: (job: Sync) => job.tenant`. Default: nothing; each dispatch of the class replaces the one before.
   */
  by?(this: void, job: object): string | number;
  /** How long each dispatch waits for a later one, in seconds or as `'30s'`. */
  readonly wait: Duration;
  /** The longest time that the job is put off, in seconds or as `'5m'`, counted from the first dispatch by the store's clock. Default: no limit. */
  readonly longest?: Duration | undefined;
}

export interface Debouncing {
  readonly by: ((job: object) => unknown) | undefined;
  readonly wait: Seconds;
  readonly longest: Seconds | undefined;
}

const DEBOUNCE_REMEDY =
  'give false, or an object with wait (a duration), and perhaps by (a function) and longest (a duration)';

const membersOfDebounce = membersOf(['by', 'wait', 'longest'], DEBOUNCE_REMEDY);

/** Undefined if no job replaces another. */
export const debounce: Kind<Debouncing | undefined> = (value, place) => {
  if (value === false) return undefined;
  const { by, wait, longest } = membersOfDebounce(value, place);
  if (wait === undefined || (by !== undefined && typeof by !== 'function')) throw place.refuse(value, DEBOUNCE_REMEDY);
  const seconds = lastingSeconds(wait, `wait in ${place.subject}`);
  const most = longest === undefined ? undefined : durationSeconds(longest, `longest in ${place.subject}`);
  if (most !== undefined && most < seconds) throw place.refuse(value, 'longest must not be shorter than wait');
  return { by: by as Debouncing['by'], wait: seconds, longest: most };
};

export interface CheckpointOptions {
  /** How many steps the job has: each that is done moves its progress on. */
  readonly steps: number;
}

/** Undefined if nothing is kept. `steps`: undefined if nobody said how many there are. */
export const checkpoints: Kind<Partial<CheckpointOptions> | undefined> = (value, place) => {
  if (typeof value === 'boolean') return value ? {} : undefined;
  const remedy = 'give true or false, or { steps }: how many steps the job has, a whole number from 1';
  const { steps } = membersOf(['steps'], remedy)(value, place);
  return { steps: count(1)(steps, { ...place, refuse: () => place.refuse(value, remedy) }) };
};

/**
 * What happens to occurrences that nobody sent in time: `latest` sends the newest within an hour, `skip` the newest within a
 * minute, `all` sends all.
 */
export type MissedPolicy = 'latest' | 'skip' | 'all';

/** What happens to an occurrence while the job of the one before it waits, runs, or is about to be retried. */
export type OverlapPolicy = 'skip' | 'allow';

export interface ScheduleOptions {
  /** Five fields: minute, hour, day of the month, month, weekday: `'0 3 * * *'`. This or `every`. */
  readonly cron?: string | undefined;
  /** The multiples of a span, in seconds or with a unit, counted from 1970 in UTC: `'15m'` means each full quarter of an hour. */
  readonly every?: Duration | undefined;
  /** The time zone of the times in `cron`. Default: `'UTC'`. */
  readonly timezone?: string | undefined;
  /** Default: the name of the job. */
  readonly name?: string | undefined;
  /** A second entry sets how far back to look, in seconds or with a unit: `['latest', '6h']`. Default: `'latest'`, within an hour. */
  readonly missed?: MissedPolicy | readonly [policy: MissedPolicy, within: Duration] | undefined;
  /** Default: `'skip'` if the store keeps unique keys, unless `missed` is `'all'`. */
  readonly overlap?: OverlapPolicy | undefined;
}

declare module '../base/late-parts' {
  interface LateParts {
    /** Reads the option `schedule`. */
    schedule: Kind<unknown>;
  }
}

const schedule: Kind<unknown> = (value, place) => late.schedule(value, place);

/** How the jobs of a class are written and read where another framework shares them: a class of Laravel, for example. */
export interface JobFormat {
  /** The properties that the other framework expects in each job. */
  readonly expected: readonly string[];
  /**
   * The members `job` and `data` of the payload.
   *
   * @param properties of the job, none of them undefined
   * @param subject the name of the job in errors, which name `file` too
   * @throws UnserializableValueError
   */
  write(
    properties: Readonly<Record<string, unknown>>,
    subject: string,
    file?: string,
  ): { readonly job: string; readonly data: object };
  /**
   * The properties of the job; or a text that says why only the other framework can run it.
   *
   * @param data as in the payload
   * @throws InvalidPayloadError
   */
  read(data: unknown): Record<string, unknown> | string;
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
  lane: {
    read: lane,
    isData: true,
    otherNames: ['group', 'groupId', 'concurrencyKey', 'limitsConcurrency', 'limits_concurrency'],
  },
  together: { read: together, isData: true, otherNames: ['batchSize', 'chunk'] },
  checkpoints: { read: checkpoints, isData: true, otherNames: ['steps', 'resumable', 'continuation'] },
  encrypted: { read: flag, isData: true, otherNames: ['encrypt', 'encryption', 'shouldBeEncrypted'] },
  sensitive: {
    read: (value, place) => {
      const isPath = (one: unknown): boolean => typeof one === 'string' && one.split('.').every((step) => step !== '');
      if (Array.isArray(value) && value.every(isPath)) return value.length === 0 ? undefined : value;
      throw place.refuse(value, "give a list of paths, such as ['password', 'card.number']");
    },
    isData: true,
    otherNames: ['redact', 'masked'],
  },
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
