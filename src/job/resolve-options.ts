/**
 * The only place where the options of jobs are checked and resolved; nothing else reads them.
 *
 * Strongest first: the dispatch, the instance, `@Job()` (over its parents'), the worker's options, the connection.
 */
import type { InstanceChoice } from './choices';
import { nearest } from '../base/text';
import {
  resolveBackoff,
  warnOfSeconds,
  durationSeconds,
  momentOf,
  warnOfManySeconds,
  type ResolvedBackoff,
} from './duration';
import type { JobDefinition } from './registry';
import {
  checkpoints,
  debounce,
  blankOptions,
  JOB_OPTIONS,
  NOTHING_CHOSEN,
  RUN_OPTIONS,
  unique,
  type ChosenOptions,
  type JobOptions,
  type Route,
  type RunOptions,
  type WorkerDefaults,
} from './options';
import { invalidJobOption, unknownJobOption, type JobDecoratorName } from './errors';
import { MEANT_IN_JOB } from './foreign-words';
import { together } from './together';
import { lane } from './lane';
import { kept, placeOf, seconds, checkQueueName, type Kind } from './option-kinds';

type OptionName = keyof JobOptions;

const OPTIONS = Object.keys(JOB_OPTIONS) as OptionName[];
const OF_RUNS = Object.keys(RUN_OPTIONS) as (keyof RunOptions)[];
/** The options that an instance is asked for when it is dispatched. Its `backoff(error)` is asked after a failed attempt. */
const ASKED = OF_RUNS.filter((option) => JOB_OPTIONS[option].hasMethod === true && option !== 'backoff');

export const DEFAULT_MAX_CRASHES = RUN_OPTIONS.maxCrashes.default;

const NO_WORKER: WorkerDefaults = {};

/**
 * Refuses options that `@Job()` does not know, and values that they cannot have.
 * @param job the class as errors name it
 * @throws E_UNKNOWN_JOB_OPTION, E_INVALID_JOB_OPTION, E_INVALID_DURATION, E_INVALID_QUEUE_NAME
 */
export function checkJobOptions(
  options: unknown,
  job: string,
  decorator: JobDecoratorName = 'Job',
): asserts options is JobOptions {
  if (typeof options !== 'object' || options === null) {
    throw invalidJobOption(`@${decorator} on ${job}`, options, 'Give an object with options.');
  }
  for (const [given, value] of Object.entries(options)) {
    const option = OPTIONS.find((name) => name === given);
    if (option === undefined) {
      const meant = OPTIONS.filter((name) => JOB_OPTIONS[name].otherNames?.includes(given));
      const suggestions = meant.length > 0 ? meant : nearest(given, OPTIONS);
      throw unknownJobOption(job, given, suggestions, OPTIONS, MEANT_IN_JOB.get(given), decorator);
    }
    if (value !== undefined) {
      const place = placeOf(`${option} on ${job}`, invalidJobOption);
      JOB_OPTIONS[option].read(value, place);
      if (JOB_OPTIONS[option].isShort === true) warnOfSeconds(value, place.subject);
    }
  }
}

/**
 * Refuses options that contradict each other, even if the class inherited one of them.
 * @param job the class as errors name it
 * @throws E_INVALID_JOB_OPTION
 */
export function checkTogether(
  { unique: isUnique = false, debounce: waits = false, delay, together: gathers, timeout }: JobOptions,
  job: string,
): void {
  if (gathers !== undefined) {
    const limit = timeout === undefined ? RUN_OPTIONS.timeout.default : durationSeconds(timeout, `timeout on ${job}`);
    const { wait } = together(gathers, placeOf(`together on ${job}`, invalidJobOption));
    if (limit > 0 && wait >= limit)
      throw invalidJobOption(
        `together on ${job}`,
        gathers,
        `It waits as long as its timeout, ${limit} s: give a shorter wait.`,
      );
  }
  if (waits === false) return;
  const refuse = (remedy: string): Error => invalidJobOption(`debounce on ${job}`, waits, remedy);
  if (isUnique !== false)
    throw refuse('It also has unique, and only one of them can decide whether a further job is sent. Leave one out.');
  if (delay !== undefined && delay !== 0)
    throw refuse('It also has a delay, but debounce already says how long it waits: leave delay out.');
}

/** They need a part of the payload or of the store that no other framework keeps. */
const NOT_SHARED = ['unique', 'debounce', 'lane', 'schedule', 'version', 'upgrade', 'encrypted', 'sensitive'] as const;

/**
 * Refuses options of a job in another framework's format.
 * @param job the class as errors name it
 * @throws E_INVALID_JOB_OPTION
 */
export function checkShared(options: JobOptions, job: string): void {
  const option = NOT_SHARED.find((name) => (options[name] ?? false) !== false);
  if (option === undefined) return;
  const remedy = 'The other framework that runs these jobs would not heed it. Leave it out.';
  throw invalidJobOption(`${option} on ${job}`, options[option], remedy);
}

export interface RouteSources {
  readonly dispatch: InstanceChoice;
  readonly instance: InstanceChoice;
  readonly definition: JobDefinition | undefined;
  /** Where the application sends jobs of this class. */
  readonly routed?: { readonly connection?: string | undefined; readonly queue?: string | undefined } | undefined;
  /** The default connection. Absent: the configuration's. */
  readonly from?: string | undefined;
}

/** The connections that jobs may be sent to. */
export interface Destinations {
  /**
   * The connection of this name and its default queue. Without a name: the default connection, for which the configuration is
   * loaded.
   */
  settings(connection?: string): { readonly name: string; readonly queue: string };
}

/**
 * Where and when a dispatch goes.
 * @throws E_INVALID_DURATION, E_INVALID_QUEUE_NAME, and what `settings` throws
 */
export function resolveRoute(
  { dispatch, instance, definition, routed, from }: RouteSources,
  destinations: Destinations,
): Route {
  const options = definition?.options;
  const job = definition?.name ?? 'the job';
  const named = dispatch.connection ?? instance.connection ?? options?.connection ?? routed?.connection ?? from;
  const { name: connection, queue: usual } = destinations.settings(named);
  const queue = dispatch.queue ?? instance.queue ?? options?.queue ?? routed?.queue ?? usual;
  // All other names were checked where they were given.
  if (queue === dispatch.queue) checkQueueName(queue, `the queue of ${job}`);
  // A delay of null or undefined that was given explicitly is refused: a missing value is a mistake, not a wish.
  const isGiven = Object.hasOwn(dispatch, 'delay');
  const own = isGiven ? dispatch.delay : instance.delay;
  const waits = options?.debounce !== undefined;
  const declared = waits ? (declaredDebouncing(definition)?.wait ?? options.delay) : options?.delay;
  const delay = isGiven ? own : (own ?? declared);
  if (delay === undefined && !isGiven) return { connection, queue, delay: 0 };
  const subject = `the delay of ${job}`;
  warnOfManySeconds(own, subject);
  if (delay instanceof Date) return { connection, queue, delay: 0, dueAt: momentOf(delay, subject) };
  return { connection, queue, delay: durationSeconds(delay, subject) };
}

/** Where jobs of a class go by default. Undefined if neither the class nor the application says so. */
export function declaredRoute(
  { options }: JobDefinition,
  routed?: RouteSources['routed'],
): { readonly connection: string | undefined; readonly queue: string | undefined } {
  return { connection: options.connection ?? routed?.connection, queue: options.queue ?? routed?.queue };
}

/** Which jobs of the class may exist only once at a time. Undefined if there is no limit. */
export const declaredUniqueness = readOnce('unique', unique);

/** Which waiting jobs of the class a later one replaces. Undefined if none. */
export const declaredDebouncing = readOnce('debounce', debounce);

/** In which lane jobs of the class wait. Undefined if in none. */
export const declaredLane = readOnce('lane', lane);

/** How long results of the class's jobs are kept. Undefined if they are not. */
export const keptResult = readOnce('keepResult', kept);

/** How many jobs of the class are handled in one call. Undefined: each by itself. */
export const declaredTogether = readOnce('together', together);

/** Whether jobs of the class keep steps and cursors. Undefined if not. */
export const keptCheckpoints = readOnce('checkpoints', checkpoints);

/** Reads the option only once for each class, and not at all for those without it, as most are. */
function readOnce<Value>(
  option: 'unique' | 'debounce' | 'lane' | 'keepResult' | 'checkpoints' | 'together',
  read: Kind<Value | undefined>,
): (definition: JobDefinition | undefined) => Value | undefined {
  const known = new WeakMap<JobDefinition, { readonly is: Value | undefined }>();
  return (definition) => {
    const value = definition?.options[option];
    if (definition === undefined || value === undefined) return undefined;
    let found = known.get(definition);
    if (found === undefined) {
      found = { is: read(value, placeOf(`${option} on ${definition.name}`, invalidJobOption)) };
      known.set(definition, found);
    }
    return found.is;
  };
}

/**
 * The answers of the instance's methods `tries()`, `timeout()` and `retryUntil()`, which travel in its payload. A `retryUntil`
 * span counts from the push, so it travels even if only `@Job()` sets it. Another framework does not know what `@Job()` says, so
 * all of that travels to it.
 * @throws E_INVALID_JOB_OPTION, E_INVALID_DURATION
 */
export function resolveChosen(job: object, { name, options, format }: JobDefinition): ChosenOptions {
  let chosen: Record<string, unknown> | undefined;
  for (const option of format === undefined ? ASKED : OF_RUNS) {
    const isAsked = format === undefined || ASKED.includes(option);
    const method = isAsked && (job as Readonly<Record<string, unknown>>)[option];
    const said: unknown = typeof method === 'function' ? method.call(job) : undefined;
    const value = said ?? (option === 'retryUntil' || format !== undefined ? options[option] : undefined);
    if (value === undefined) continue;
    const place = placeOf(`${option}() of ${name}`, invalidJobOption);
    if (JOB_OPTIONS[option].isShort === true) warnOfManySeconds(value, place.subject);
    chosen ??= blankOptions();
    if (option === 'retryUntil' && !(value instanceof Date)) chosen['retryWithin'] = seconds(value, place);
    else chosen[option] = RUN_OPTIONS[option].read(value, place);
  }
  return chosen ?? NOTHING_CHOSEN;
}

/** Whether the job has a method `backoff(error)`. */
function saysBackoff(job: object): job is { backoff(error: Error): unknown } {
  return 'backoff' in job && typeof job.backoff === 'function';
}

/**
 * What the job's method `backoff(error)` says about the next attempt. Undefined if nothing.
 * @throws E_INVALID_DURATION, E_INVALID_JOB_OPTION, what the method throws
 */
export function askBackoff(job: object, name: string, error: Error): ResolvedBackoff | Date | undefined {
  const said = saysBackoff(job) ? job.backoff(error) : undefined;
  return said === undefined || said instanceof Date ? said : resolveBackoff(said, `${name}.backoff()`);
}

export interface RunSources {
  /** What travelled in the payload. */
  readonly payload: ChosenOptions;
  readonly definition: JobDefinition | undefined;
  readonly worker: WorkerDefaults;
}

/** The options of one run, with defaults for everything that nobody set. */
export function resolveRun({ payload, definition, worker }: RunSources): RunOptions {
  const of = definition ?? UNKNOWN;
  let runs = declaredRuns.get(worker);
  if (runs === undefined) declaredRuns.set(worker, (runs = new WeakMap()));
  let declared = runs.get(of);
  if (declared === undefined) runs.set(of, (declared = runOf(definition, worker)));
  if (payload === NOTHING_CHOSEN) return declared;
  const run: Record<string, unknown> = { ...declared };
  for (const option of OF_RUNS) if (payload[option] !== undefined) run[option] = payload[option];
  return run as RunOptions;
}

/** Most payloads choose nothing: their runs share one object for each class, and parse no durations. */
const declaredRuns = new WeakMap<WorkerDefaults, WeakMap<object, RunOptions>>();
/** Stands for a class that nobody here knows. */
const UNKNOWN = {};

/** The options that runs of a class obey if the dispatch and the worker say nothing. */
export function declaredOptions(definition: JobDefinition): RunOptions {
  return resolveRun({ payload: NOTHING_CHOSEN, definition, worker: NO_WORKER });
}

function runOf(definition: JobDefinition | undefined, worker: ChosenOptions): RunOptions {
  const run = blankOptions();
  for (const option of OF_RUNS) {
    const row = RUN_OPTIONS[option];
    const given = definition?.options[option];
    const own =
      given === undefined ? undefined : row.read(given, placeOf(`${option} on ${definition!.name}`, invalidJobOption));
    run[option] = own ?? worker[option] ?? row.default;
  }
  return run as RunOptions;
}
