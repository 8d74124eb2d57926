/**
 * A job as stored in the tables. While it is there its counters are in columns, and its payload stays as pushed. Readers see
 * one text with the counters in it, as on every other driver.
 */
import type { Milliseconds, Seconds } from '../../base/clock';
import { countersIn, noCounters, readCounters, readCountersOfAny, readId, withCounters } from '../../payload/counters';
import type { Counters } from '../../payload/counters';
import { isTrue } from './dialect';
import type { RowId } from './statement';

export interface NewJob {
  readonly payload: string | Buffer;
  /** The payload's `id`; '' if it has none. */
  readonly uuid: string;
  readonly counters: Counters;
  readonly delay: Seconds;
  /** Seconds since 1970 by the store's clock, instead of `delay`. */
  readonly due?: Seconds | undefined;
}

/** The payload as pushed; the counters in its text are from that time. */
export interface StoredJob {
  readonly id: RowId;
  readonly payload: Buffer;
  readonly counters: Counters;
  /** Whether it was cancelled while running, or the reason. */
  readonly cancelled: boolean | string;
  /** Seconds since 1970: when it becomes ready, or when its lease ends. */
  readonly at: Seconds | undefined;
}

/** Takes the counters from the pushed payload. A payload that is not a JSON object is pushed all the same. */
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

/** The payload as another driver would list it. If no counter has changed, the text is left alone. */
export function shownText({ payload, counters }: StoredJob): Buffer {
  const inText = countersIn(payload);
  return inText === undefined || same(inText, counters) ? payload : withCounters(payload, counters);
}

const same = (a: Counters, b: Counters): boolean => valuesOf(a).join() === valuesOf(b).join();

export const COUNTERS = 'attempts, crashes, exceptions, timeouts, releases';

/** In the order of `COUNTERS`. */
export function valuesOf({ attempts, crashes, exceptions, timeouts, releases }: Counters): readonly number[] {
  return [attempts, crashes, exceptions, timeouts, releases];
}

/**
 * A counter above this was written by another program or by hand. Taken as is, it would overflow or exceed what a token can
 * hold, and block all jobs behind it.
 */
export const MOST_COUNTED = 1e15;

/**
 * The column may hold anything; in SQLite even text. The bound is doubled as a job reserved since then may exceed it
 * slightly.
 */
function counted(value: unknown): number {
  const number = Math.trunc(Number(value));
  return Number.isNaN(number) ? 0 : Math.min(Math.max(number, 0), 2 * MOST_COUNTED);
}

/** @param row `id`, `payload`, the counters, `cancelled`, and when the job becomes ready or its lease ends */
export function jobOf(row: readonly unknown[]): StoredJob {
  const [id, payload, attempts, crashes, exceptions, timeouts, releases, cancelled, at = null] = row;
  return {
    id: String(id),
    payload: Buffer.isBuffer(payload) ? payload : Buffer.from(String(payload)),
    counters: {
      attempts: counted(attempts),
      crashes: counted(crashes),
      exceptions: counted(exceptions),
      timeouts: counted(timeouts),
      releases: counted(releases),
    },
    cancelled: isTrue(cancelled),
    at: at === null || Number.isNaN(Number(at)) ? undefined : Number(at),
  };
}
