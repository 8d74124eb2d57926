/** `rateLimited`: at most so many starts in any window of time, over all workers. */
import { sleep, type Milliseconds } from '../base/clock';
import { durationSeconds, type Duration } from '../job/duration';
import { invalidMiddlewareArgument } from '../job/errors';
import type { Middleware } from '../job/middleware';
import { answerOf, keyText, limitedJob, nameOf, putOff } from './deferral';
import { RateAsker, type Limit } from './rate-asker';
import type { WindowRate } from './rates';

/** At most `allow` starts in any window of this length. */
export interface Rate {
  /** A whole number, at least 1. */
  readonly allow: number;
  /** The length of the window, in seconds or as `'1m'`: at least 100 ms. */
  readonly every: Duration;
}

/** One rate, or several that all hold. */
export type Rates = Rate | readonly [Rate, ...Rate[]];

const LAYER = 'rateLimited()';
/** So long a job waits in its slot, all in all, before it is put off. */
const IN_PLACE: Milliseconds = 250;
/** Shorter windows would be shorter than calls to the store. */
const SHORTEST: Milliseconds = 100;

/**
 * Lets at most so many jobs start in any window of time, over all workers that share the store. All jobs with the same key share
 * its rates, whatever their classes. A job that may not start is put off to a slot of its own, at no cost in tries.
 *
 * Give several keys to one call, `rateLimited({ psp: rate, 'tenant:7': rate })`: then none is charged unless all let the job start.
 *
 * @throws E_INVALID_MIDDLEWARE_ARGUMENT, E_INVALID_DURATION
 */
export function rateLimited(key: string | number, rates: Rates): Middleware;
export function rateLimited(limits: Readonly<Record<string, Rates>>): Middleware;
export function rateLimited(given: unknown, rates?: unknown): Middleware {
  const limits = limitsOf(given, rates);
  return {
    async handle(context, next) {
      const job = limitedJob(LAYER, context);
      const { clock } = job.application;
      const asker = RateAsker.for(job);
      // Reservations that were no attempts: it was put off before.
      let again = job.fence > job.attempts;
      // A test that moves the clock waits for the job.
      let patience = clock.isStill === true ? 0 : IN_PLACE;
      for (;;) {
        const asking = { again, patience };
        const wait = await answerOf(job, () => asker.ask(limits, asking));
        if (wait === undefined) return undefined;
        if (wait === 0) return next();
        if (wait > patience) return putOff(job, LAYER, wait / 1000);
        await sleep(clock, wait);
        patience -= wait;
        again = true;
      }
    },
  };
}

function limitsOf(given: unknown, rates: unknown): readonly Limit[] {
  if (typeof given !== 'object' || given === null || Array.isArray(given)) {
    const key = keyText(LAYER, given);
    return [limitOf(key, ratesOf(`rateLimited('${key}')`, rates))];
  }
  const entries = Object.entries(given);
  if (entries.length === 0 || rates !== undefined) throw invalidMiddlewareArgument(LAYER, rates ?? given, FORMS);
  return entries.map(([key, own]) => limitOf(keyText(LAYER, key), ratesOf(`rateLimited({ '${key}' })`, own)));
}

const limitOf = (key: string, rates: readonly WindowRate[]): Limit => ({ key, id: nameOf('rate', '', key), rates });

function ratesOf(subject: string, given: unknown): readonly WindowRate[] {
  const list: readonly unknown[] = Array.isArray(given) ? given : [given];
  if (list.length === 0) throw invalidMiddlewareArgument(subject, given, RATE);
  return list.map((rate) => windowRate(subject, rate)).toSorted((one, other) => one.every - other.every);
}

function windowRate(subject: string, given: unknown): WindowRate {
  if (typeof given !== 'object' || given === null) throw invalidMiddlewareArgument(subject, given, RATE);
  const { allow, every, ...others } = given as { readonly allow?: unknown; readonly every?: unknown };
  if (allow === undefined || every === undefined || Object.keys(others).length > 0)
    throw invalidMiddlewareArgument(subject, given, RATE);
  if (!Number.isSafeInteger(allow) || (allow as number) < 1) throw invalidMiddlewareArgument(subject, allow, ALLOW);
  const length = durationSeconds(every, `every of ${subject}`) * 1000;
  if (length < SHORTEST) throw invalidMiddlewareArgument(subject, every, EVERY);
  return { allow: allow as number, every: length };
}

const RATE = "Give { allow, every }, such as { allow: 30, every: '1m' }.";
const FORMS = `Give a key and its rates, or one object of them: rateLimited({ psp: { allow: 30, every: '1m' } }).`;
const ALLOW = 'allow is a whole number from 1; to stop a queue, pause it.';
const EVERY = "every is at least '100ms': nobody could count shorter windows over a network.";
