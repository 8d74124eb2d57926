/**
 * Settles and reserves in a cluster, where a call reaches the keys of only one queue: each queue has a lane of its own.
 *
 * A silent master holds up its own queues, but no others: if an answer does not come in time, a settlement counts as
 * unanswered, a reserve goes on to the next queue, and jobs that the late answer brings are given back.
 */
import type { Milliseconds, Seconds } from '../../base/clock';
import { groupsOf, Recent } from '../../base/collections';
import type { Reservation, ReserveReply, Wanted, SetAside, Settled, Settlement, SettleResult } from '../contract';
import { givenBack, NOTHING, settledBeside, type Settling } from '../kit/connection';
import { ExchangeLane } from './exchange-lane';
import type { RedisCluster, RedisStore } from './store';

/** How soon a queue whose master is away is asked again. */
const AWAY_LOOK: Seconds = 1;

/** How long delayed and lost jobs of a queue may be ignored while higher queues are never empty. */
const REFRESHED: Milliseconds = 1000;

/** Idle slots beyond this number are forgotten, oldest first. */
const MOST_QUEUES = 1000;

/** A queue, its lane, and its last answers. */
interface Slot {
  readonly queue: string;
  readonly lane: ExchangeLane;
  /** When its delayed and lost jobs were last looked at. Infinity while they are being looked at. */
  lookedAt: Milliseconds;
  /** Undefined if it has not answered yet. */
  said: Pick<ReserveReply, 'paused' | 'restart'> | undefined;
}

export class SlotExchanger {
  readonly #store: RedisStore;
  readonly #cluster: RedisCluster;
  readonly #settling: Settling;
  readonly #slots = new Recent<string, Slot>(
    MOST_QUEUES,
    ({ lane, said }) => lane.isIdle && said?.paused === undefined,
  );
  /** Settlements that were sent, until somebody is told of their results: a silent master answers when it is back. */
  readonly #underWay = new WeakMap<Reservation, Promise<SettleResult>>();
  /** News that arrived when nobody waited; the next reply passes it on. */
  #unsaid: SetAside[] = [];
  #forgotten = false;
  #isHeard = false;
  /** The last order to restart, from any queue. */
  #restart: string | undefined;

  constructor(store: RedisStore, cluster: RedisCluster, settling: Settling) {
    this.#store = store;
    this.#cluster = cluster;
    this.#settling = settling;
  }

  /** For one queue, both travel together if they are sent in the same turn. */
  async exchange(settlements: readonly Settlement[], wanted: Wanted | undefined): Promise<Settled> {
    const settling = settlements.length === 0 ? Promise.resolve([]) : this.#settle(settlements);
    if (wanted === undefined) return { ...NOTHING, results: await settling };
    return settledBeside(settling, this.#reserve(wanted), (back) => this.#settle(back));
  }

  async #settle(settlements: readonly Settlement[]): Promise<readonly SettleResult[]> {
    const results = settlements.map((): SettleResult => 'unanswered');
    const groups = [...groupsOf(settlements.keys(), (at) => settlements[at]!.reservation.queue)];
    const ended = await Promise.allSettled(
      groups.map(async ([queue, places]) => {
        const own = places.map((at) => settlements[at]!);
        const { ready } = this.#store.keys.queue(queue);
        const told = await this.#cluster.masters.inTime(ready, this.#written(queue, own));
        if (told === undefined) return;
        places.forEach((at, index) => (results[at] = told[index]!));
        for (const { reservation } of own) this.#underWay.delete(reservation);
      }),
    );
    const failure = ended.find(({ status }) => status === 'rejected') as PromiseRejectedResult | undefined;
    if (failure === undefined) return results;
    const written = results.map((result) => (result === 'unanswered' ? undefined : result));
    this.#settling.remember(settlements, written);
    throw failure.reason;
  }

  /** The results of settlements of one queue. Those that an earlier call has sent are not sent again. */
  #written(queue: string, settlements: readonly Settlement[]): Promise<readonly SettleResult[]> {
    const sent = settlements.map(({ reservation }) => this.#underWay.get(reservation));
    const unsent = settlements.filter((_, at) => sent[at] === undefined);
    if (unsent.length === 0) return Promise.all(sent as readonly Promise<SettleResult>[]);
    const { lane } = this.#slot(queue);
    const sending = this.#settling.inPages(unsent, async (page) =>
      page.length === 0 ? NOTHING : lane.exchange(page, undefined, true),
    );
    let place = 0;
    const results = settlements.map(({ reservation }, at) => {
      if (sent[at] !== undefined) return sent[at];
      const own = place++;
      const result = sending.then((settled) => settled.results[own]!);
      // A refusal is told once; the next call sends it anew.
      result.catch(() => this.#underWay.delete(reservation));
      // If one reservation has several outcomes, the first counts.
      if (!this.#underWay.has(reservation)) this.#underWay.set(reservation, result);
      return result;
    });
    return Promise.all(results);
  }

  async #reserve(request: Wanted): Promise<ReserveReply> {
    const { queues, limit } = request;
    const reservations: Reservation[] = [];
    let nextIn: Seconds = Infinity;
    let now: Milliseconds | undefined;
    let isAnswered = false;
    let failure: { readonly error: unknown } | undefined;
    for (const [at, queue] of queues.entries()) {
      if (reservations.length === limit) {
        // It is unknown what the other queues hold: they may be looked at right away.
        nextIn = 0;
        this.#refreshOne(queues.slice(at), request);
        break;
      }
      try {
        const reply = await this.#ask(queue, { ...request, limit: limit - reservations.length });
        nextIn = Math.min(nextIn, reply?.nextIn ?? AWAY_LOOK);
        if (reply === undefined) continue;
        isAnswered = true;
        reservations.push(...reply.reservations);
        now = reply.now;
      } catch (error) {
        failure ??= { error };
        nextIn = Math.min(nextIn, AWAY_LOOK);
      }
    }
    // The jobs that were reserved must not be lost because of a failure.
    if (failure !== undefined && !isAnswered) throw failure.error;
    return { reservations, nextIn, now, ...this.#news(queues) };
  }

  /** Undefined if the queue does not answer in time. */
  async #ask(queue: string, request: Wanted): Promise<ReserveReply | undefined> {
    const isAlone = request.queues.length === 1;
    const { ordered, masters } = this.#cluster;
    const { ready } = this.#store.keys.queue(queue);
    // This master is being asked already.
    if (!isAlone && masters.has(ready)) return undefined;
    // Sent before the call, so that no worker misses an order.
    ordered.note(queue);
    const slot = this.#slot(queue);
    // A worker of only this queue has nothing else to do, and is told that the master is away.
    const asked = slot.lane.exchange([], { ...request, queues: [queue] }, !isAlone);
    const settled = await (isAlone ? asked : masters.inTime(ready, asked));
    if (settled === undefined) void this.#giveBack(slot, asked);
    else this.#heed(slot, settled.reply);
    return settled?.reply;
  }

  // Gives back jobs of a reserve that nobody waits for any more.
  async #giveBack(slot: Slot, asked: Promise<Settled>): Promise<void> {
    try {
      const { reply } = await asked;
      this.#heed(slot, reply);
      if (reply.reservations.length > 0) await slot.lane.exchange(reply.reservations.map(givenBack), undefined, true);
    } catch {
      // The next reserve learns why.
      slot.lookedAt = this.#store.caller.settings.clock.monotonic();
    }
  }

  /** Not awaited: nobody needs the answer. */
  #refreshOne(queues: readonly string[], request: Wanted): void {
    const now = this.#store.caller.settings.clock.monotonic();
    const [slot] = queues
      .filter((queue) => !this.#cluster.masters.has(this.#store.keys.queue(queue).ready))
      .map((queue) => this.#slot(queue))
      .filter(({ lookedAt }) => now - lookedAt >= REFRESHED)
      .toSorted((one, other) => one.lookedAt - other.lookedAt);
    if (slot === undefined) return;
    slot.lookedAt = Infinity;
    void this.#giveBack(slot, slot.lane.exchange([], { ...request, queues: [slot.queue], limit: 0 }, true));
  }

  #heed(slot: Slot, { setAside, forgotten, paused, restart }: ReserveReply): void {
    slot.lookedAt = this.#store.caller.settings.clock.monotonic();
    this.#unsaid.push(...setAside);
    this.#forgotten ||= forgotten === true;
    // Queues that were created after an order differ from older ones. Only a queue that differs from its own last answer
    // brings a new order.
    const isNew = slot.said !== undefined && restart !== undefined && restart !== slot.said.restart;
    if (isNew || !this.#isHeard) this.#restart = restart;
    this.#isHeard = true;
    slot.said = { paused, restart };
  }

  /** Includes queues that were not asked this time. */
  #news(queues: readonly string[]): Pick<ReserveReply, 'setAside' | 'forgotten' | 'paused' | 'restart'> {
    const paused = queues.filter((queue) => this.#slots.get(queue)?.said?.paused !== undefined);
    const [setAside, forgotten] = [this.#unsaid, this.#forgotten];
    [this.#unsaid, this.#forgotten] = [[], false];
    return {
      setAside,
      ...(forgotten && { forgotten }),
      ...(paused.length > 0 && { paused }),
      ...(this.#restart !== undefined && { restart: this.#restart }),
    };
  }

  #slot(queue: string): Slot {
    return this.#slots.ensure(queue, () => {
      const lane = new ExchangeLane(this.#store, this.#settling);
      return { queue, lane, lookedAt: -Infinity, said: undefined };
    });
  }
}
