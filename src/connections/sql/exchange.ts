/**
 * Ends reservations and hands out jobs in one call of the dialect, on every database.
 *
 * A database may carry out a call whose answer gets lost. The client's next call learns what became of it: see `CallMark`.
 */
import { OnqueueError } from '../../base/onqueue-error';
import { isTakenBack, readTies, type Ties } from '../../payload/ties';
import type { Entry, Reservation, ReserveReply, Settled, Settlement, Wanted } from '../contract';
import { isStoreAway } from '../errors';
import { NOTHING, Settling } from '../kit/connection';
import { cancelledBatches, findUnfinished } from './batches';
import { CallClients, type CallClient } from './calls';
import type { SqlLanes } from './lanes';
import {
  followersOf,
  followerOf,
  runningColumn,
  type Ending,
  type Exchange,
  type Exchanged,
  type Outlook,
  type ReservationToken,
  type TiedReservation,
  type Dialect,
  type Wording,
  type LaneMove,
  type Leaving,
  type TakenJob,
} from './dialect';
import { repeatable, type Database } from './database';
import { raw, sql, type RowId, type Work, type Sql, type SqlRow, type SqlValue } from './statement';
import { cancelledOf, rewrite, type Rewritten } from './jobs';
import type { Seconds } from '../../base/clock';
import {
  countersIn,
  fenceOf,
  hasId,
  noCounters,
  withCounters,
  withId,
  NOT_AN_OBJECT,
  UNREADABLE_NAME,
} from '../../payload/counters';
import { uuidv7 } from '../../payload/uuid';
import { changeBy } from '../kit/batch-counts';

interface Answer
  extends Pick<Exchanged, 'settled' | 'news'>, Pick<HandedOut, 'unreadable'>, Pick<Outlook, 'stuck' | 'late'> {
  readonly reply: ReserveReply;
}

const NOT_SETTLED = 'no outcome was recorded';
const NOT_RESERVED = 'no job was reserved';

export class Exchanger {
  readonly #database: Database;
  readonly #lanes: SqlLanes;
  /** Their calls may have been recorded. */
  readonly clients = new CallClients();
  readonly #settling = new Settling(sizeOf);

  constructor(database: Database, lanes: SqlLanes) {
    this.#database = database;
    this.#lanes = lanes;
  }

  /** Reserves at once. */
  async reserve(request: Wanted): Promise<ReserveReply> {
    const { dialect } = this.#database;
    // Usually an idle worker is polling. Without locks it hinders nobody.
    if (dialect.jobs.idle !== undefined) {
      const look = (): Work<Outlook | undefined> => dialect.jobs.idle!(request.queues);
      const outlook = await this.#database.run(NOT_RESERVED, look);
      if (outlook !== undefined) {
        const { stuck, ...rest } = outlook;
        if (!(await this.#mend(stuck))) return this.#withNews({ reservations: [], setAside: [], ...rest });
      }
    }
    return (await this.#exchange([], request)).reply;
  }

  async exchange(settlements: readonly Settlement[], request?: Wanted): Promise<Settled> {
    if (settlements.length > 0) await this.clients.clearDoubts((client) => this.#exchangeAs(client, [], undefined));
    return this.#settling.inPages(settlements, async (page, isLast) => {
      const wanted = isLast ? request : undefined;
      if (page.length > 0) return this.#exchange(page, wanted);
      return wanted === undefined ? NOTHING : { results: [], reply: await this.reserve(wanted) };
    });
  }

  async #exchange(settlements: readonly Settlement[], request: Wanted | undefined): Promise<Settled> {
    const { unreadable, stuck, late, ...done } = await this.clients.use((client) =>
      this.#exchangeAs(client, settlements, request),
    );
    const cameIn = await this.#mend(stuck, late);
    if (cameIn && settlements.length === 0 && done.reply.reservations.length === 0) return this.#exchange([], request);
    const answer = cameIn ? { ...done, reply: { ...done.reply, nextIn: 0 } } : done;
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
  ): Promise<Settled & Pick<Answer, 'unreadable' | 'stuck' | 'late'>> {
    const reserving = settlements.length === 0 ? NOT_RESERVED : `${NOT_SETTLED}, and ${NOT_RESERVED}`;
    const consequence = request === undefined ? NOT_SETTLED : reserving;
    const endings = settlements.map((settlement) => endingOf(settlement, this.#database.name));
    // If a reservation has several endings, the first one counts.
    const ends = new Map<RowId, Ending>();
    for (const ending of endings) if (!ends.has(ending.id)) ends.set(ending.id, ending);
    try {
      const left =
        request === undefined ? [...new Set(settlements.map(({ reservation }) => reservation.queue))] : undefined;
      const { settled, reply, unreadable, news, stuck, late } = await this.#database.run(repeatable(consequence), () =>
        this.#handOut({ endings: [...ends.values()], request, left, mark: client.next() }),
      );
      this.#settling.wereWritten(client.heard(settled));
      this.#wakeOthers(endings, news, reply);
      const results = endings.map((ending) =>
        settled.has(ending.id) && ends.get(ending.id) === ending ? 'settled' : 'lost',
      );
      return { results, reply: this.#withNews(reply), unreadable, stuck, late };
    } catch (error) {
      client.doubt(settlements.map(({ reservation }) => reservation));
      throw error;
    }
  }

  /** If a later step fails, the client's next call gives back what was reserved here. */
  *#handOut(exchange: Exchange): Work<Answer> {
    const { dialect } = this.#database;
    const freed = freedIn(exchange.endings);
    // Before they go back: afterwards they are nobody's.
    if (freed.length > 0) yield* dialect.jobs.giveUp(freed);
    const { settled, taken, outlook, news, isCancelling = false } = yield* dialect.jobs.exchange(exchange);
    const { reservations, rewritten, unreadable } = handedOut(taken);
    if (rewritten.length > 0) yield* this.#rewrite(rewritten);
    const back = reservations.filter(({ counters }) => counters.releases > 0).flatMap(takenBack);
    if (back.length > 0) yield* dialect.jobs.takeBack(back);
    const ordered = yield* this.#withReasons(reservations);
    const marked = isCancelling ? yield* withCancelledBatches(ordered, dialect) : ordered;
    const { stuck, late, ...rest } = outlook;
    const reply = { reservations: marked, setAside: [], ...rest };
    return { settled, reply, unreadable, news, stuck, late };
  }

  /**
   * A job whose update is refused keeps its stored payload: the id that it is handed out with is valid for this reservation
   * only.
   */
  *#rewrite(jobs: readonly Rewritten[]): Work<void> {
    const { dialect } = this.#database;
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
    const reasons = yield* cancelledOf(this.#database.dialect, ending.map(idOf));
    return reservations.map((reservation) =>
      reservation.cancelled === undefined
        ? reservation
        : { ...reservation, cancelled: reasons.get(idOf(reservation)) ?? false },
    );
  }

  /** Whether a job came in. What is wrong with the store is reported by the next call. */
  async #mend(stuck: readonly string[] = [], late: readonly string[] = []): Promise<boolean> {
    let cameIn = false;
    for (const queue of late) cameIn = (await this.#lanes.enter(queue).catch(() => false)) || cameIn;
    for (const queue of stuck) cameIn = (await this.#lanes.mend(queue).catch(() => false)) || cameIn;
    return cameIn;
  }

  #withNews(reply: ReserveReply): ReserveReply {
    return this.#database.engine.hasForgotten?.() === true ? { ...reply, forgotten: true } : reply;
  }

  #wakeOthers(endings: readonly Ending[], news: Exchanged['news'] = [], { reservations }: ReserveReply): void {
    const released = endings.flatMap((ending) => (ending.kind === 'released' ? [ending.queue] : []));
    const following = followersOf(endings).map(({ queue }) => queue);
    const entered = endings.flatMap(({ lane }) => lane?.queue ?? []);
    this.#database.wrote(...new Set([...released, ...following, ...entered, ...news]));
    if (reservations.length > 0) this.#database.waiters.busy?.(reservations.map(({ queue }) => queue));
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

function* withCancelledBatches(reservations: readonly Reservation[], dialect: Dialect): Work<readonly Reservation[]> {
  const ids = reservations.map(({ payload }) => readTies(payload)?.batch?.id ?? '');
  const known = new Set(ids.filter((id) => id !== ''));
  if (known.size === 0) return reservations;
  const cancelled = yield* cancelledBatches(dialect, [...known]);
  return reservations.map((reservation, at) =>
    cancelled.has(ids[at]!) ? { ...reservation, cancelled: reservation.cancelled || true } : reservation,
  );
}

/** Which queues have jobs, and when they will: read without locks. */
export interface QueueOutlook {
  readonly queue: string;
  readonly ready: boolean;
  /** When the first delayed job becomes ready, seconds since 1970. */
  readonly due: Seconds;
  /** It has jobs, and all are held by their lanes. */
  readonly isStuck: boolean;
  /** When the first lease ends. */
  readonly leaseEnd: Seconds;
  /** When its pause ends. Infinity: when it is resumed. -Infinity: it is not paused. */
  readonly pausedUntil: Seconds;
  /** How many more of its jobs may be handed out. Infinity: it has no limit. */
  readonly room: number;
  /** The same for all queues: changes with each restart; undefined if there was none. */
  readonly restart: string | undefined;
  /** The same for all queues: an unfinished batch was cancelled. */
  readonly isCancelling: boolean;
}

/** Rounds to microseconds, so that sums and differences come out even. */
export const toMicroseconds = (seconds: Seconds): Seconds => Math.round(seconds * 1e6) / 1e6;

/** Later than the end of any pause. */
export const FOR_EVER = 9_999_999_999_999;

/** Selects the row that `queueOutlook` reads. */
export function outlookStatement(
  { tables: { orders, batches }, line: { of, state, unplaced, at }, read }: Wording,
  queue: string | Sql,
): Sql {
  const line = of(queue);
  return sql`SELECT
    (SELECT 1 ${line} AND ${state.ready} LIMIT 1),
    (SELECT min(${at.delayed}) ${line} AND ${unplaced}),
    (SELECT min(${at.reserved}) ${line} AND ${state.reserved}),
    (SELECT COALESCE(ends_at, ${raw(String(FOR_EVER))}) FROM ${orders} WHERE kind = 'pause' AND value = ${queue}),
    (SELECT ${read('max(value)')} FROM ${orders} WHERE kind = 'restart'),
    (${findUnfinished(batches, raw('cancelled_at IS NOT NULL'))}),
    (SELECT amount - (SELECT count(*) ${line} AND ${state.reserved}) FROM ${orders} WHERE kind = 'running' AND value = ${queue})`;
}

/** @param heldAt when held jobs would be due */
export function queueOutlook(queue: string, row: SqlRow, heldAt: Seconds): QueueOutlook {
  const [ready = null, due = null, leaseEnd = null, pause = null, restart = null, cancelling = null, room = null] = row;
  const isHeld = due !== null && Number(due) >= heldAt;
  return {
    queue,
    ready: ready !== null,
    due: isHeld ? Infinity : moment(due),
    isStuck: isHeld && ready === null && leaseEnd === null,
    leaseEnd: moment(leaseEnd),
    pausedUntil: pause === null ? -Infinity : moment(pause),
    room: room === null ? Infinity : Number(room),
    restart: restart === null ? undefined : String(restart),
    isCancelling: cancelling !== null,
  };
}

/** Reads a time. A text that somebody has put there counts as never. */
function moment(value: SqlValue): Seconds {
  const isNumber = typeof value === 'number' || (typeof value === 'string' && /^-?\d+(\.\d+)?$/.test(value));
  const seconds = isNumber ? Number(value) : Infinity;
  return seconds < FOR_EVER ? seconds : Infinity;
}

export function outlookOf(outlooks: readonly QueueOutlook[], now: Seconds): Outlook {
  const moments = outlooks.flatMap(({ pausedUntil, ready, room, due, leaseEnd }) => {
    if (pausedUntil > now) return [pausedUntil];
    return ready && room > 0 ? [now] : [due, leaseEnd];
  });
  const paused = outlooks.filter(({ pausedUntil }) => pausedUntil > now).map(({ queue }) => queue);
  const stuck = outlooks.filter(({ isStuck }) => isStuck).map(({ queue }) => queue);
  const restart = outlooks[0]?.restart;
  return {
    nextIn: Math.max(toMicroseconds(Math.min(...moments, Infinity) - now), 0),
    now: now * 1000,
    ...(paused.length > 0 && { paused }),
    ...(restart !== undefined && { restart }),
    ...(stuck.length > 0 && { stuck }),
  };
}

type Failed = Extract<Settlement, { outcome: 'failed' }>;

export interface HandedOut {
  readonly reservations: readonly Reservation[];
  /** To be written before the reservations are handed out. */
  readonly rewritten: readonly Rewritten[];
  /** The settlements of payloads that are not JSON objects, which must not block jobs that can run. */
  readonly unreadable: readonly Failed[];
}

/** Makes reservations from rows that were taken, and endings from workers' settlements. */
export function handedOut(taken: readonly TakenJob[]): HandedOut {
  const reservations: Reservation[] = [];
  const rewritten: Rewritten[] = [];
  const unreadable: Failed[] = [];
  const texts = new Set<string>();
  for (const { id, queue, payload: stored, counters, cancelled } of taken) {
    const token: ReservationToken = { id, fence: fenceOf(counters) };
    if (countersIn(stored) === undefined) {
      const failure = { id: uuidv7(), name: UNREADABLE_NAME, exception: NOT_AN_OBJECT };
      const reservation = { queue, payload: stored, counters, token };
      unreadable.push({ outcome: 'failed', reservation, counters: noCounters, failure });
      continue;
    }
    let payload = withCounters(stored, counters);
    const text = payload.toString('latin1');
    // A second job with the same text gets an id of its own: both may fail, and both are to be kept.
    if (!hasId(payload) || texts.has(text)) {
      const uuid = uuidv7();
      payload = withId(payload, uuid);
      rewritten.push({ ...token, payload, uuid });
    }
    texts.add(text);
    reservations.push({ queue, payload, counters, token, ...(cancelled && { cancelled }) });
  }
  return { reservations, rewritten, unreadable };
}

function endingOf(settlement: Settlement, connection: string): Ending {
  const ending = plainEndingOf(settlement, connection);
  if (settlement.outcome === 'released' && (settlement.front === true || !isDelayed(settlement))) return ending;
  const ties = readTies(settlement.reservation.payload);
  if (ties === undefined) return ending;
  const [leaves, lane] = [leavingOf(ties, settlement), laneLeft(ties, settlement)];
  return { ...ending, ...(leaves && { leaves }), ...(lane && { lane }) };
}

/** Undefined if the job belongs to no batch, or goes back to its queue. */
function leavingOf({ batch }: Ties, settlement: Settlement): Leaving | undefined {
  if (batch === undefined || settlement.outcome === 'released') return undefined;
  return { id: batch.id, change: changeBy(batch, settlement) };
}

/** Undefined if the job has no lane, or keeps its place there. */
function laneLeft({ lane }: Ties, { outcome, reservation }: Settlement): LaneMove | undefined {
  if (lane === undefined || (outcome === 'released' && lane.ordered)) return undefined;
  return { queue: reservation.queue, lane: lane.key, running: runningColumn(lane) };
}

const isDelayed = ({ delay, dueAt }: Pick<Entry, 'delay' | 'dueAt'>): boolean =>
  (delay ?? 0) > 0 || dueAt !== undefined;

/** The ending without its effect on a batch. */
function plainEndingOf(settlement: Settlement, connection: string): Ending {
  const { reservation } = settlement;
  const { queue } = reservation;
  const token = reservation.token as ReservationToken;
  if (settlement.outcome === 'released') {
    const { delay, dueAt, front, counters } = settlement;
    const due = dueAt === undefined ? undefined : dueAt / 1000;
    const isFree = counters.releases > reservation.counters.releases;
    const tied = isFree ? readTies(reservation.payload) : undefined;
    const frees = settlement.frees === true && tied?.unique !== undefined ? tied : undefined;
    const retakes = frees === undefined && tied?.unique?.until === 'start' ? tied : undefined;
    return { ...token, kind: 'released', queue, delay, due, front, retakes, frees, counters };
  }
  if (settlement.outcome === 'cancelled') return { ...token, kind: 'removed' };
  const next = settlement.next?.map(followerOf);
  if (settlement.outcome === 'completed') {
    // Usually there are no followers, and an extra field costs thousands of instructions.
    return next === undefined ? { ...token, kind: 'removed' } : { ...token, kind: 'removed', next };
  }
  const { counters, failure } = settlement;
  const asStored = countersIn(reservation.payload) === undefined;
  const payload = asStored ? reservation.payload : withCounters(reservation.payload, counters);
  const entry = { ...failure, connection, queue, payload, attempts: counters.attempts };
  return { ...token, kind: 'failed', entry, asStored, next };
}

/** The bytes that a settlement sends: only a failed job sends its payload again; followers are added. */
export function sizeOf(settlement: Settlement): number {
  if (settlement.outcome === 'released' || settlement.outcome === 'cancelled') return 0;
  const { next, reservation } = settlement;
  const own = settlement.outcome === 'failed' ? reservation.payload.length + settlement.failure.exception.length : 0;
  return next === undefined ? own : next.reduce((sum, { entry }) => sum + Buffer.byteLength(entry.payload), own);
}
