/**
 * Writes the ends of reservations to SQS.
 *
 * A message cannot be changed. On a standard queue a job with new counters is sent again and then its old message deleted,
 * in this order: a crash between the two doubles a job, and never loses one. On a FIFO queue that would cost the job its
 * place in its group, so its message becomes visible again unchanged.
 */
import type { Milliseconds, Seconds } from '../../base/clock';
import { groupsOf } from '../../base/collections';
import type { Settlement, SettleResult, RenewResult, Reservation } from '../contract';
import type { EntryResult } from './outbox';
import { Holding, entryOf, textWith } from './message';
import { isLostReceipt } from './caller';
import type { SqsQueue } from './queue';

interface Ending {
  readonly index: number;
  readonly settlement: Settlement;
  readonly holding: Holding;
  /** Its text was sent again: the old message only has to be deleted. */
  sent: boolean;
  error?: Error | undefined;
}

type Release = Extract<Settlement, { outcome: 'released' }>;

export interface Ended {
  /** Undefined where it failed. */
  readonly results: readonly (SettleResult | undefined)[];
  readonly error?: Error | undefined;
}

/** @param now by the clock that all threads share */
export async function settle(
  settlements: readonly Settlement[],
  queueOf: (name: string) => SqsQueue,
  now: Milliseconds,
): Promise<Ended> {
  const endings: Ending[] = [];
  const results = settlements.map((settlement, index): SettleResult | undefined => {
    const holding = Holding.of(settlement.reservation);
    const claim = holding?.claim(now) ?? 'lost';
    if (holding === undefined || claim === 'lost') return 'lost';
    endings.push({ index, settlement, holding, sent: claim === 'sent' });
    return 'settled';
  });
  const byQueue = groupsOf(endings, ({ settlement }) => settlement.reservation.queue);
  await Promise.all(
    [...byQueue].map(async ([queue, own]) => {
      for (const { index } of await end(queueOf(queue), own, now)) results[index] = 'lost';
    }),
  );
  for (const { index, holding, error, sent } of endings) {
    if (error === undefined) holding.end();
    else {
      holding.giveBack(sent);
      results[index] = undefined;
    }
  }
  return { results, error: endings.find(({ error }) => error !== undefined)?.error };
}

/** Returns those that were lost. Never throws: failed ones get their `error` set. */
async function end(queue: SqsQueue, endings: readonly Ending[], now: Milliseconds): Promise<readonly Ending[]> {
  const released = endings.filter(({ settlement }) => settlement.outcome === 'released');
  const shown = queue.isFifo ? released : [];
  try {
    const unsent = queue.isFifo ? [] : released.filter(({ sent }) => !sent);
    await sendAgain(queue, unsent);
    const over = endings.filter((ending) => !shown.includes(ending) && ending.error === undefined);
    const [visible, deleted] = await Promise.all([
      show(queue, shown, now),
      queue.delete(over.map(({ holding }) => holding.token.receipt)),
    ]);
    return [...lostOf(shown, visible), ...lostOf(over, deleted).filter(({ sent }) => !sent)];
  } catch (error) {
    // The queue's address was not found.
    for (const ending of endings) ending.error ??= error as Error;
    return [];
  }
}

async function sendAgain(queue: SqsQueue, endings: readonly Ending[]): Promise<void> {
  const entries = endings.map(({ settlement, holding }) => {
    const { reservation, delay, counters } = settlement as Release;
    const { group, attributes } = holding.token;
    return entryOf({ payload: textWith(reservation.payload, counters), delay, group, attributes });
  });
  const sent = await queue.send(entries);
  endings.forEach((ending, index) => {
    const result = sent[index]!;
    if (result.done) ending.sent = true;
    else ending.error = result.error;
  });
}

function show(queue: SqsQueue, endings: readonly Ending[], now: Milliseconds): Promise<readonly EntryResult[]> {
  const held = endings.map(({ settlement, holding }) => ({
    receipt: holding.token.receipt,
    seconds: Math.max(holding.hideable((settlement as Release).delay, now), 0),
  }));
  for (const { seconds } of held) queue.noteDelay(seconds);
  return queue.hide(held, 'jobs were not given back');
}

function lostOf(endings: readonly Ending[], results: readonly EntryResult[]): readonly Ending[] {
  return endings.filter((ending, index) => {
    const result = results[index]!;
    if (result.done) return false;
    // An earlier request, whose answer was lost, made the receipt worthless.
    if (isLostReceipt(result.code)) return result.again !== true;
    ending.error = result.error;
    return false;
  });
}

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
