/** Settles and reserves, in as many calls as it takes: mostly one, in a cluster one for each queue. */
import type { Answer, ReserveRequest, Settlement, SettleResult } from '../contract';
import type { RedisCaller } from './caller';
import { type Exchanged, ExchangeLane } from './exchange-lane';
import type { Keys } from './keys';
import { pagesOf } from '../../base/pages';
import type { QueueNames } from './queue-names';
import type { SilentMasters } from './silent-masters';
import { SlotExchanger, type SlotsExchanged } from './slot-exchanger';

/** What there is beside the queues themselves, in a cluster. */
export interface ClusterQueues {
  /** Those whose workers hear of orders. */
  readonly ordered: QueueNames;
  readonly masters: SilentMasters;
}

export class Exchanger {
  readonly #names: QueueNames;
  readonly #keys: Keys;
  readonly #cluster: ClusterQueues | undefined;
  /** All queues of a server that is no cluster share it. */
  readonly #lane: ExchangeLane;
  readonly #slots: SlotExchanger | undefined;

  constructor(caller: RedisCaller, keys: Keys, names: QueueNames, cluster: ClusterQueues | undefined) {
    this.#names = names;
    this.#keys = keys;
    this.#cluster = cluster;
    this.#lane = new ExchangeLane(caller, keys);
    this.#slots = cluster && new SlotExchanger(caller, keys, cluster.ordered, cluster.masters);
  }

  async exchange(settlements: readonly Settlement[], request: ReserveRequest | undefined): Promise<SlotsExchanged> {
    // Before the failure is written: the lists of failed jobs look only at queues whose name is known.
    for (const { outcome, reservation } of settlements)
      if (outcome === 'failed') await this.#makeKnown(reservation.queue);
    const exchanged = await (this.#slots?.exchange(settlements, request) ?? this.#together(settlements, request));
    if (exchanged.reply.forgotten === true) {
      this.#names.forget();
      this.#cluster?.ordered.forget();
    }
    for (const { queue } of exchanged.reply.setAside) this.#names.add(queue).catch(() => undefined);
    return exchanged;
  }

  #makeKnown(queue: string): Promise<unknown> {
    const adding = this.#names.tell(queue);
    // Failures on other masters are not held up by the one that has the names: the next one says the name again.
    return this.#cluster?.masters.inTime(this.#keys.names, adding) ?? adding;
  }

  #together(settlements: readonly Settlement[], request: ReserveRequest | undefined): Promise<Exchanged> {
    const pages = [...pagesOf(settlements, ({ reservation }) => reservation.payload.length)];
    return pages.length > 1 ? this.#oneByOne(pages, request) : this.#lane.exchange(pages[0] ?? [], request, false);
  }

  /** The last page reserves as well. Once one was answered, the others must be: the caller takes all or nothing. */
  async #oneByOne(pages: readonly (readonly Settlement[])[], request: ReserveRequest | undefined): Promise<Exchanged> {
    const results: Answer<SettleResult>[] = [];
    const last = pages.length - 1;
    for (let at = 0; at < last; at += 1) {
      results.push(...(await this.#lane.exchange(pages[at]!, undefined, at > 0)).results);
    }
    const exchanged = await this.#lane.exchange(pages[last]!, request, true);
    return { results: [...results, ...exchanged.results], reply: exchanged.reply };
  }
}
