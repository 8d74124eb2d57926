/**
 * Settles and reserves in a cluster, where a call reaches the keys of one queue.
 *
 * A master that is away holds up its own queues, not the others': a reserve that it does not answer in time goes on
 * without whoever asked, and the jobs that it brings too late are given back.
 */
import { endOfTurn, type Milliseconds, type Seconds } from '../../clock/clock';
import { afterFreeRelease } from '../../payload/counters';
import type {
  Reservation,
  ReserveReply,
  ReserveRequest,
  SetAside,
  Settlement,
  SettleResult,
} from '../../queue/connection';
import type { RedisCaller } from './caller';
import { type Exchanged, ExchangeLane } from './exchange-lane';
import type { Keys } from './keys';
import { pagesOf } from '../pages';
import type { QueueNames } from './queue-names';
import { SlotOrders } from './slot-orders';

/** Part of the deadline for which one queue keeps a worker from the others. */
const PATIENCE = 1 / 2;

/** Until a queue whose master is away is asked again. */
const AWAY_LOOK: Seconds = 1;

/** How long the delayed and the lost jobs of a queue may be left alone while higher queues are never empty. */
const REFRESHED: Milliseconds = 1000;

/** Who only settles is told nothing: the next reserve is. */
const NOTHING: ReserveReply = { reservations: [], setAside: [], nextIn: Infinity };

/** Outcomes of one call, by their places in the whole list. */
interface Page {
  readonly queue: string;
  readonly places: readonly number[];
}

/** A reserve, as far as it has come. */
interface Turn {
  readonly request: ReserveRequest;
  readonly reservations: Reservation[];
  nextIn: Seconds;
  /** The next job is left to somebody who is alone. */
  apart: boolean;
  /** Something was carried out, and must not be lost with an error. */
  answered: boolean;
  /** The first. */
  failure: Failure | undefined;
}

interface Failure {
  readonly error: unknown;
}

export class SlotExchanger {
  readonly #caller: RedisCaller;
  readonly #keys: Keys;
  readonly #ordered: QueueNames;
  readonly #lanes = new Map<string, ExchangeLane>();
  readonly #orders = new SlotOrders();
  /** Queues with a reserve under way that nobody waits for any more. */
  readonly #late = new Set<string>();
  /** When the delayed and the lost jobs of a queue were last looked at; Infinity: they are being looked at. */
  readonly #refreshedAt = new Map<string, Milliseconds>();
  /** What was answered when nobody waited, for the next reply. */
  readonly #unsaid: SetAside[] = [];
  #forgotten = false;
  /** What a late reserve failed with. */
  #failure: Failure | undefined;

  /** @param ordered the queues whose workers hear of orders */
  constructor(caller: RedisCaller, keys: Keys, ordered: QueueNames) {
    this.#caller = caller;
    this.#keys = keys;
    this.#ordered = ordered;
  }

  async exchange(settlements: readonly Settlement[], request: ReserveRequest | undefined): Promise<Exchanged> {
    const results: SettleResult[] = [];
    const pages = pagesByQueue(settlements);
    // What has ended on the queue that is asked first travels with that call.
    const at = pages.findLastIndex(({ queue }) => queue === request?.queues[0]);
    const [along] = at < 0 ? [] : pages.splice(at, 1);
    const settle = async (page: Page, left: ReserveRequest | undefined, insists: boolean): Promise<ReserveReply> => {
      const outcomes = page.places.map((place) => settlements[place]!);
      const exchanged = await this.#lane(page.queue).exchange(outcomes, left, insists);
      for (const [index, place] of page.places.entries()) results[place] = exchanged.results[index]!;
      return exchanged.reply;
    };
    await settleAll(pages, settle);
    if (request === undefined) return { results, reply: NOTHING };
    const answered = pages.length > 0;
    const turn: Turn = { request, reservations: [], nextIn: Infinity, apart: false, answered, failure: undefined };
    if (along !== undefined) {
      const [queue] = request.queues as [string];
      this.#take(turn, queue, await settle(along, this.#left(turn, queue), answered));
    }
    return { results, reply: await this.#reserve(turn, along === undefined ? 0 : 1) };
  }

  async #reserve(turn: Turn, first: number): Promise<ReserveReply> {
    const { queues } = turn.request;
    for (const [at, queue] of queues.entries()) {
      if (at < first) continue;
      if (isDone(turn)) {
        // What the others hold is not known: it may be looked for now.
        turn.nextIn = 0;
        this.#refreshOne(queues.slice(at), turn.request);
        break;
      }
      if (!(await this.#ask(turn, queue))) turn.nextIn = Math.min(turn.nextIn, AWAY_LOOK);
    }
    if (!turn.answered) {
      const failure = turn.failure ?? this.#failure;
      this.#failure = undefined;
      if (failure !== undefined) throw failure.error;
    }
    const forgotten = this.#forgotten;
    this.#forgotten = false;
    return {
      reservations: turn.reservations,
      setAside: this.#unsaid.splice(0),
      nextIn: turn.nextIn,
      ...(forgotten && { forgotten }),
      ...(turn.apart && { apart: true }),
      ...this.#orders.of(queues),
    };
  }

  // False: the queue did not answer.
  async #ask(turn: Turn, queue: string): Promise<boolean> {
    if (this.#late.has(queue)) return false;
    const asked = this.#lane(queue).exchange([], this.#left(turn, queue), false);
    try {
      const isAlone = turn.request.queues.length === 1;
      const exchanged = await (isAlone ? asked : this.#inTime(queue, asked));
      if (exchanged !== undefined) this.#take(turn, queue, exchanged.reply);
      return exchanged !== undefined;
    } catch (error) {
      turn.failure ??= { error };
      return false;
    }
  }

  /** What is still wanted, of this queue alone. */
  #left({ request, reservations }: Turn, queue: string): ReserveRequest {
    // Sent before the call, so that no worker is left out of an order. Where it fails, the next call sends it.
    if (!this.#ordered.has(queue)) this.#ordered.add(queue).catch(() => undefined);
    const { limit, apart } = request;
    const isFirst = reservations.length === 0;
    return {
      ...request,
      queues: [queue],
      limit: limit - reservations.length,
      apart: apart && { ...apart, alone: apart.alone && isFirst },
    };
  }

  #take(turn: Turn, queue: string, reply: ReserveReply): void {
    turn.answered = true;
    turn.reservations.push(...reply.reservations);
    turn.nextIn = Math.min(turn.nextIn, reply.nextIn);
    turn.apart ||= reply.apart === true;
    this.#orders.heed(queue, reply);
    this.#keepNews(reply);
    this.#failure = undefined;
    this.#refreshedAt.set(queue, this.#caller.settings.clock.monotonic());
  }

  #keepNews({ setAside, forgotten }: ReserveReply): void {
    this.#unsaid.push(...setAside);
    if (forgotten === true) this.#forgotten = true;
  }

  /** Undefined: it does not come in time. Then what it brings is given back. */
  async #inTime(queue: string, asked: Promise<Exchanged>): Promise<Exchanged | undefined> {
    const { clock, deadline } = this.#caller.settings;
    const exchanged = await new Promise<Exchanged | undefined>((resolve, reject) => {
      // What came while a job blocked the event loop is read before the silence is believed.
      const timer = clock.after(deadline * 1000 * PATIENCE, () => void endOfTurn().then(() => resolve(undefined)));
      const done = (): void => timer.cancel();
      asked.then(resolve, reject);
      asked.then(done, done);
    });
    if (exchanged === undefined) void this.#giveBack(queue, asked);
    return exchanged;
  }

  async #giveBack(queue: string, asked: Promise<Exchanged>): Promise<void> {
    this.#late.add(queue);
    try {
      const { reply } = await asked;
      this.#keepNews(reply);
      const settlements = reply.reservations.map((reservation) => {
        const counters = afterFreeRelease(reservation.counters);
        return { outcome: 'released', reservation, delay: 0, counters } as const;
      });
      if (settlements.length > 0) await this.#lane(queue).exchange(settlements, undefined, false);
    } catch (error) {
      this.#failure = { error };
    }
    this.#late.delete(queue);
  }

  /** Without waiting for it: nobody needs the answer. */
  #refreshOne(queues: readonly string[], request: ReserveRequest): void {
    const now = this.#caller.settings.clock.monotonic();
    const at = (queue: string): Milliseconds => this.#refreshedAt.get(queue) ?? -Infinity;
    const [queue] = queues
      .filter((one) => !this.#late.has(one) && now - at(one) >= REFRESHED)
      .toSorted((one, other) => at(one) - at(other));
    if (queue === undefined) return;
    this.#refreshedAt.set(queue, Infinity);
    const done = (): unknown => this.#refreshedAt.set(queue, this.#caller.settings.clock.monotonic());
    const refreshed = this.#lane(queue).exchange([], { ...request, queues: [queue], limit: 0 }, false);
    refreshed.then(({ reply }) => this.#keepNews(reply)).then(done, done);
  }

  #lane(queue: string): ExchangeLane {
    let lane = this.#lanes.get(queue);
    if (lane === undefined) {
      lane = new ExchangeLane(this.#caller, this.#keys);
      this.#lanes.set(queue, lane);
    }
    return lane;
  }
}

// The caller takes all or nothing: once one call was answered, the others must be.
async function settleAll(
  pages: readonly Page[],
  settle: (page: Page, left: undefined, insists: boolean) => Promise<unknown>,
): Promise<void> {
  const settled = await Promise.allSettled(pages.map((page) => settle(page, undefined, false)));
  const failed = settled.flatMap((one, at) =>
    one.status === 'rejected' ? [{ page: pages[at]!, error: one.reason as unknown }] : [],
  );
  if (failed.length > 0 && failed.length === pages.length) throw failed[0]!.error;
  await Promise.all(failed.map(({ page }) => settle(page, undefined, true)));
}

function isDone({ request: { limit, apart }, reservations, apart: isLeft }: Turn): boolean {
  const hasSuspect = apart !== undefined && reservations.some(({ counters }) => counters.crashes >= apart.crashes);
  return reservations.length === limit || isLeft || hasSuspect;
}

function pagesByQueue(settlements: readonly Settlement[]): Page[] {
  const byQueue = new Map<string, number[]>();
  settlements.forEach(({ reservation: { queue } }, place) => {
    const places = byQueue.get(queue);
    if (places === undefined) byQueue.set(queue, [place]);
    else places.push(place);
  });
  return [...byQueue].flatMap(([queue, all]) =>
    [...pagesOf(all, (place) => settlements[place]!.reservation.payload.length)].map((places) => ({ queue, places })),
  );
}
