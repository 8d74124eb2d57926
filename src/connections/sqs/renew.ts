/** Renews the leases of messages. */
import type { Milliseconds, Seconds } from '../../base/clock';
import type { RenewResult, Reservation } from '../contract';
import { Holding } from './holding';
import { isLostReceipt } from './refusals';
import type { SqsQueue } from './sqs-queue';

/**
 * One result for each, in order. A job that is no longer ours is lost, and so is one after 12 hours, when SQS renews no
 * more.
 *
 * @param now by the clock that all threads share
 * @throws the first error
 */
export async function renew(
  queue: SqsQueue,
  reservations: readonly Reservation[],
  lease: Seconds,
  now: Milliseconds,
): Promise<readonly RenewResult[]> {
  const results = reservations.map((): RenewResult => 'lost');
  const held = reservations.flatMap((reservation, index) => {
    const holding = Holding.of(reservation);
    const seconds = holding?.isOurs(now) === true ? holding.hideable(lease, now) : 0;
    return seconds > 0 ? [{ index, holding: holding!, receipt: holding!.token.receipt, seconds }] : [];
  });
  const hidden = await queue.hide(held, `the leases of ${held.length} jobs were not renewed`);
  let failure: Error | undefined;
  for (const [at, { index, holding, seconds }] of held.entries()) {
    const result = hidden[at]!;
    if (result.done) {
      holding.leaseUntil(now + seconds * 1000);
      results[index] = 'renewed';
    } else if (!isLostReceipt(result.code)) failure ??= result.error;
  }
  if (failure !== undefined) throw failure;
  return results;
}
