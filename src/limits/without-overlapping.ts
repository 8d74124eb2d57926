/** `withoutOverlapping`: jobs of one key do not run at the same time. */
import type { Seconds, Timer } from '../base/clock';
import { Lock } from '../application/lock';
import { CapabilityError } from '../connections/errors';
import type { LockStore } from '../connections/lock-store';
import { durationSeconds, warnOfManySeconds, type Duration } from '../job/duration';
import { invalidMiddlewareArgument } from '../job/errors';
import type { Middleware } from '../job/middleware';
import { answerOf, keyText, keeperOf, limitedJob, nameOf, putOff, type LimitedJob } from './deferral';

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
      const keeping = new Keeping(lock, text, job);
      try {
        return await next();
      } finally {
        await keeping.end();
      }
    },
  };
}

/** @throws E_NO_RECORDS, CapabilityError */
function locksFor(job: LimitedJob): LockStore {
  const keeper = keeperOf(job);
  if (keeper.locks === undefined) throw new CapabilityError(keeper.name, keeper.driver, 'locks');
  return keeper.locks;
}

/** Keeps the lock until the job has run. Never throws: the job has run, whatever becomes of the lock. */
class Keeping {
  readonly #lock: Lock;
  readonly #key: string;
  readonly #job: LimitedJob;
  #timer: Timer | undefined;
  #isOver = false;

  constructor(lock: Lock, key: string, job: LimitedJob) {
    this.#lock = lock;
    this.#key = key;
    this.#job = job;
    this.#renewLater();
  }

  async end(): Promise<void> {
    this.#isOver = true;
    this.#timer?.cancel();
    await this.#try(() => this.#lock.release());
  }

  #renewLater(): void {
    const { clock } = this.#job.application;
    this.#timer = clock.after(RENEWED_EVERY * 1000, () => void this.#renew());
  }

  async #renew(): Promise<void> {
    // The run was recorded without its handler, which hangs: the job itself is handed out again, and would wait for its own lock.
    if (this.#job.endedAs !== undefined) return;
    // Once it has expired, it is ours again if nobody else has taken it.
    const isOurs = await this.#try(async () => (await this.#lock.renew()) || this.#isOver || this.#lock.acquire());
    if (this.#isOver) return;
    if (isOurs !== false) return this.#renewLater();
    const { application, name, id } = this.#job;
    application.logger.warn(
      { job: name, id, key: this.#key },
      `${name} ${id} runs for longer than it could hold its lock, because its process stood still or the store was away: ` +
        `another job may run beside it without overlapping '${this.#key}' being prevented.`,
    );
  }

  async #try(ask: () => Promise<boolean>): Promise<boolean | undefined> {
    try {
      return await ask();
    } catch (error) {
      this.#job.application.report(error, { job: this.#job, during: `the lock of ${LAYER} in ${this.#job.name}` });
      return undefined;
    }
  }
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
