/**
 * Settles and reserves in a cluster, where a call reaches the keys of one queue.
 *
 * A master that is away holds up its own queues, not the others': a call that it does not answer in time goes on without
 * whoever asked. Outcomes are told of when it answers; the jobs that it brings too late are given back.
 */
import type { Milliseconds, Seconds } from '../../base/clock';
import { resultOf } from '../answer';
import type {
  Answer,
  Reservation,
  ReserveReply,
  ReserveRequest,
  SetAside,
  Settlement,
  SettleResult,
} from '../contract';
import type { RedisCaller } from './caller';
import { type Exchanged, ExchangeLane } from './exchange-lane';
import type { Keys } from './keys';
import { givenBack } from '../given-back';
import { pagesOf } from '../../base/pages';
import { Recent } from '../../base/recent';
import type { QueueNames } from './queue-names';
import type { SilentMasters } from './silent-masters';
import { SlotOrders } from './slot-orders';

/** Until a queue whose master is away is asked again. */
const AWAY_LOOK: Seconds = 1;

/** How long the delayed and the lost jobs of a queue may be left alone while higher queues are never empty. */
const REFRESHED: Milliseconds = 1000;

/** Of those that are left alone, the ones that were asked first are forgotten. */
const MOST_QUEUES = 1000;

/** Who only settles is told nothing: the next reserve is. */
const NOTHING: ReserveReply = { reservations: [], setAside: [], nextIn: Infinity };

export interface SlotsExchanged {
  readonly results: readonly Answer<SettleResult>[];
  /** Where nothing was asked for: nothing. */
  readonly reply: ReserveReply;
}

/** Outcomes of one call, by their places in the whole list. */
interface Page {
  readonly queue: string;
  readonly places: readonly number[];
}

/** A reserve, as far as it has come. */
interface Turn {
  readonly request: ReserveRequest;
  /** No other queue is asked, or settled on: nobody is held up. */
  readonly isAlone: boolean;
  readonly reservations: Reservation[];
  nextIn: Seconds;
  now: Milliseconds | undefined;
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
  readonly #masters: SilentMasters;
  readonly #lanes = new Recent<string, ExchangeLane>(MOST_QUEUES, (lane) => lane.isIdle);
  readonly #orders = new SlotOrders();
  /** When the delayed and the lost jobs of a queue were last looked at; Infinity: they are being looked at. */
  readonly #refreshedAt = new Recent<string, Milliseconds>(MOST_QUEUES, (at) => at !== Infinity);
  /** What was answered when nobody waited, for the next reply. */
  readonly #unsaid: SetAside[] = [];
  #forgotten = false;
  /** What a late reserve failed with. */
  #failure: Failure | undefined;

  /** @param ordered the queues whose workers hear of orders */
  constructor(caller: RedisCaller, keys: Keys, ordered: QueueNames, masters: SilentMasters) {
    this.#caller = caller;
    this.#keys = keys;
    this.#ordered = ordered;
    this.#masters = masters;
  }

  async exchange(settlements: readonly Settlement[], request: ReserveRequest | undefined): Promise<SlotsExchanged> {
    const results: Answer<SettleResult>[] = [];
    const pages = pagesByQueue(settlements);
    const turn = request && newTurn(request, pages);
    // What has ended on the queue that is asked first travels with that call.
    const travels = ({ queue }: Page): boolean => queue === request?.queues[0] && !this.#leavesOut(turn!, queue);
    const along = pages.findLastIndex(travels);
    const asked = pages.map(({ queue, places }, at) => {
      const outcomes = places.map((place) => settlements[place]!);
      const left = turn && at === along ? this.#left(turn, queue) : undefined;
      return { queue, places, outcomes, exchanged: this.#lane(queue).exchange(outcomes, left, false) };
    });
    const answers = await Promise.allSettled(asked.map(({ queue, exchanged }) => this.#inTime(turn, queue, exchanged)));
    // The caller takes all or nothing: once one call was answered, or may be, the others must be.
    const failures = answers.filter((answer) => answer.status === 'rejected');
    if (failures.length > 0 && failures.length === answers.length) throw failures[0]!.reason;
    answers.forEach((answer, at) => {
      const { queue, places, outcomes, exchanged } = asked[at]!;
      const inTime = answer.status === 'fulfilled' ? answer.value : undefined;
      const told = inTime?.results ?? this.#insist(queue, outcomes, exchanged);
      for (const [index, place] of places.entries()) results[place] = told[index]!;
      if (turn === undefined || at !== along) return;
      if (inTime !== undefined) return this.#take(turn, queue, inTime.reply);
      turn.nextIn = AWAY_LOOK;
      void this.#giveBack(queue, exchanged);
    });
    if (turn === undefined) return { results, reply: NOTHING };
    turn.answered = pages.length > 0;
    return { results, reply: await this.#reserve(turn, along < 0 ? 0 : 1) };
  }

  /** Asks until there is an answer. */
  #insist(
    queue: string,
    outcomes: readonly Settlement[],
    exchanged: Promise<Exchanged>,
  ): readonly Answer<SettleResult>[] {
    const insisted = exchanged.catch(() => {
      const again = this.#lane(queue).exchange(outcomes, undefined, true);
      this.#masters.inTime(this.#key(queue), again).catch(() => undefined);
      return again;
    });
    return outcomes.map((_, index) => {
      const later = insisted.then(({ results }) => resultOf(results[index]!));
      later.catch(() => undefined);
      return { later };
    });
  }

  async #reserve(turn: Turn, first: number): Promise<ReserveReply> {
    const { queues } = turn.request;
    for (const [at, queue] of queues.entries()) {
      if (at < first) continue;
      if (turn.reservations.length === turn.request.limit) {
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
      now: turn.now,
      ...(forgotten && { forgotten }),
      ...this.#orders.of(queues),
    };
  }

  // False: the queue did not answer.
  async #ask(turn: Turn, queue: string): Promise<boolean> {
    if (this.#leavesOut(turn, queue)) {
      this.#masters.probe(this.#key(queue));
      return false;
    }
    const asked = this.#lane(queue).exchange([], this.#left(turn, queue), false);
    try {
      const exchanged = await this.#inTime(turn, queue, asked);
      if (exchanged === undefined) void this.#giveBack(queue, asked);
      else this.#take(turn, queue, exchanged.reply);
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
    return { ...request, queues: [queue], limit: request.limit - reservations.length };
  }

  #take(turn: Turn, queue: string, reply: ReserveReply): void {
    turn.answered = true;
    turn.reservations.push(...reply.reservations);
    turn.nextIn = Math.min(turn.nextIn, reply.nextIn);
    turn.now = reply.now;
    this.#orders.heed(queue, reply);
    this.#keepNews(reply);
    this.#failure = undefined;
    this.#refreshedAt.set(queue, this.#caller.settings.clock.monotonic());
  }

  #keepNews({ setAside, forgotten }: ReserveReply): void {
    this.#unsaid.push(...setAside);
    if (forgotten === true) this.#forgotten = true;
  }

  // Undefined: it does not come in time.
  #inTime(turn: Turn | undefined, queue: string, asked: Promise<Exchanged>): Promise<Exchanged | undefined> {
    return turn?.isAlone === true ? asked : this.#masters.inTime(this.#key(queue), asked);
  }

  /** Its master does not answer, as is known. */
  #leavesOut(turn: Turn, queue: string): boolean {
    return !turn.isAlone && this.#masters.has(this.#key(queue));
  }

  #key(queue: string): string {
    return this.#keys.queue(queue).ready;
  }

  // What a reserve brings that nobody waits for any more.
  async #giveBack(queue: string, asked: Promise<Exchanged>): Promise<void> {
    try {
      const { reply } = await asked;
      this.#keepNews(reply);
      const settlements = reply.reservations.map(givenBack);
      if (settlements.length > 0) await this.#lane(queue).exchange(settlements, undefined, false);
    } catch (error) {
      this.#failure = { error };
    }
  }

  /** Without waiting for it: nobody needs the answer. */
  #refreshOne(queues: readonly string[], request: ReserveRequest): void {
    const now = this.#caller.settings.clock.monotonic();
    const at = (queue: string): Milliseconds => this.#refreshedAt.get(queue) ?? -Infinity;
    const [queue] = queues
      .filter((one) => now - at(one) >= REFRESHED && !this.#masters.has(this.#key(one)))
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

function newTurn(request: ReserveRequest, pages: readonly Page[]): Turn {
  const [first, ...others] = request.queues;
  const isAlone = others.length === 0 && pages.every(({ queue }) => queue === first);
  return { request, isAlone, reservations: [], nextIn: Infinity, now: undefined, answered: false, failure: undefined };
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
