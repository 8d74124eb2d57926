/**
 * What a job that is sent back from the failed jobs bears of its past: its fence at that time.
 *
 * `releases` takes that fence over, so that no text returns; the mark says how much of it was there before, and a name that
 * no worker knows has its full time again. It stands before the `id`, which a store finds without parsing where it is last.
 */
import { type Counters, countersTail, readCounters } from './counters';

export const RETRY_MARK = 'fenceAtRetry';

/** The mark of an earlier retry, and the id, at the end of a body; or only where that ends. */
const PLACE = new RegExp(String.raw`(?:,"${RETRY_MARK}":\d{1,15})?((?:,"id":"[^"\\]+")?)$`);

/** The same payload with this mark; it has counters of ours at its end, and other members. */
export function withRetryMark(payload: Buffer, fence: number): Buffer {
  const canonical = readCounters(payload);
  if (canonical === undefined) return payload;
  // As Latin-1, so that what is not UTF-8 stays as it is.
  const body = payload.toString('latin1', 0, canonical.bodyEnd).replace(PLACE, `,"${RETRY_MARK}":${fence}$1`);
  return Buffer.from(body + countersTail(canonical.counters), 'latin1');
}

/** Reservations that were given back at no cost since the last retry, or ever. */
export function releasesSinceRetry(fields: Readonly<Record<string, unknown>>, { releases }: Counters): number {
  const fence = fields[RETRY_MARK];
  return typeof fence === 'number' && fence <= releases ? releases - fence : releases;
}
