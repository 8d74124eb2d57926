/** The payload with which a failed job goes back to its queue: fresh tries, nothing else changed. */
import type { Milliseconds } from '../../base/clock';
import { afterRetry, countersIn, fenceOf, readCounters, withCounters, withRetryMark } from '../../payload/counters';
import { overlapKey, placeOfMembers, withoutUniqueKey } from '../../payload/ties';
import { type Envelope, envelopeIn } from '../../payload/envelope';

/** Fields that set a last moment: Laravel's present one, and the one before it. */
const LAST_MOMENTS = ['retryUntil', 'timeoutAt'];

export function retriedPayload(payload: Buffer, now: Milliseconds): Buffer {
  const counters = countersIn(payload);
  const envelope = envelopeIn(payload);
  // An unreadable payload goes back unchanged, and will be set aside again with its reason.
  if (counters === undefined || envelope === undefined) return payload;
  const { occurrence } = envelope;
  // Each occurrence is a run of its own, which its schedule has let go: others neither keep it away nor wait for it.
  const freed = occurrence === undefined ? payload : withoutUniqueKey(payload, overlapKey(occurrence.schedule));
  const retried = withRetryMark(withCounters(freed, afterRetry(counters)), fenceOf(counters));
  const { retryUntil } = envelope.chosen;
  return retryUntil === undefined || retryUntil > now ? retried : withoutLastMoment(retried, envelope);
}

// Of two equal keys the last one wins, so the text before it stays unchanged, to the byte.
function withoutLastMoment(payload: Buffer, { fields }: Envelope): Buffer {
  const place = placeOfMembers(payload, readCounters(payload)?.bodyEnd ?? payload.length - 1);
  const cleared = LAST_MOMENTS.filter((field) => field in fields).map((field) => `,"${field}":null`);
  return Buffer.concat([payload.subarray(0, place), Buffer.from(cleared.join('')), payload.subarray(place)]);
}
