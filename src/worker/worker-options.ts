/** What `new Worker()` takes, checked and with its defaults. */
import type { Seconds } from '../base/clock';
import { type Duration, durationSeconds, warnOfManySeconds } from '../job/duration';
import { nearest } from '../base/nearest';
import { type Backoff, resolveBackoff, warnOfSeconds } from '../job/backoff';
import type { WorkerDefaults } from '../job/options';
import { meantInWorker } from '../job/foreign-words';
import { InvalidWorkerOptionError } from './errors';
import { parseQueues, type WeightedQueue } from './queue-order';

export interface WorkerOptions {
  /** Default: the configuration's default connection. */
  connection?: string | undefined;
  /** One name, names separated by commas, or a list: emptied in this order. Default: the connection's queue. */
  queue?: string | readonly string[] | undefined;
  /** Draw the order anew for each reserve, by weights (`high:3,default:1`), so that none starves. Default false. */
  fair?: boolean | undefined;
  /** Jobs at once. Default 1. */
  concurrency?: number | undefined;
  /** For jobs that say nothing themselves. Default 1; 0: no limit. */
  tries?: number | undefined;
  /** For jobs that say nothing themselves. Default 0. */
  backoff?: Backoff | undefined;
  /** For jobs that say nothing themselves. Default 60 s; 0: none. */
  timeout?: Duration | undefined;
  /** Stop after so many jobs. Default 0: never. */
  maxJobs?: number | undefined;
  /** Stop after this time. Default 0: never. */
  maxTime?: Duration | undefined;
  /** Stop when the process's resident memory is over so many MB. Default 0: off. */
  memory?: number | undefined;
  /** Pause when there is no work and the store cannot wake us, and after a veto of `looping`. Default 1 s. */
  sleep?: Duration | undefined;
  /** Pause of a slot after each job. Default 0. */
  rest?: Duration | undefined;
  /** One job at most, waiting at most `sleep` for it. Default false. */
  once?: boolean | undefined;
  /** Stop when nothing is ready and nothing runs here, as in Laravel: what is delayed is left for the next worker. Default false. */
  stopWhenEmpty?: boolean | undefined;
  /**
   * Stop when nothing is left that this worker can run, now or later: it waits for what is delayed, but not for what others
   * have reserved, for paused queues, or for jobs whose names it does not know. Goes before `stopWhenEmpty`. Default false.
   */
  drain?: boolean | undefined;
  /** Time for running jobs to finish when the worker stops, and for one past its timeout. Default 30 s. */
  grace?: Duration | undefined;
}

export interface ResolvedWorkerOptions {
  readonly connection: string | undefined;
  readonly queues: readonly WeightedQueue[] | undefined;
  readonly fair: boolean;
  readonly concurrency: number;
  readonly defaults: WorkerDefaults;
  readonly maxJobs: number;
  readonly maxTime: Seconds;
  /** Bytes. */
  readonly memory: number;
  readonly sleep: Seconds;
  readonly rest: Seconds;
  readonly once: boolean;
  /** Also under `drain`. */
  readonly stopWhenEmpty: boolean;
  readonly drain: boolean;
  readonly grace: Seconds;
}

const KNOWN = [
  'connection',
  'queue',
  'fair',
  'concurrency',
  'tries',
  'backoff',
  'timeout',
  'maxJobs',
  'maxTime',
  'memory',
  'sleep',
  'rest',
  'once',
  'stopWhenEmpty',
  'drain',
  'grace',
];

/** What users of other queues call our options, where no spelling leads there. */
const MEANT: Readonly<Record<string, string>> = {
  attempts: 'tries',
  maxTries: 'tries',
  delay: 'backoff',
  limit: 'maxJobs',
};

const MEGABYTE = 1024 * 1024;

/** @throws InvalidWorkerOptionError, InvalidDurationError, InvalidQueueNameError */
export function resolveWorkerOptions(options: WorkerOptions): ResolvedWorkerOptions {
  if (typeof options !== 'object' || options === null) {
    throw new InvalidWorkerOptionError(
      'the first argument',
      options,
      "give an object: new Worker({ queue: 'mail' }). What is to be done stands in the job's handle(), and `await worker.run()` works",
    );
  }
  for (const option of Object.keys(options)) {
    if (KNOWN.includes(option)) continue;
    const said = meantInWorker(option);
    const meant = Object.hasOwn(MEANT, option) ? MEANT[option] : nearest(option, KNOWN, 1)[0];
    const remedy = said === undefined ? meant && `; did you mean ${meant}?` : `: ${said}`;
    const value = (options as Readonly<Record<string, unknown>>)[option];
    throw new InvalidWorkerOptionError(option, value, `there is no such option${remedy ?? ''}`, 'set');
  }
  const seconds = (option: 'maxTime' | 'sleep' | 'rest' | 'grace', otherwise: number): number =>
    options[option] === undefined ? otherwise : durationSeconds(options[option], `${option} of a worker`);
  for (const option of ['timeout', 'sleep', 'rest', 'grace'] as const) {
    warnOfManySeconds(options[option], `${option} of a worker`);
  }
  warnOfSeconds(options.backoff, 'backoff of a worker');
  const fair = flag('fair', options.fair);
  const once = flag('once', options.once);
  const drain = flag('drain', options.drain);
  return {
    connection: name('connection', options.connection),
    queues: options.queue === undefined ? undefined : parseQueues(options.queue, fair),
    fair,
    concurrency: whole('concurrency', options.concurrency, 1, 1),
    defaults: {
      tries: options.tries === undefined ? undefined : whole('tries', options.tries, 0, 1),
      backoff: options.backoff === undefined ? undefined : resolveBackoff(options.backoff, 'backoff of a worker'),
      timeout: options.timeout === undefined ? undefined : durationSeconds(options.timeout, 'timeout of a worker'),
    },
    maxJobs: once ? 1 : orNever(whole('maxJobs', options.maxJobs, 0, 0)),
    maxTime: orNever(seconds('maxTime', 0)),
    memory: orNever(whole('memory', options.memory, 0, 0) * MEGABYTE),
    sleep: seconds('sleep', 1),
    rest: seconds('rest', 0),
    once,
    stopWhenEmpty: flag('stopWhenEmpty', options.stopWhenEmpty) || drain,
    drain,
    grace: seconds('grace', 30),
  };
}

// The text 'false', as it comes from a variable of the environment, would count as true.
function flag(option: string, value: boolean | undefined): boolean {
  if (value === undefined || typeof value === 'boolean') return value ?? false;
  throw new InvalidWorkerOptionError(option, value, 'give true or false');
}

function name(option: string, value: string | undefined): string | undefined {
  if (value === undefined || (typeof value === 'string' && value !== '')) return value;
  throw new InvalidWorkerOptionError(option, value, 'give a name');
}

// 0 is off, as in Laravel.
function orNever(limit: number): number {
  return limit === 0 ? Infinity : limit;
}

function whole(option: string, value: number | undefined, least: number, otherwise: number): number {
  if (value === undefined) return otherwise;
  if (Number.isInteger(value) && value >= least) return value;
  throw new InvalidWorkerOptionError(option, value, `give a whole number from ${least}`);
}
