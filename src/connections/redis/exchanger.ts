/** Settles and reserves: on a single Redis in one call for all queues, in a cluster in one call for each queue. */
import type { ReserveReply, Wanted, Settled, Settlement } from '../contract';
import { nextOf, NOTHING, Settling } from '../kit/connection';
import type { FirstAttempt } from './caller';
import { bytesOf, ExchangeLane } from './exchange-lane';
import { newRecords } from './lane';
import { SlotExchanger } from './slot-exchanger';
import type { RedisStore } from './store';

export class Exchanger {
  readonly #store: RedisStore;
  readonly #settling = new Settling(bytesOf);
  /** Two calls may be under way: while Redis answers one, the jobs of the other run. */
  readonly #lanes: readonly [ExchangeLane, ExchangeLane];
  /** For calls queued behind a blocking read, so that they hold up no other. */
  readonly #waiting: ExchangeLane;
  readonly #slots: SlotExchanger | undefined;

  constructor(store: RedisStore) {
    this.#store = store;
    const records = newRecords();
    const lane = (): ExchangeLane => new ExchangeLane(store, this.#settling, records);
    this.#lanes = [lane(), lane()];
    this.#waiting = lane();
    this.#slots = store.cluster && new SlotExchanger(store, store.cluster, this.#settling);
  }

  // Not async, nor is anything it calls: a worker that runs one job at a time pays for each promise with each job.
  exchange(settlements: readonly Settlement[], request?: Wanted): Promise<Settled> {
    for (const settlement of settlements) for (const { queue } of nextOf(settlement)) this.#store.names.note(queue);
    const hasFailed = settlements.some(({ outcome }) => outcome === 'failed');
    const exchange = (): Promise<Settled> =>
      this.#slots?.exchange(settlements, request) ?? this.#together(settlements, request);
    return (hasFailed ? this.#makeFailedKnown(settlements).then(exchange) : exchange()).then((settled) => {
      this.#heed(settled.reply);
      return settled;
    });
  }

  /** Not for clusters. @param first sends the call when it chooses to */
  async reserveBy(first: FirstAttempt, request: Wanted): Promise<ReserveReply> {
    const { reply } = await this.#waiting.exchange([], request, false, first);
    this.#heed(reply);
    return reply;
  }

  #heed({ forgotten, setAside }: ReserveReply): void {
    const { names, cluster } = this.#store;
    if (forgotten === true) {
      names.forget();
      cluster?.ordered.forget();
    }
    for (const { queue } of setAside) names.note(queue);
  }

  // Before the failure is written: the lists of failed jobs read only queues whose names are known.
  async #makeFailedKnown(settlements: readonly Settlement[]): Promise<void> {
    for (const { outcome, reservation } of settlements)
      if (outcome === 'failed') await this.#makeKnown(reservation.queue);
  }

  #makeKnown(queue: string): Promise<unknown> {
    const { names, cluster, keys } = this.#store;
    const adding = names.tell(queue);
    // A silent master of the names does not hold up failures on other masters: the next failure adds the name again.
    return cluster?.masters.inTime(keys.names, adding) ?? adding;
  }

  #together(settlements: readonly Settlement[], request: Wanted | undefined): Promise<Settled> {
    const lane = this.#freeLane(request);
    return this.#settling.inPages(settlements, (page, isLast) =>
      page.length === 0 && request === undefined
        ? Promise.resolve(NOTHING)
        : lane.exchange(page, isLast ? request : undefined),
    );
  }

  #freeLane(request: Wanted | undefined): ExchangeLane {
    const [first, second] = this.#lanes;
    if (first.takes(request) || !second.takes(request)) return first;
    return second;
  }
}
