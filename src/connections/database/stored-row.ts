/** A job as all databases are asked for it: columns in one order, values as each of them writes them. */
import type { StoredJob } from './job-text';

export const COUNTERS = 'attempts, crashes, exceptions, timeouts, releases';

/** @param row `id`, `payload`, the counters, `cancelled`, and when the job becomes ready or its lease ends */
export function jobOf(row: readonly unknown[]): StoredJob {
  const [id, payload, attempts, crashes, exceptions, timeouts, releases, cancelled, at = null] = row;
  return {
    id: Number(id),
    payload: Buffer.isBuffer(payload) ? payload : Buffer.from(String(payload)),
    counters: {
      attempts: Number(attempts),
      crashes: Number(crashes),
      exceptions: Number(exceptions),
      timeouts: Number(timeouts),
      releases: Number(releases),
    },
    cancelled: cancelled === 't' || Number(cancelled) > 0,
    at: at === null ? undefined : Number(at),
  };
}
