/**
 * Writes the ends of reservations to SQS.
 *
 * A message cannot be changed, so on a standard queue what goes back with other counters is sent anew and then deleted, in
 * this order: a crash between the two doubles a job, and never loses one. On a FIFO queue that would cost it its place in its
 * group: there it becomes visible again as it is.
 */
import type { Clock } from '../../base/clock';
import type { Settlement, SettleResult } from '../contract';
import { CapabilityError } from '../errors';
import type { EntryResult } from './batches';
import { Holding, sharedNow } from './holding';
import { entryOf, textWith } from './message';
import { isLostReceipt } from './refusals';
import type { SqsQueue } from './sqs-queue';

interface Ending {
  readonly index: number;
  readonly settlement: Exclude<Settlement, { outcome: 'failed' }>;
  readonly holding: Holding;
  sent: boolean;
  error?: Error | undefined;
}

export class Outcomes {
  readonly #connection: string;
  readonly #clock: Clock;
  readonly #queueOf: (name: string) => SqsQueue;

  constructor(connection: string, clock: Clock, queueOf: (name: string) => SqsQueue) {
    this.#connection = connection;
    this.#clock = clock;
    this.#queueOf = queueOf;
  }

  /** @throws what the first that failed was refused with; the others have ended, and say so when they are settled again */
  async settle(settlements: readonly Settlement[]): Promise<readonly SettleResult[]> {
    const ends = settlements.map((settlement) => {
      // Written to the failed store of another connection, it is completed here.
      if (settlement.outcome === 'failed') throw new CapabilityError(this.#connection, 'sqs', 'failed');
      return settlement;
    });
    const now = sharedNow(this.#clock);
    const endings: Ending[] = [];
    const results = ends.map((settlement, index): SettleResult => {
      const holding = Holding.of(settlement.reservation);
      const claim = holding?.claim(now) ?? 'lost';
      if (holding === undefined || claim === 'lost') return 'lost';
      if (claim !== 'done') endings.push({ index, settlement, holding, sent: claim === 'sent' });
      return 'settled';
    });
    const queues = new Set(endings.map(({ settlement }) => settlement.reservation.queue));
    await Promise.all(
      [...queues].map(async (queue) => {
        const own = endings.filter(({ settlement }) => settlement.reservation.queue === queue);
        const lost = await this.#end(this.#queueOf(queue), own);
        for (const { index } of lost) results[index] = 'lost';
      }),
    );
    const failed = endings.find(({ error }) => error !== undefined);
    for (const { holding, error, sent } of endings) {
      if (error !== undefined) holding.giveBack(sent);
      else if (failed === undefined) holding.end();
      else holding.done();
    }
    if (failed?.error !== undefined) throw failed.error;
    return results;
  }

  /** Gives those that were lost. Never throws: what failed bears its error. */
  async #end(queue: SqsQueue, endings: readonly Ending[]): Promise<readonly Ending[]> {
    try {
      const shown = queue.isFifo ? endings.filter(isRelease) : [];
      const back = queue.isFifo ? [] : endings.filter((ending) => isRelease(ending) && !ending.sent);
      await this.#sendAnew(queue, back);
      const over = endings.filter((ending) => !shown.includes(ending) && ending.error === undefined);
      const [hidden, deleted] = await Promise.all([
        this.#show(queue, shown),
        queue.delete(over.map(({ holding }) => holding.token.receipt)),
      ]);
      return [...lostOf(shown, hidden), ...lostOf(over, deleted).filter(({ sent }) => !sent)];
    } catch (error) {
      // The queue's address was not found.
      for (const ending of endings) ending.error ??= error as Error;
      return [];
    }
  }

  async #sendAnew(queue: SqsQueue, endings: readonly Ending[]): Promise<void> {
    const entries = endings.map(({ settlement, holding: { token } }) => {
      const { reservation, delay, counters } = settlement as Release;
      const { group, attributes } = token;
      return entryOf({ payload: textWith(reservation.payload, counters), delay, group, attributes });
    });
    const sent = await queue.send(entries);
    endings.forEach((ending, index) => {
      const result = sent[index]!;
      if (result.done) ending.sent = true;
      else ending.error = result.error;
    });
  }

  #show(queue: SqsQueue, endings: readonly Ending[]): Promise<readonly EntryResult[]> {
    const now = sharedNow(this.#clock);
    const held = endings.map(({ settlement, holding }) => ({
      receipt: holding.token.receipt,
      seconds: Math.max(holding.hideable((settlement as Release).delay, now), 0),
    }));
    for (const { seconds } of held) queue.noteDelay(seconds);
    return queue.hide(held, 'jobs were not given back');
  }
}

type Release = Extract<Settlement, { outcome: 'released' }>;

function isRelease({ settlement }: Ending): boolean {
  return settlement.outcome === 'released';
}

function lostOf(endings: readonly Ending[], results: readonly EntryResult[]): readonly Ending[] {
  return endings.filter((ending, index) => {
    const result = results[index]!;
    if (result.done) return false;
    if (result.code !== undefined && isLostReceipt(result.code)) return true;
    ending.error = result.error;
    return false;
  });
}
