/** Settles and reserves, in as many calls as it takes: mostly one, in a cluster at least one for each queue. */
import type { ReserveReply, ReserveRequest, SetAside, Settlement, SettleResult } from '../../queue/connection';
import type { Reservation } from '../../queue/connection';
import { QueueUnavailableError } from '../errors';
import type { RedisCaller } from './caller';
import { type Exchanged, ExchangeLane } from './exchange-lane';
import type { Keys } from './keys';
import { pagesOf } from './pages';
import type { QueueNames } from './queue-names';
import { SlotOrders } from './slot-orders';

const NOTHING: ReserveReply = { reservations: [], setAside: [], nextIn: Infinity };

/** All queues of a server that is no cluster go through this lane. */
const COMMON = '';

export class Exchanger {
  readonly #caller: RedisCaller;
  readonly #keys: Keys;
  readonly #names: QueueNames;
  readonly #ordered: QueueNames | undefined;
  readonly #lanes = new Map<string, ExchangeLane>();
  /** Of a cluster: elsewhere each answer has all. */
  readonly #orders = new SlotOrders();

  /** @param ordered in a cluster: the queues whose workers hear of orders */
  constructor(caller: RedisCaller, keys: Keys, names: QueueNames, ordered: QueueNames | undefined) {
    this.#caller = caller;
    this.#keys = keys;
    this.#names = names;
    this.#ordered = ordered;
  }

  async exchange(settlements: readonly Settlement[], request: ReserveRequest | undefined): Promise<Exchanged> {
    // Before the failure is written: the lists of failed jobs look only at queues whose name is known.
    for (const { outcome, reservation } of settlements)
      if (outcome === 'failed') await this.#names.add(reservation.queue).catch(ignoreRefusal);
    const exchanged = await (this.#ordered === undefined
      ? this.#together(settlements, request)
      : this.#slotBySlot(settlements, request));
    if (exchanged.reply.forgotten === true) {
      this.#names.forget();
      this.#ordered?.forget();
    }
    for (const { queue } of exchanged.reply.setAside) this.#names.add(queue).catch(() => undefined);
    return exchanged;
  }

  /** The last page reserves as well. Once one was answered, the others must be: the caller takes all or nothing. */
  async #together(settlements: readonly Settlement[], request: ReserveRequest | undefined): Promise<Exchanged> {
    const pages = [...pagesOf(settlements, ({ reservation }) => reservation.payload.length)];
    const results: SettleResult[] = [];
    const last = Math.max(pages.length - 1, 0);
    for (let at = 0; at < last; at += 1) {
      results.push(...(await this.#lane(COMMON).exchange(pages[at]!, undefined, at > 0)).results);
    }
    const exchanged = await this.#lane(COMMON).exchange(pages[last] ?? [], request, last > 0);
    if (last === 0) return exchanged;
    return { results: [...results, ...exchanged.results], reply: exchanged.reply };
  }

  async #slotBySlot(settlements: readonly Settlement[], request: ReserveRequest | undefined): Promise<Exchanged> {
    const results: SettleResult[] = [];
    let answered = false;
    for (const [at, settlement] of settlements.entries()) {
      const lane = this.#lane(settlement.reservation.queue);
      results[at] = (await lane.exchange([settlement], undefined, answered)).results[0]!;
      answered = true;
    }
    return { results, reply: request === undefined ? NOTHING : await this.#reserveSlotBySlot(request, answered) };
  }

  async #reserveSlotBySlot(request: ReserveRequest, answered: boolean): Promise<ReserveReply> {
    const { queues, limit, apart } = request;
    const reservations: Reservation[] = [];
    const setAside: SetAside[] = [];
    const told: { apart?: true; forgotten?: true } = {};
    let nextIn = Infinity;
    let done = false;
    for (const queue of queues) {
      // What the others hold is not known: it may be looked for now.
      if (done) {
        nextIn = 0;
        break;
      }
      // Sent before the call, so that no worker is left out of an order. Where it fails, the next call sends it.
      if (this.#ordered?.has(queue) === false) this.#ordered.add(queue).catch(() => undefined);
      const isFirst = reservations.length === 0;
      const left = {
        ...request,
        queues: [queue],
        limit: limit - reservations.length,
        apart: apart && { ...apart, alone: apart.alone && isFirst },
      };
      const { reply } = await this.#lane(queue).exchange([], left, answered || !isFirst);
      reservations.push(...reply.reservations);
      setAside.push(...reply.setAside);
      nextIn = Math.min(nextIn, reply.nextIn);
      this.#orders.heed(queue, reply);
      if (reply.forgotten === true) told.forgotten = true;
      if (reply.apart === true) told.apart = true;
      const hasSuspect = apart !== undefined && reservations.some(({ counters }) => counters.crashes >= apart.crashes);
      done = reservations.length === limit || reply.apart === true || hasSuspect;
    }
    return { reservations, setAside, nextIn, ...told, ...this.#orders.of(queues) };
  }

  #lane(name: string): ExchangeLane {
    let lane = this.#lanes.get(name);
    if (lane === undefined) {
      lane = new ExchangeLane(this.#caller, this.#keys);
      this.#lanes.set(name, lane);
    }
    return lane;
  }
}

// A server that is full takes no name, but it takes the failure; who pushed the job has made the name known.
function ignoreRefusal(error: unknown): void {
  if (!(error instanceof QueueUnavailableError) || error.facts.refused !== true) throw error;
}
