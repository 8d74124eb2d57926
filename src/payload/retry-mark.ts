/**
 * A job that is sent back from the failed jobs is marked with its fence at that time.
 *
 * `releases` takes over that fence, so that no text returns. The mark says how much of it was there before the retry, so
 * that a job whose name no worker knows has its full time again. It stands before the `id`, which a store finds without
 * parsing only where it is last.
 */
import { type Counters, countersTail, readCounters } from './counters';

export const RETRY_MARK = 'fenceAtRetry';

/** The end of a body: the mark of an earlier retry and the id, where they are there. */
const PLACE = new RegExp(String.raw`(?:,"${RETRY_MARK}":\d{1,15})?((?:,"id":"[^"\\]+")?)$`);

/** The same payload with this mark. It ends in our counters, and has other members. */
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
