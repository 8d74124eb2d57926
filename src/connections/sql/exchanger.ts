/**
 * Ends reservations and hands out jobs in one call of the dialect, on every database.
 *
 * A database may carry out a call whose answer gets lost. The client's next call learns what became of it: see `CallMark`.
 */
import { OnqueueError } from '../../base/onqueue-error';
import { isTakenBack, readTies } from '../../payload/ties';
import type { Reservation, ReserveReply, Settled, Settlement, Wanted } from '../contract';
import { isStoreAway } from '../errors';
import { NOTHING, Settling } from '../kit/connection';
import type { BatchRows } from './batch-rows';
import { CallClients, type CallClient } from './call-marks';
import {
  followersOf,
  type Ending,
  type Exchange,
  type Outlook,
  type ReservationToken,
  type TiedReservation,
  type Waking,
} from './dialect';
import { repeatable } from './engine';
import { cancelledOf, rewrite, type Rewritten } from './jobs';
import { endingOf, handedOut, sizeOf, type HandedOut } from './reservations';
import type { RowId, Work } from './statement';
import type { Store } from './store-part';

export interface ExchangerParts extends Store {
  readonly name: string;
  readonly waking: Waking;
  /** Whether the store has lost what it confirmed; true once for each loss. Absent if this cannot be known. */
  readonly hasForgotten?: (() => boolean) | undefined;
}

/** `settled`: ids of jobs. */
interface Answer extends Pick<HandedOut, 'unreadable'> {
  readonly settled: ReadonlySet<RowId>;
  readonly reply: ReserveReply;
  /** The queues that batches have sent jobs to. */
  readonly sentTo: readonly string[];
}

const NOT_SETTLED = 'no outcome was recorded';
const NOT_RESERVED = 'no job was reserved';

export class Exchanger {
  readonly #parts: ExchangerParts;
  readonly #clients = new CallClients();
  readonly #settling = new Settling(sizeOf);

  constructor(parts: ExchangerParts) {
    this.#parts = parts;
  }

  /** The clients whose calls may have been recorded. */
  get clients(): readonly CallClient[] {
    return this.#clients.all;
  }

  /** Reserves at once. */
  async reserve(request: Wanted): Promise<ReserveReply> {
    const { access, dialect } = this.#parts;
    // Usually an idle worker is polling. Without locks it hinders nobody.
    if (dialect.jobs.idle !== undefined) {
      const look = (): Work<Outlook | undefined> => dialect.jobs.idle!(request.queues);
      const outlook = await access('exchange', { consequence: NOT_RESERVED }, look);
      if (outlook !== undefined) return this.#withNews({ reservations: [], setAside: [], ...outlook });
    }
    return (await this.#exchange([], request)).reply;
  }

  async exchange(settlements: readonly Settlement[], request?: Wanted): Promise<Settled> {
    if (settlements.length === 0)
      return request === undefined ? NOTHING : { results: [], reply: await this.reserve(request) };
    await this.#clients.clearDoubts((client) => this.#exchangeAs(client, [], undefined));
    return this.#settling.inPages(settlements, async (page, isLast) => {
      const wanted = isLast ? request : undefined;
      if (page.length > 0) return this.#exchange(page, wanted);
      return wanted === undefined ? NOTHING : { results: [], reply: await this.reserve(wanted) };
    });
  }

  async #exchange(settlements: readonly Settlement[], request: Wanted | undefined): Promise<Settled> {
    const { unreadable, ...answer } = await this.#clients.use((client) =>
      this.#exchangeAs(client, settlements, request),
    );
    if (unreadable.length === 0) return answer;
    const { results, reply } = answer;
    try {
      const ends = (await this.exchange(unreadable)).results;
      const gone = unreadable.filter((_, at) => ends[at] === 'settled');
      const setAside = gone.map(({ reservation: { queue }, failure: { id, exception } }) => ({
        ...{ queue, id },
        reason: exception,
      }));
      return { results, reply: { ...reply, setAside } };
    } catch (error) {
      // A worker fails them, and reports what the store refused.
      const left = unreadable.map(({ reservation }) => reservation);
      if (!isStoreAway(error)) return { results, reply: { ...reply, reservations: [...reply.reservations, ...left] } };
      // They come back when their leases end. The rest of this call's result does not wait for that.
      if (results.length + reply.reservations.length > 0) return answer;
      throw error;
    }
  }

  async #exchangeAs(
    client: CallClient,
    settlements: readonly Settlement[],
    request: Wanted | undefined,
  ): Promise<Settled & Pick<HandedOut, 'unreadable'>> {
    const { name, access } = this.#parts;
    const reserving = settlements.length === 0 ? NOT_RESERVED : `${NOT_SETTLED}, and ${NOT_RESERVED}`;
    const consequence = request === undefined ? NOT_SETTLED : reserving;
    const endings = settlements.map((settlement) => endingOf(settlement, name));
    // If a reservation has several endings, the first one counts.
    const ends = new Map<RowId, Ending>();
    for (const ending of endings) if (!ends.has(ending.id)) ends.set(ending.id, ending);
    try {
      const { settled, reply, unreadable, sentTo } = await access('exchange', repeatable(consequence), () =>
        this.#handOut({ endings: [...ends.values()], request, mark: client.next() }),
      );
      this.#settling.wereWritten(client.heard(settled));
      this.#wakeOthers(endings, sentTo, reply);
      const results = endings.map((ending) =>
        settled.has(ending.id) && ends.get(ending.id) === ending ? 'settled' : 'lost',
      );
      return { results, reply: this.#withNews(reply), unreadable };
    } catch (error) {
      client.doubt(settlements.map(({ reservation }) => reservation));
      throw error;
    }
  }

  /** If a later step fails, the client's next call gives back what was reserved here. */
  *#handOut(exchange: Exchange): Work<Answer> {
    const { dialect, batchRows } = this.#parts;
    const freed = freedIn(exchange.endings);
    // Before they go back: afterwards they are nobody's.
    if (freed.length > 0) yield* dialect.jobs.giveUp(freed);
    const { settled, taken, outlook, sentTo = [], isCancelling = false } = yield* dialect.jobs.exchange(exchange);
    const { reservations, rewritten, unreadable } = handedOut(taken);
    if (rewritten.length > 0) yield* this.#rewrite(rewritten);
    const back = reservations.filter(({ counters }) => counters.releases > 0).flatMap(takenBack);
    if (back.length > 0) yield* dialect.jobs.takeBack(back);
    const ordered = yield* this.#withReasons(reservations);
    const marked = isCancelling ? yield* withCancelledBatches(ordered, batchRows) : ordered;
    const reply = { reservations: marked, setAside: [], ...outlook };
    return { settled, reply, unreadable, sentTo };
  }

  /**
   * A job whose update is refused keeps its stored payload: the id that it is handed out with is valid for this reservation
   * only.
   */
  *#rewrite(jobs: readonly Rewritten[]): Work<void> {
    const { dialect } = this.#parts;
    try {
      yield* rewrite(dialect, jobs);
    } catch (error) {
      if (!(error instanceof OnqueueError) && dialect.trouble(error) !== 'unfit') throw error;
      if (jobs.length > 1) for (const job of jobs) yield* this.#rewrite([job]);
    }
  }

  *#withReasons(reservations: readonly Reservation[]): Work<readonly Reservation[]> {
    const idOf = ({ token }: Reservation): RowId => (token as ReservationToken).id;
    const ending = reservations.filter(({ cancelled }) => cancelled !== undefined);
    if (ending.length === 0) return reservations;
    const reasons = yield* cancelledOf(this.#parts.dialect, ending.map(idOf));
    return reservations.map((reservation) =>
      reservation.cancelled === undefined
        ? reservation
        : { ...reservation, cancelled: reasons.get(idOf(reservation)) ?? false },
    );
  }

  #withNews(reply: ReserveReply): ReserveReply {
    return this.#parts.hasForgotten?.() === true ? { ...reply, forgotten: true } : reply;
  }

  #wakeOthers(endings: readonly Ending[], sentTo: readonly string[], { reservations }: ReserveReply): void {
    const { waking, wrote } = this.#parts;
    const released = endings.flatMap((ending) => (ending.kind === 'released' ? [ending.queue] : []));
    const following = followersOf(endings).map(({ queue }) => queue);
    for (const queue of new Set([...released, ...following, ...sentTo])) wrote(queue);
    if (reservations.length > 0) waking.busy?.(reservations.map(({ queue }) => queue));
  }
}

/** The jobs that give up their keys. */
function freedIn(endings: readonly Ending[]): readonly TiedReservation[] {
  const freed: TiedReservation[] = [];
  for (const ending of endings) {
    if (ending.kind !== 'released' || ending.frees === undefined) continue;
    freed.push({ id: ending.id, fence: ending.fence, tied: ending.frees });
  }
  return freed;
}

/** The job as a list, if it may have given up a key that it takes again. */
function takenBack({ payload, token }: Reservation): readonly TiedReservation[] {
  const tied = readTies(payload);
  return tied !== undefined && isTakenBack(tied.unique) ? [{ ...(token as ReservationToken), tied }] : [];
}

function* withCancelledBatches(reservations: readonly Reservation[], batches: BatchRows): Work<readonly Reservation[]> {
  const ids = reservations.map(({ payload }) => readTies(payload)?.batch?.id ?? '');
  const known = new Set(ids.filter((id) => id !== ''));
  if (known.size === 0) return reservations;
  const cancelled = yield* batches.cancelledOf([...known]);
  return reservations.map((reservation, at) =>
    cancelled.has(ids[at]!) ? { ...reservation, cancelled: reservation.cancelled || true } : reservation,
  );
}
