/** `withoutOverlapping`: jobs of one key do not run at the same time. */
import type { Seconds, Timer } from '../base/clock';
import { Lock } from '../application/lock';
import { CapabilityError } from '../connections/errors';
import type { LockStore } from '../connections/lock-store';
import { durationSeconds, warnOfManySeconds, type Duration } from '../job/duration';
import { invalidMiddlewareArgument } from '../job/errors';
import type { Middleware } from '../job/middleware';
import { answerOf, keyText, keeperOf, limitedJob, nameOf, putOff } from './deferral';
import type { RunningJob } from '../worker/running-job';

/** What becomes of a job that finds another one of its key running. */
export type OverlapOptions = {
  /** The key counts for all classes that share it. Default: each class has its own. */
  readonly shared?: boolean | undefined;
} & (
  | {
      /** It comes back after about this long, in seconds or as `'10s'`. Default 5 s. */
      readonly wait?: Duration | undefined;
      readonly skip?: false | undefined;
    }
  | {
      /** It completes without running. */
      readonly skip: true;
      readonly wait?: undefined;
    }
);

const LAYER = 'withoutOverlapping()';
/** The lock of a process that has died is free after this. */
const TTL: Seconds = 60;
const RENEWED_EVERY: Seconds = 20;
const WAIT: Seconds = 5;

/**
 * Lets a job run only while no other job of its class has the same key. Another one comes back later, at no cost in tries, or is
 * skipped.
 *
 * It holds a lock that is renewed while the job runs, and is free a minute after its process has died. A process whose event loop
 * stands still for longer than that can lose it.
 *
 * @throws E_INVALID_MIDDLEWARE_ARGUMENT, E_INVALID_DURATION
 */
export function withoutOverlapping(key: string | number, options: OverlapOptions = {}): Middleware {
  const text = keyText(LAYER, key);
  const { wait, skips, isShared } = checkedOptions(options);
  return {
    async handle(context, next) {
      const job = limitedJob(LAYER, context);
      const { clock, random } = job.application;
      const name = nameOf('overlap', isShared ? '' : job.name, text);
      const lock = new Lock(name, TTL, () => locksFor(job), clock);
      const isOurs = await answerOf(job, () => lock.acquire());
      if (isOurs === undefined) return undefined;
      if (!isOurs) return skips ? undefined : putOff(job, LAYER, wait * (0.8 + random() * 0.4));
      const endKeeping = keeping(lock, text, job);
      try {
        return await next();
      } finally {
        await endKeeping();
      }
    },
  };
}

/** @throws E_NO_RECORDS, CapabilityError */
function locksFor(job: RunningJob): LockStore {
  const keeper = keeperOf(job);
  if (keeper.locks === undefined) throw new CapabilityError(keeper.name, keeper.driver, 'locks', job.name);
  return keeper.locks;
}

/** Keeps the lock until the job has run. The function that it returns ends that; it never rejects: the job has run, whatever becomes of the lock. */
function keeping(lock: Lock, key: string, job: RunningJob): () => Promise<void> {
  const { application, name, id } = job;
  let timer: Timer | undefined;
  let isOver = false;
  const attempt = async (ask: () => Promise<boolean>): Promise<boolean | undefined> => {
    try {
      return await ask();
    } catch (error) {
      application.report(error, { job, during: `the lock of ${LAYER} in ${name}` });
      return undefined;
    }
  };
  const renewLater = (): void => {
    timer = application.clock.after(RENEWED_EVERY * 1000, () => void renew());
  };
  const renew = async (): Promise<void> => {
    // The run was recorded without its handler, which hangs: the job itself is handed out again, and would wait for its own lock.
    if (job.endedAs !== undefined) return;
    // Once it has expired, it is ours again if nobody else has taken it.
    const isOurs = await attempt(async () => (await lock.renew()) || isOver || lock.acquire());
    if (isOver) return;
    if (isOurs !== false) return renewLater();
    application.logger.warn(
      { job: name, id, key },
      `${name} ${id} runs for longer than it could hold its lock, because its process stood still or the store was away: ` +
        `another job may run beside it without overlapping '${key}' being prevented.`,
    );
  };
  renewLater();
  return async () => {
    isOver = true;
    timer?.cancel();
    await attempt(() => lock.release());
  };
}

function checkedOptions(options: unknown): {
  readonly wait: Seconds;
  readonly skips: boolean;
  readonly isShared: boolean;
} {
  if (typeof options !== 'object' || options === null) throw invalidMiddlewareArgument(LAYER, options, OPTIONS);
  const { wait, skip = false, shared = false, ...others } = options as Readonly<Record<string, unknown>>;
  const areRight = typeof skip === 'boolean' && typeof shared === 'boolean' && Object.keys(others).length === 0;
  if (!areRight || (skip && wait !== undefined)) throw invalidMiddlewareArgument(LAYER, options, OPTIONS);
  const seconds = wait === undefined ? WAIT : durationSeconds(wait, `wait of ${LAYER}`);
  if (seconds <= 0)
    throw invalidMiddlewareArgument(LAYER, wait, 'wait is a time above 0, after which the job comes back.');
  warnOfManySeconds(wait, `wait of ${LAYER}`);
  return { wait: seconds, skips: skip, isShared: shared };
}

const OPTIONS = "Give { wait: '5s' } or { skip: true }, and { shared: true } for a key of several classes.";
