/** Settles and reserves, in as many calls as it takes: mostly one, in a cluster one for each queue. */
import type { ReserveRequest, Settlement, SettleResult } from '../../queue/connection';
import { QueueUnavailableError } from '../errors';
import type { RedisCaller } from './caller';
import { type Exchanged, ExchangeLane } from './exchange-lane';
import type { Keys } from './keys';
import { pagesOf } from '../pages';
import type { Permissions } from './permissions';
import type { QueueNames } from './queue-names';
import { SlotExchanger } from './slot-exchanger';

export class Exchanger {
  readonly #permissions: Permissions;
  readonly #names: QueueNames;
  readonly #ordered: QueueNames | undefined;
  /** All queues of a server that is no cluster share it. */
  readonly #lane: ExchangeLane;
  readonly #slots: SlotExchanger | undefined;

  /** @param ordered in a cluster: the queues whose workers hear of orders */
  constructor(
    caller: RedisCaller,
    keys: Keys,
    permissions: Permissions,
    names: QueueNames,
    ordered: QueueNames | undefined,
  ) {
    this.#permissions = permissions;
    this.#names = names;
    this.#ordered = ordered;
    this.#lane = new ExchangeLane(caller, keys);
    this.#slots = ordered && new SlotExchanger(caller, keys, ordered);
  }

  async exchange(settlements: readonly Settlement[], request: ReserveRequest | undefined): Promise<Exchanged> {
    if (!this.#permissions.granted) await this.#checkPermissions(settlements, request);
    // Before the failure is written: the lists of failed jobs look only at queues whose name is known.
    for (const { outcome, reservation } of settlements)
      if (outcome === 'failed') await this.#names.add(reservation.queue).catch(ignoreRefusal);
    const exchanged = await (this.#slots?.exchange(settlements, request) ?? this.#together(settlements, request));
    if (exchanged.reply.forgotten === true) {
      this.#names.forget();
      this.#ordered?.forget();
    }
    for (const { queue } of exchanged.reply.setAside) this.#names.add(queue).catch(() => undefined);
    return exchanged;
  }

  async #checkPermissions(settlements: readonly Settlement[], request: ReserveRequest | undefined): Promise<void> {
    const queue = request?.queues[0] ?? settlements[0]?.reservation.queue;
    if (queue === undefined) return;
    await this.#permissions.check(queue, settlements.length === 0 ? 'no jobs were reserved' : 'nothing was written');
  }

  #together(settlements: readonly Settlement[], request: ReserveRequest | undefined): Promise<Exchanged> {
    const pages = [...pagesOf(settlements, ({ reservation }) => reservation.payload.length)];
    return pages.length > 1 ? this.#oneByOne(pages, request) : this.#lane.exchange(pages[0] ?? [], request, false);
  }

  /** The last page reserves as well. Once one was answered, the others must be: the caller takes all or nothing. */
  async #oneByOne(pages: readonly (readonly Settlement[])[], request: ReserveRequest | undefined): Promise<Exchanged> {
    const results: SettleResult[] = [];
    const last = pages.length - 1;
    for (let at = 0; at < last; at += 1) {
      results.push(...(await this.#lane.exchange(pages[at]!, undefined, at > 0)).results);
    }
    const exchanged = await this.#lane.exchange(pages[last]!, request, true);
    return { results: [...results, ...exchanged.results], reply: exchanged.reply };
  }
}

// A server that is full takes no name, but it takes the failure; who pushed the job has made the name known.
function ignoreRefusal(error: unknown): void {
  if (!(error instanceof QueueUnavailableError) || error.facts.refused !== true) throw error;
}
