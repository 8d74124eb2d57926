/**
 * A job as the tables hold it. Its counters stand in columns while it is in the table, and the payload stays as it was
 * pushed; whoever sees the job sees one text with the counters in it, as on every other driver.
 */
import type { Milliseconds, Seconds } from '../../base/clock';
import { noCounters, readCounters, readCountersOfAny, readId, withCounters } from '../../payload/counters';
import type { Counters } from '../../payload/counters';

export interface NewJob {
  readonly payload: string | Buffer;
  /** The payload's `id`; '' where it has none. */
  readonly uuid: string;
  readonly counters: Counters;
  readonly delay: Seconds;
  /** Seconds since 1970, by the store's clock, in place of `delay`. */
  readonly due?: Seconds | undefined;
}

/** A payload as it was pushed; the counters in its text are those of that time. */
export interface StoredJob {
  readonly id: number;
  readonly payload: Buffer;
  readonly counters: Counters;
  /** Cancelled while it ran: whether, or why. */
  readonly cancelled: boolean | string;
  /** Seconds since 1970: when it becomes ready, or its lease ends. */
  readonly at: Seconds | undefined;
}

/** Undefined: the payload is no JSON object. */
export function countersIn(payload: Buffer): Counters | undefined {
  return readCounters(payload)?.counters ?? readCountersOfAny(payload);
}

/** With what a pushed text says that it went through already; what is no JSON object is pushed all the same. */
export function newJob(payload: string | Buffer, delay: Seconds, dueAt?: Milliseconds): NewJob {
  const bytes = typeof payload === 'string' ? Buffer.from(payload) : payload;
  const canonical = readCounters(bytes);
  const counters = canonical?.counters ?? readCountersOfAny(bytes) ?? noCounters;
  return {
    payload,
    delay,
    due: dueAt === undefined ? undefined : dueAt / 1000,
    uuid: readId(bytes, canonical) ?? '',
    counters,
  };
}

/** As it would stand in the list of another driver: nothing is added to a text that was never touched. */
export function shownText({ payload, counters }: StoredJob): Buffer {
  const inText = countersIn(payload);
  return inText === undefined || same(inText, counters) ? payload : withCounters(payload, counters);
}

function same(a: Counters, b: Counters): boolean {
  return (
    a.attempts === b.attempts &&
    a.crashes === b.crashes &&
    a.exceptions === b.exceptions &&
    a.timeouts === b.timeouts &&
    a.releases === b.releases
  );
}

export const COUNTERS = 'attempts, crashes, exceptions, timeouts, releases';

/** In the order of `COUNTERS`. */
export function valuesOf({ attempts, crashes, exceptions, timeouts, releases }: Counters): readonly number[] {
  return [attempts, crashes, exceptions, timeouts, releases];
}

/**
 * A counter above this was not counted by us: another program, or somebody by hand, has written it. Taken as it is, it would
 * overflow, or be no number that a token can hold, and no job behind it would be had.
 */
export const MOST_COUNTED = 1e15;

/** Whatever stands there; in SQLite that may be a text. One that was reserved since may have a little more. */
function counted(value: unknown): number {
  const number = Math.trunc(Number(value));
  return Number.isNaN(number) ? 0 : Math.min(Math.max(number, 0), 2 * MOST_COUNTED);
}

/** @param row `id`, `payload`, the counters, `cancelled`, and when the job becomes ready or its lease ends */
export function jobOf(row: readonly unknown[]): StoredJob {
  const [id, payload, attempts, crashes, exceptions, timeouts, releases, cancelled, at = null] = row;
  return {
    id: Number(id),
    payload: Buffer.isBuffer(payload) ? payload : Buffer.from(String(payload)),
    counters: {
      attempts: counted(attempts),
      crashes: counted(crashes),
      exceptions: counted(exceptions),
      timeouts: counted(timeouts),
      releases: counted(releases),
    },
    cancelled: cancelled === 't' || Number(cancelled) > 0,
    at: at === null || Number.isNaN(Number(at)) ? undefined : Number(at),
  };
}
