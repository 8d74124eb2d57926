/**
 * The one place where options are checked and resolved; nothing else reads them.
 *
 * Strongest first: the dispatch, the instance, `@Job()` (over its parents'), the worker's flags, the connection.
 */
import type { Seconds } from '../base/clock';
import type { Random } from '../base/random';
import type { InstanceChoice } from './chosen';
import type { JobDefinition } from './definition';
import { checkDelay, durationSeconds, momentOf, warnOfManySeconds } from './duration';
import { InvalidJobOptionError, UnknownJobOptionError } from './errors';
import { meantInJob } from './foreign-words';
import { isName, NAME_RULE } from './job-name';
import { nearest } from '../base/nearest';
import type { ChosenOptions, JobOptions, ResolvedBackoff, Route, RunOptions, WorkerDefaults } from './options';
import { checkQueueName } from './queue-name';

const DEFAULT_TRIES = 1;
const DEFAULT_TIMEOUT: Seconds = 60;
export const DEFAULT_MAX_CRASHES = 3;
const NO_BACKOFF: ResolvedBackoff = Object.freeze({ delays: [0], jitter: 0 });

type Check = (value: unknown, subject: string) => unknown;

const CHECKS: { readonly [Option in keyof Required<JobOptions>]: Check } = {
  name: checkJobName,
  aliases: (value, subject) => list(value, subject).forEach((alias) => checkJobName(alias, subject)),
  version: (value, subject) => whole(value, subject, 1),
  upgrade: (value, subject) =>
    demand(typeof value === 'function', value, subject, 'Give a function (data, from) => data.'),
  connection: checkName,
  queue: checkQueueName,
  delay: checkDelay,
  tries: (value, subject) => whole(value, subject, 0),
  backoff: resolveBackoff,
  timeout: durationSeconds,
  failOnTimeout: (value, subject) => demand(typeof value === 'boolean', value, subject, 'Give true or false.'),
  maxCrashes: (value, subject) => whole(value, subject, 0),
  maxExceptions: (value, subject) => whole(value, subject, 1),
  retryUntil: checkDelay,
  afterCommit: (value, subject) => demand(typeof value === 'boolean', value, subject, 'Give true or false.'),
};

/** What users of other queues call our options, where no spelling leads there. */
const MEANT: Readonly<Record<string, keyof JobOptions>> = {
  attempts: 'tries',
  maxAttempts: 'tries',
  maxTries: 'tries',
  retries: 'tries',
  retry: 'tries',
  retryDelay: 'backoff',
  timeoutAt: 'retryUntil',
  maxStalledCount: 'maxCrashes',
  queueName: 'queue',
  wait: 'delay',
  alias: 'aliases',
};

/**
 * Refuses what `@Job()` does not know, or cannot mean.
 * @param job the class as errors name it
 * @throws UnknownJobOptionError, InvalidJobOptionError, InvalidDurationError, InvalidQueueNameError
 */
export function checkJobOptions(options: unknown, job: string): asserts options is JobOptions {
  demand(typeof options === 'object' && options !== null, options, `@Job on ${job}`, 'Give an object with options.');
  const known = Object.keys(CHECKS);
  for (const [option, value] of Object.entries(options as object)) {
    if (!Object.hasOwn(CHECKS, option)) {
      const meant = Object.hasOwn(MEANT, option) ? MEANT[option] : undefined;
      throw new UnknownJobOptionError(
        job,
        option,
        meant === undefined ? nearest(option, known) : [meant],
        known,
        meantInJob(option),
      );
    }
    if (value === undefined) continue;
    const subject = `${option} on ${job}`;
    CHECKS[option as keyof JobOptions](value, subject);
    if (option === 'timeout' || option === 'delay') warnOfManySeconds(value, subject);
    if (option === 'backoff') warnOfBackoff(value, subject);
  }
}

export interface RouteSources {
  readonly dispatch: InstanceChoice;
  readonly instance: InstanceChoice;
  readonly definition: JobDefinition | undefined;
  /** What the application says of jobs of this class. */
  readonly routed?: { readonly connection?: string | undefined; readonly queue?: string | undefined } | undefined;
  readonly connectionDefaults: {
    readonly connection: string;
    /** Asked with the connection that the job goes to: each has a default of its own. */
    readonly queue: (connection: string) => string;
  };
}

/**
 * Where and when a dispatch goes.
 * @throws InvalidDurationError, InvalidQueueNameError
 */
export function resolveRoute(sources: RouteSources): Route {
  const { dispatch, instance, definition, routed, connectionDefaults } = sources;
  const options = definition?.options;
  const job = definition?.name ?? 'the job';
  const own = dispatch.connection ?? instance.connection ?? options?.connection;
  const connection = own ?? routed?.connection ?? connectionDefaults.connection;
  const ownQueue = dispatch.queue ?? instance.queue ?? options?.queue;
  const queue = ownQueue ?? routed?.queue ?? connectionDefaults.queue(connection);
  checkQueueName(queue, `the queue of ${job}`);
  // Null and undefined are refused where somebody gave them: a value that is missing is a mistake, and no wish.
  const isGiven = Object.hasOwn(dispatch, 'delay');
  const ownDelay = isGiven ? dispatch.delay : instance.delay;
  warnOfManySeconds(ownDelay, `the delay of ${job}`);
  const delay = isGiven ? ownDelay : (ownDelay ?? options?.delay);
  const subject = `the delay of ${job}`;
  if (delay instanceof Date) return { connection, queue, delay: 0, dueAt: momentOf(delay, subject) };
  return { connection, queue, delay: isGiven || delay !== undefined ? durationSeconds(delay, subject) : 0 };
}

/**
 * What the instance's methods `tries()`, `timeout()` and `retryUntil()` say, to travel in its payload. A span of
 * `retryUntil` counts from the push, so the moment it leads to travels as well, also when it comes from `@Job()`.
 * @throws InvalidJobOptionError, InvalidDurationError
 */
export function resolveChosen(job: object, definition: JobDefinition): ChosenOptions {
  const { name, options } = definition;
  const tries = asked(job, 'tries');
  const timeout = asked(job, 'timeout');
  const until = asked(job, 'retryUntil') ?? options.retryUntil;
  warnOfManySeconds(timeout, `timeout() of ${name}`);
  return {
    ...(tries !== undefined && { tries: whole(tries, `tries() of ${name}`, 0) }),
    ...(timeout !== undefined && { timeout: durationSeconds(timeout, `timeout() of ${name}`) }),
    ...(until !== undefined && untilOf(until, `retryUntil of ${name}`)),
  };
}

export interface RunSources {
  /** What travelled in the payload. */
  readonly payload: ChosenOptions;
  readonly definition: JobDefinition | undefined;
  readonly worker: WorkerDefaults;
}

/** The options of one run, with the defaults where nobody said anything. */
export function resolveRun({ payload, definition, worker }: RunSources): RunOptions {
  const own = definition === undefined ? NOTHING_DECLARED : declared(definition);
  return {
    tries: payload.tries ?? own.tries ?? worker.tries ?? DEFAULT_TRIES,
    backoff: payload.backoff ?? own.backoff ?? worker.backoff ?? NO_BACKOFF,
    timeout: payload.timeout ?? own.timeout ?? worker.timeout ?? DEFAULT_TIMEOUT,
    failOnTimeout: payload.failOnTimeout ?? own.failOnTimeout ?? false,
    maxCrashes: payload.maxCrashes ?? own.maxCrashes ?? DEFAULT_MAX_CRASHES,
    maxExceptions: payload.maxExceptions ?? own.maxExceptions,
    retryUntil: payload.retryUntil ?? own.retryUntil,
  };
}

const NOTHING_DECLARED: ChosenOptions = {};

/** Declarations never change, and a run should not parse their durations again. */
const parsed = new WeakMap<JobDefinition, ChosenOptions>();

function declared(definition: JobDefinition): ChosenOptions {
  const known = parsed.get(definition);
  if (known !== undefined) return known;
  const { tries, backoff, timeout, failOnTimeout, maxCrashes, maxExceptions, retryUntil } = definition.options;
  const subject = (option: string): string => `${option} on ${definition.name}`;
  const options: ChosenOptions = {
    tries,
    backoff: backoff === undefined ? undefined : resolveBackoff(backoff, subject('backoff')),
    timeout: timeout === undefined ? undefined : durationSeconds(timeout, subject('timeout')),
    failOnTimeout,
    maxCrashes,
    maxExceptions,
    // A span counts from the dispatch and came with the payload; one that was not dispatched by us has none.
    retryUntil: retryUntil instanceof Date ? retryUntil.getTime() : undefined,
  };
  parsed.set(definition, options);
  return options;
}

/** @throws InvalidDurationError, InvalidJobOptionError */
export function resolveBackoff(value: unknown, subject: string): ResolvedBackoff {
  if (typeof value !== 'object' || value === null) return { delays: [durationSeconds(value, subject)], jitter: 0 };
  if (Array.isArray(value)) {
    demand(value.length > 0, value, subject, 'Give at least one duration.');
    return { delays: value.map((delay) => durationSeconds(delay, subject)), jitter: 0 };
  }
  const { delays, exponential, max, jitter, ...rest } = value as Readonly<Record<string, unknown>>;
  const isOneOfThem = delays === undefined ? exponential !== undefined : exponential === undefined && max === undefined;
  const fits = isOneOfThem && Object.keys(rest).length === 0;
  demand(
    fits,
    value,
    subject,
    "Give a duration, a list of them, { delays: ['10s', '1m'], jitter: 0.2 }, or { exponential: '1s', max: '10m', jitter: true }.",
  );
  const share = jitterOf(jitter, subject);
  if (delays === undefined) return { delays: doubled(exponential, max, share, subject), jitter: share };
  return { delays: resolveBackoff(Array.isArray(delays) ? delays : [delays], subject).delays, jitter: share };
}

/** A wait of days is as good as none; and a list that travels should not be long. */
const LONGEST_BACKOFF: Seconds = 86_400;

// As a list, so that it travels as any other: from the first wait to the longest, which repeats.
function doubled(first: unknown, max: unknown, jitter: number, subject: string): readonly Seconds[] {
  const start = durationSeconds(first, `exponential in ${subject}`);
  const longest = max === undefined ? Math.max(LONGEST_BACKOFF, start) : durationSeconds(max, `max in ${subject}`);
  demand(start >= 0.001, first, `exponential in ${subject}`, 'What is doubled is 1ms at least.');
  demand(longest >= start, max, `max in ${subject}`, 'It is the longest wait, and must not be less than the first.');
  const last = Math.floor((longest / (1 + jitter)) * 1000) / 1000;
  const delays: Seconds[] = [];
  for (let delay = start; delay < last; delay *= 2) delays.push(delay);
  return [...delays, last];
}

function jitterOf(jitter: unknown, subject: string): number {
  if (jitter === undefined || jitter === false) return 0;
  if (jitter === true) return 0.5;
  if (typeof jitter === 'number' && jitter >= 0 && jitter <= 1) return jitter;
  throw new InvalidJobOptionError(subject, jitter, 'jitter is a share from 0 to 1, or true, for 0.5.');
}

/** `warnOfManySeconds` for each of the delays of a backoff that was checked. */
export function warnOfBackoff(value: unknown, subject: string): void {
  const isList = typeof value !== 'object' || value === null || Array.isArray(value);
  const { delays, exponential, max } = (isList ? { delays: value } : value) as Readonly<Record<string, unknown>>;
  for (const delay of [delays, exponential, max].flat()) warnOfManySeconds(delay, subject);
}

/**
 * Seconds until the next attempt.
 * @param failures 1 for the first failed attempt
 */
export function backoffDelay(backoff: ResolvedBackoff, failures: number, random: Random): Seconds {
  const { delays, jitter } = backoff;
  const delay = delays[Math.min(Math.max(failures, 1), delays.length) - 1] ?? 0;
  return jitter === 0 ? delay : delay * (1 + jitter * (2 * random() - 1));
}

function asked(job: object, method: 'tries' | 'timeout' | 'retryUntil'): unknown {
  const ask: unknown = Reflect.get(job, method);
  return typeof ask === 'function' ? ask.call(job) : undefined;
}

function untilOf(until: unknown, subject: string): Pick<ChosenOptions, 'retryUntil' | 'retryWithin'> {
  if (until instanceof Date) return { retryUntil: momentOf(until, subject) };
  return { retryWithin: durationSeconds(until, subject) };
}

function checkName(value: unknown, subject: string): void {
  const named = typeof value === 'string' && value.trim() !== '';
  demand(named, value, subject, 'Give a text of at least one character.');
}

function checkJobName(value: unknown, subject: string): void {
  checkName(value, subject);
  demand(isName(value), value, subject, `A name has ${NAME_RULE}.`);
}

function list(value: unknown, subject: string): readonly unknown[] {
  if (!Array.isArray(value)) throw new InvalidJobOptionError(subject, value, 'Give a list of names.');
  return value;
}

function whole(value: unknown, subject: string, least: number): number {
  if (Number.isSafeInteger(value) && (value as number) >= least) return value as number;
  const limit = least === 0 ? ' (0: no limit)' : '';
  throw new InvalidJobOptionError(subject, value, `Give a whole number from ${least}${limit}.`);
}

function demand(holds: boolean, value: unknown, subject: string, remedy: string): void {
  if (!holds) throw new InvalidJobOptionError(subject, value, remedy);
}
