/** Starts the leases of messages anew. */
import type { Milliseconds, Seconds } from '../../base/clock';
import type { Reservation } from '../contract';
import type { EntryResult } from './batches';
import { Holding } from './holding';
import type { SqsQueue } from './sqs-queue';

/**
 * One result for each, in order. Undefined: it is not ours any more, or SQS keeps it with us no longer.
 *
 * @param now by the clock that all threads share
 */
export async function renew(
  queue: SqsQueue,
  reservations: readonly Reservation[],
  lease: Seconds,
  now: Milliseconds,
): Promise<readonly (EntryResult | undefined)[]> {
  const results: (EntryResult | undefined)[] = reservations.map(() => undefined);
  const held = reservations.flatMap((reservation, index) => {
    const holding = Holding.of(reservation);
    const seconds = holding?.isOurs(now) === true ? holding.hideable(lease, now) : 0;
    return seconds > 0 ? [{ index, holding: holding!, receipt: holding!.token.receipt, seconds }] : [];
  });
  const hidden = await queue.hide(held, `the leases of ${held.length} jobs were not renewed`);
  held.forEach(({ index, holding, seconds }, at) => {
    const result = hidden[at]!;
    if (result.done) holding.leaseUntil(now + seconds * 1000);
    results[index] = result;
  });
  return results;
}
