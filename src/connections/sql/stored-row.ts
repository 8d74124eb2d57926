/** A job as all databases are asked for it: columns in one order, values as each of them writes them. */
import type { StoredJob } from './job-text';

export const COUNTERS = 'attempts, crashes, exceptions, timeouts, releases';

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

/** @param rows of cancelled jobs: `id`, and the reason, if one was given */
export function cancellationsOf(rows: readonly (readonly unknown[])[]): ReadonlyMap<number, true | string> {
  return new Map(rows.map(([id, reason]) => [Number(id), (reason ?? null) === null ? true : String(reason)]));
}
