/** Settles and reserves, in as many calls as it takes: mostly one, in a cluster one for each queue. */
import type { ReserveRequest, Settlement, SettleResult } from '../contract';
import type { RedisCaller } from './caller';
import { type Exchanged, ExchangeLane, rememberWritten } from './exchange-lane';
import type { Keys } from './keys';
import { pagesOf } from '../../base/pages';
import { newRecords } from './lane';
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
  /** Two calls may be under way: while Redis answers one, the jobs of the other run. */
  readonly #lanes: readonly [ExchangeLane, ExchangeLane];
  readonly #slots: SlotExchanger | undefined;

  constructor(caller: RedisCaller, keys: Keys, names: QueueNames, cluster: ClusterQueues | undefined) {
    this.#names = names;
    this.#keys = keys;
    this.#cluster = cluster;
    const recorded = newRecords();
    this.#lanes = [new ExchangeLane(caller, keys, recorded), new ExchangeLane(caller, keys, recorded)];
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
    const lane = this.#freeLane(request);
    return pages.length > 1 ? oneByOne(lane, pages, request) : lane.exchange(pages[0] ?? [], request, false);
  }

  #freeLane(request: ReserveRequest | undefined): ExchangeLane {
    const [first, second] = this.#lanes;
    if (first.takes(request) || !second.takes(request)) return first;
    return second;
  }
}

/** The last page reserves as well. Once one was answered, the others must be: the caller takes all or nothing. */
async function oneByOne(
  lane: ExchangeLane,
  pages: readonly (readonly Settlement[])[],
  request: ReserveRequest | undefined,
): Promise<Exchanged> {
  const results: SettleResult[] = [];
  const last = pages.length - 1;
  try {
    for (let at = 0; at < last; at += 1) {
      results.push(...(await lane.exchange(pages[at]!, undefined, at > 0)).results);
    }
    const exchanged = await lane.exchange(pages[last]!, request, true);
    return { results: [...results, ...exchanged.results], reply: exchanged.reply };
  } catch (error) {
    rememberWritten(pages.flat(), results);
    throw error;
  }
}
