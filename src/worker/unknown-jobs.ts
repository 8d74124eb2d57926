/**
 * Jobs that a worker cannot run because it does not know their name or version: how soon each goes back, and when one fails.
 *
 * During a rolling deploy another worker knows them and should meet them soon. They come back after a second, and more and
 * more slowly only if nobody takes them. After a bad deploy they wait for about a day.
 */
import type { Clock, Milliseconds, Seconds } from '../base/clock';
import { Recent } from '../base/collections';

/** A job that was given back this often fails: with the waits below, after about a day. */
const MOST_RELEASES = 288;

/**
 * But not before this time has passed since the worker first met it: a job may have been given back for other reasons
 * (`defer()`, a limit, stops) and be known to the next worker.
 */
const LEAST_WAIT: Milliseconds = 3_600_000;

const SHORTEST: Seconds = 1;
const LONGEST: Seconds = 300;
/** The first waits are the shortest; after this many, each is twice as long as the one before. */
const SHORT_WAITS = 20;

/** Spreads their returns: a hundred thousand of them must not keep a worker from jobs that it can run. */
const SPACING: Milliseconds = 20;

/** The log mentions each name once in this time. */
const QUIET: Milliseconds = 60_000;

const MOST_NAMES = 1000;
const MOST_JOBS = 10_000;

export interface Meeting {
  /** Nobody came who knows the job: it fails. */
  readonly isOver: boolean;
  readonly delay: Seconds;
  /** The log has mentioned its name just now. */
  readonly isKnown: boolean;
}

export class UnknownJobs {
  readonly #clock: Clock;
  readonly #names = new Recent<string, { readonly metAt: Milliseconds; toldAt: Milliseconds }>(MOST_NAMES);
  /** When each job was first met, and how often it had been given back by then. */
  readonly #jobs = new Recent<string, { readonly metAt: Milliseconds; readonly releases: number }>(MOST_JOBS);
  #lastReturn: Milliseconds = -Infinity;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** @param releases how often the job was given back at no cost, for whatever reason, since it was last retried */
  meet({ name, id }: { readonly name: string; readonly id: string }, releases: number): Meeting {
    const now = this.#clock.monotonic();
    const ofName = this.#names.ensure(name, () => ({ metAt: now, toldAt: -Infinity }));
    const isKnown = now - ofName.toldAt < QUIET;
    if (!isKnown) ofName.toldAt = now;
    const met = this.#jobs.ensure(id, () => ({ metAt: now, releases }));
    // If there are more jobs than we remember, each would seem new again and again: then the name's time counts.
    const { metAt } = this.#jobs.size < MOST_JOBS ? met : ofName;
    const isOver = releases >= MOST_RELEASES && now - metAt >= LEAST_WAIT;
    const wait = Math.min(SHORTEST * 2 ** Math.max(releases - met.releases - SHORT_WAITS + 1, 0), LONGEST);
    const back = Math.max(now + wait * 1000, this.#lastReturn + SPACING);
    this.#lastReturn = Math.min(back, now + LONGEST * 1000);
    return { isOver, delay: Math.round(this.#lastReturn - now) / 1000, isKnown };
  }
}
