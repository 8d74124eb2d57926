/** The options of the test kit: a mistyped one would silently run real dependencies, so they are checked like all others. */
import { nearest } from '../base/text';
import { invalidJobOption } from '../job/errors';
import { count, flag, type Kind, placeOf, text } from '../job/option-kinds';
import type { DrainOptions, WorkerFlags } from './drain';
import type { FakeOptions } from './fake-queue';
import type { RunJobOptions } from './run-job';
import { TestClock } from './test-clock';

type Kinds<Options> = { readonly [Option in keyof Options]-?: Kind<unknown> };

function listOf(isOne: (value: unknown) => boolean, remedy: string): Kind<unknown> {
  return (value, place) => {
    if (Array.isArray(value) && value.every(isOne)) return value;
    throw place.refuse(value, remedy);
  };
}

const jobClasses = listOf((value) => typeof value === 'function', 'give a list of job classes, such as [SendWelcome]');

const stubs = listOf(
  (pair) => Array.isArray(pair) && pair.length === 2 && isToken(pair[0]),
  'give a list of pairs, each with a token and its replacement, such as [[Mailer, { send: async () => undefined }]]',
);

// Undefined is what a class is while its module is still being loaded, in a circle of imports.
const isToken = (value: unknown): boolean => value !== undefined && value !== null;

const clock: Kind<unknown> = (value, place) => {
  if (value instanceof TestClock) return value;
  throw place.refuse(value, "give a TestClock, such as new TestClock(new Date('2026-01-01'))");
};

const queues: Kind<unknown> = (value, place) => {
  if (typeof value === 'string') return text(value, place);
  return listOf((one) => typeof one === 'string', "give the name of a queue, or a list of names: ['mail']")(
    value,
    place,
  );
};

const asGiven: Kind<unknown> = (value) => value;

/** The executor checks these itself. */
const WORKER_FLAGS: Kinds<WorkerFlags> = { tries: asGiven, backoff: asGiven, timeout: asGiven };

const FAKE: Kinds<FakeOptions> = { stubs, only: jobClasses, except: jobClasses, clock, schedules: flag };

const DRAIN: Kinds<DrainOptions> = {
  connection: text,
  queue: queues,
  delayed: flag,
  limit: count(1),
  throwOnFailure: flag,
  ...WORKER_FLAGS,
};

const RUN_JOB: Kinds<RunJobOptions> = {
  stubs,
  // The encoder checks each job.
  chain: listOf(() => true, 'give a list of jobs, such as [new SendWelcome(email)]'),
  batch: flag,
  attempts: count(1),
  clock,
  ...WORKER_FLAGS,
};

/** @throws E_INVALID_JOB_OPTION there is no such option, or it cannot have this value */
function check<Options extends object>(call: string, kinds: Kinds<Options>, options: Options): void {
  if (typeof options !== 'object' || options === null) {
    throw invalidJobOption(`the options of ${call}`, options, 'Give an object, or nothing.');
  }
  for (const [option, value] of Object.entries(options)) {
    const place = placeOf(`${option} of ${call}`, invalidJobOption);
    if (!Object.hasOwn(kinds, option)) throw place.refuse(value, `there is no such option; ${hint(option, kinds)}`);
    if (value !== undefined) kinds[option as keyof Options](value, place);
  }
}

function hint(option: string, kinds: object): string {
  const known = Object.keys(kinds);
  const [meant] = nearest(option, known, 1);
  return meant === undefined ? `it takes ${known.join(', ')}` : `did you mean ${meant}`;
}

export const checkFakeOptions = (options: FakeOptions): void => check('Queue.fake()', FAKE, options);
export const checkDrainOptions = (options: DrainOptions): void => check('drain()', DRAIN, options);
export const checkRunJobOptions = (options: RunJobOptions): void => check('runJob()', RUN_JOB, options);
