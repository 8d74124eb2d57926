/** Settles and reserves: on a single Redis in one call for all queues, in a cluster in one call for each queue. */
import type {
  ReserveReply,
  Wanted,
  Settled,
  Settlement,
  Reservation,
  SetAside,
  SettleResult,
  FollowUp,
} from '../contract';
import { nextOf, NOTHING, Settling, jobsOf } from '../kit/connection';
import { explained, type FirstAttempt } from './caller';
import { newRecords, Lane, whenOf, type Records, type Waiting } from './lane';
import type { RedisStore } from './store';
import type { Moment } from '../../base/clock';
import { MOST_BYTES, MOST_JOBS, pageBytes, groupsOf } from '../../base/collections';
import { countersIn, noCounters, countersTail, readCounters } from '../../payload/counters';
import { callTooLong } from './refusals';
import type { Keys } from './keys';
import { readTies } from '../../payload/ties';
import { changeBy } from '../kit/batch-counts';
import { tieOf } from './push';
import { metaLine } from './failed';

/** Settles and reserves in a cluster, one call for each queue. */
export interface Slots {
  exchange(settlements: readonly Settlement[], wanted: Wanted | undefined): Promise<Settled>;
}

export class Exchanger {
  readonly #store: RedisStore;
  readonly #settling = new Settling(bytesOf);
  /** Two calls may be under way: while Redis answers one, the jobs of the other run. */
  readonly #lanes: readonly [ExchangeLane, ExchangeLane];
  /** For calls queued behind a blocking read, so that they hold up no other. */
  readonly #waiting: ExchangeLane;
  readonly #slots: Slots | undefined;

  constructor(store: RedisStore, slots?: (settling: Settling) => Slots) {
    this.#store = store;
    const records = newRecords();
    const lane = (): ExchangeLane => new ExchangeLane(store, this.#settling, records);
    this.#lanes = [lane(), lane()];
    this.#waiting = lane();
    this.#slots = slots?.(this.#settling);
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

interface Exchange extends Waiting {
  readonly settlements: readonly Settlement[];
  readonly request: Wanted | undefined;
  readonly first: FirstAttempt | undefined;
  resolve(settled: Settled): void;
}

/** The call that was sent. */
interface Call {
  readonly exchanges: readonly Exchange[];
  readonly settlements: readonly Settlement[];
  /** The indexes of the settlements, in the order written. */
  readonly order: readonly number[];
  readonly queues: readonly string[];
  readonly keys: readonly string[];
  readonly isReserve: boolean;
  readonly sentAt: Moment;
}

/** For each queue that gave jobs: its place, from 1, and their texts. */
type Jobs = readonly (readonly [place: number, ...texts: Buffer[]])[];

/** What the script says besides the jobs, as words with values. */
interface News {
  /** Places, from 1, of outcomes whose reservation is gone. */
  readonly lost?: readonly number[];
  /** Redis's error, and the places of the outcomes that it refused; the others are written. */
  readonly unsettled?: readonly [words: Buffer, ...places: number[]];
  /** Pairs: the place of a queue that was skipped (0 for the orders), and Redis's error. */
  readonly skipped?: readonly (number | Buffer)[];
  /** Triples: the place of a queue, an id, a reason. */
  readonly aside?: readonly (number | Buffer)[];
  /** Pairs: the place of a job in the whole reply, from 1, and the reason. */
  readonly cancelled?: readonly (number | Buffer)[];
  readonly restart?: Buffer;
  readonly paused?: readonly number[];
  readonly unrecorded?: 1;
}

/**
 * Settles and reserves. Jobs that end while a call is under way are settled by the next call, which also reserves.
 *
 * Its calls are repeated until they are answered. If we gave one up, jobs of a reserve that was carried out would belong to
 * nobody until their leases end, and a settle that is asked again under another number would end as `lost`.
 */
export class ExchangeLane extends Lane<Exchange> {
  readonly #keys: Keys;
  readonly #settling: Settling;
  #forgotten = false;

  /** @param settling remembers what was written if outcomes are refused in part */
  constructor({ caller, keys }: Pick<RedisStore, 'caller' | 'keys'>, settling: Settling, recorded?: Records) {
    super(caller, recorded);
    this.#keys = keys;
    this.#settling = settling;
  }

  /** Also: there is no news waiting for the next reply. */
  override get isIdle(): boolean {
    return super.isIdle && !this.#forgotten;
  }

  /** Whether such an exchange would travel in the next call. */
  takes(request: Wanted | undefined): boolean {
    return !this.isSending && (request === undefined || !this.waiting.some(({ isSingle }) => isSingle));
  }

  /**
   * At most 100 jobs and 1 MiB in total, including the jobs that follow; a single settlement may be longer.
   *
   * @throws Redis's refusal of one of the outcomes; the others may be written, and their results are returned when they are
   *   sent again
   */
  exchange(
    settlements: readonly Settlement[],
    request: Wanted | undefined,
    insists = false,
    first?: FirstAttempt,
  ): Promise<Settled> {
    let [jobs, bytes] = [0, 0];
    for (const settlement of settlements) {
      jobs += jobsOf(settlement);
      bytes += bytesOf(settlement);
    }
    const since = this.caller.settings.clock.monotonic();
    const isSingle = request !== undefined;
    return new Promise((resolve, reject) => {
      this.enqueue({ settlements, request, insists, first, jobs, bytes, isSingle, since, resolve, reject });
    });
  }

  protected carry(exchanges: readonly Exchange[], sequence: number): Promise<void> {
    const request = exchanges.find((exchange) => exchange.request !== undefined)?.request;
    const queues = [...new Set(request?.queues)];
    const sources = queues.length;
    const settlements = exchanges.flatMap((exchange) => exchange.settlements);
    const { order, args: outcomes } = outcomesOf(settlements, queues);
    const { client, control, cancelled, reasons, unique, batches, cancelledBatches } = this.#keys.queue(queues[0]!);
    const keys = [client(this.id), control, cancelled, reasons, unique, batches, cancelledBatches];
    for (const queue of queues) keys.push(...this.#keysOf(queue));
    const limit = Math.min(request?.limit ?? 0, MOST_JOBS);
    const isReserve = request !== undefined;
    const call: Call = { exchanges, settlements, order, queues, keys, isReserve, sentAt: this.moment };
    const args = [sequence, this.id, request?.lease ?? 0, limit, sources, ...outcomes];
    return this.caller
      .script('exchange', keys, args, {
        consequence: consequenceOf(settlements.length),
        since: this.waitingSince(exchanges),
        first: exchanges[0]!.first,
        insist: exchanges.some(({ insists }) => insists === true) ? 'always' : 'once-sent',
      })
      .then(
        (reply) => this.#answered(reply, call),
        (error: unknown) => this.#leftOut(error, call),
      );
  }

  #answered(
    reply: readonly unknown[],
    { exchanges, settlements, order, queues, keys, isReserve, sentAt }: Call,
  ): Promise<void> | undefined {
    const [, jobs, nextIn, now, words] = reply as readonly [Buffer, Jobs, Buffer, number, readonly unknown[]];
    const news = newsOf(words);
    this.#forgotten = this.forgot(keys[0]!, sentAt, news.unrecorded !== undefined) || this.#forgotten;
    this.#tellOfSkipped(news.skipped ?? [], queues);
    const results = settlements.map((): SettleResult | undefined => 'settled');
    for (const place of news.lost ?? []) results[order[place - 1]!] = 'lost';
    for (const place of news.unsettled?.slice(1) ?? []) results[order[Number(place) - 1]!] = undefined;
    const refusal = news.unsettled && this.caller.errorOf(String(news.unsettled[0]), consequenceOf(settlements.length));
    const told = replyOf(jobs, nextIn, now, news, queues, this.#forgotten);
    // A settle cannot pass the news on; the next reserve does.
    if (isReserve) this.#forgotten = false;
    if (refusal === undefined) return this.#tell(exchanges, results, told);
    return explained(this.caller, keys.slice(1), refusal).then((error) => this.#tell(exchanges, results, told, error));
  }

  /**
   * Leaves a job to its lease whose text Redis does not take. Such a text travels alone. @throws other errors, for outcomes that can
   * be sent one by one
   */
  #leftOut(error: unknown, { exchanges, settlements: [settlement, ...others] }: Call): undefined {
    if (!callTooLong.is(error) || settlement === undefined || others.length > 0) throw error;
    const { payload, queue } = settlement.reservation;
    if (payload.length < MOST_BYTES) throw error;
    const { name: connection, logger } = this.caller.settings;
    const { code, message } = error;
    logger.error({ connection, queue, code }, `${message} The job is left to its lease, and then runs again.`);
    // The reserve that travelled with it is asked again.
    this.#tell(exchanges, ['lost'], { ...NOTHING.reply, nextIn: 0 });
  }

  #tell(
    exchanges: readonly Exchange[],
    results: readonly (SettleResult | undefined)[],
    reply: ReserveReply,
    error?: unknown,
  ): undefined {
    let start = 0;
    for (const exchange of exchanges) {
      const { settlements } = exchange;
      const own = results.slice(start, (start += settlements.length));
      if (!own.includes(undefined)) {
        exchange.resolve({ results: own as readonly SettleResult[], reply });
        continue;
      }
      this.#settling.remember(settlements, own);
      exchange.reject(error);
    }
  }

  #tellOfSkipped(skipped: readonly (number | Buffer)[], queues: readonly string[]): void {
    for (let at = 0; at < skipped.length; at += 2) {
      const queue = queues[Number(skipped[at]) - 1];
      const { control, cancelled, reasons, cancelledBatches } = this.#keys.queue(queues[0]!);
      const keys = queue === undefined ? [control, cancelled, reasons, cancelledBatches] : this.#keysOf(queue);
      const consequence = queue === undefined ? 'no jobs are reserved' : `queue '${queue}' is left as it is`;
      const refusal = this.caller.errorOf(String(skipped[at + 1]), consequence);
      void this.caller.tellOfRefusal(queue ?? control, keys, refusal);
    }
  }

  #keysOf(queue: string): readonly string[] {
    const { ready, delayed, reserved, notify, failed, failedJobs } = this.#keys.queue(queue);
    return [ready, delayed, reserved, notify, failed, failedJobs];
  }
}

function newsOf(words: readonly unknown[]): News {
  const news: Record<string, unknown> = {};
  for (let at = 0; at < words.length; at += 2) news[String(words[at])] = words[at + 1];
  return news;
}

function replyOf(
  jobs: Jobs,
  nextIn: Buffer,
  now: number,
  { aside = [], cancelled = [], restart, paused }: News,
  queues: readonly string[],
  forgotten: boolean,
): ReserveReply {
  const reservations = jobs.flatMap(([place, ...texts]) => texts.map((text) => reservation(queues[place - 1]!, text)));
  for (let at = 0; at < cancelled.length; at += 2) {
    const place = Number(cancelled[at]) - 1;
    reservations[place] = { ...reservations[place]!, cancelled: String(cancelled[at + 1]) || true };
  }
  const setAside: SetAside[] = [];
  for (let at = 0; at < aside.length; at += 3) {
    const queue = queues[Number(aside[at]) - 1]!;
    setAside.push({ queue, id: String(aside[at + 1]), reason: String(aside[at + 2]) });
  }
  const next = nextIn.toString();
  return {
    reservations,
    setAside,
    nextIn: next === 'never' ? Infinity : Number(next),
    now: now / 1000,
    ...(restart !== undefined && { restart: String(restart) }),
    ...(paused !== undefined && { paused: paused.map((place) => queues[place - 1]!) }),
    ...(forgotten && { forgotten }),
  };
}

// The script writes our counters at the end of each text it reserves. If they cannot be found after all, such a job must not
// keep the jobs that came with it from running.
function reservation(queue: string, payload: Buffer): Reservation {
  const counters = countersIn(payload) ?? { ...noCounters, attempts: 1 };
  return { queue, payload, counters, token: undefined };
}

function consequenceOf(outcomes: number): string {
  if (outcomes === 0) return 'no jobs were reserved';
  return `${outcomes === 1 ? 'an outcome was' : `${outcomes} outcomes were`} not written`;
}

/** The bytes that travel with a settlement: the job's own text, and those of the jobs that follow it. */
function bytesOf(settlement: Settlement): number {
  let bytes = settlement.reservation.payload.length;
  for (const { entry } of nextOf(settlement)) bytes += pageBytes(entry.payload);
  return bytes;
}

/**
 * The arguments of `lua/exchange.lua` for outcomes: groups of one kind on one queue, and before each outcome the jobs that
 * follow it.
 */

type Argument = string | number | Buffer;

interface Outcomes {
  /** The indexes of the settlements, in the order written. */
  readonly order: readonly number[];
  readonly args: readonly Argument[];
}

/** What is written for a settlement. */
interface Outcome {
  /** Its name in the script, including what accompanies it: `completed+next+unique`. */
  readonly kind: string;
  /** The jobs that follow it, in groups of their own. */
  readonly next: readonly FollowUp[];
  /** Its extra arguments: the text of a job that follows it, its unique key and id, why it failed. */
  readonly beside: readonly Argument[];
  /** Arguments at the head of its group: its batch, and by how much each outcome changes the batch's numbers. */
  readonly change: readonly Argument[];
}

/** Adds to `queues` those that are only written to. */
function outcomesOf(settlements: readonly Settlement[], queues: string[]): Outcomes {
  const outcomes = settlements.map(outcomeOf);
  const order = orderOf(settlements, outcomes);
  const args: Argument[] = [];
  let count = 0;
  let countAt = -1;
  let [lastGroup, lastQueue]: (string | undefined)[] = [];
  const begin = (kind: string, change: readonly Argument[], queue: string): void => {
    const group = change.length === 0 ? kind : `${kind} ${change.join(' ')}`;
    if (group !== lastGroup || queue !== lastQueue) {
      if (!queues.includes(queue)) queues.push(queue);
      countAt = args.push(kind, queues.indexOf(queue) + 1, (count = 0), ...change) - 1 - change.length;
      [lastGroup, lastQueue] = [group, queue];
    }
    args[countAt] = count += 1;
  };
  for (const at of order) {
    const { kind, next, beside, change } = outcomes[at]!;
    for (const { queue, entry } of next) {
      begin('next', NONE, queue);
      args.push(whenOf(entry.delay ?? 0, entry.dueAt), entry.payload);
    }
    begin(kind, change, settlements[at]!.reservation.queue);
    pushArguments(args, settlements[at]!);
    args.push(...beside);
    // Later outcomes in the same group would be settled one by one.
    if (next.length > 0) lastGroup = undefined;
  }
  return { order, args };
}

const NONE: readonly never[] = [];
const COMPLETED: Outcome = { kind: 'completed', next: NONE, beside: NONE, change: NONE };
const PLAIN = {
  completed: COMPLETED,
  // For the store both are the same: the job is gone, and so is a mark that it was cancelled.
  cancelled: COMPLETED,
  failed: { kind: 'failed', next: NONE, beside: NONE, change: NONE },
  released: { kind: 'released', next: NONE, beside: NONE, change: NONE },
} satisfies Readonly<Record<Settlement['outcome'], Outcome>>;

function outcomeOf(settlement: Settlement): Outcome {
  const { outcome, reservation } = settlement;
  const plain = PLAIN[outcome];
  // When a script returns a job to its queue, it finds the job's ties itself.
  if (outcome === 'released' && settlement.frees !== true) return plain;
  const next = nextOf(settlement);
  const tied = readTies(reservation.payload);
  const batch = outcome === 'released' ? undefined : tied?.batch;
  if (next.length === 0 && tied?.unique === undefined && batch === undefined) return plain;
  let { kind }: Outcome = plain;
  const beside: Argument[] = [];
  const isBeside = outcome === 'completed' && next.length === 1 && isReadyIn(reservation.queue, next[0]!);
  if (isBeside) {
    kind += '+next';
    beside.push(next[0]!.entry.payload);
  }
  if (tied?.unique !== undefined) {
    kind += '+unique';
    // The id was read as Latin-1; these are its bytes.
    const [key, tie] = tieOf(tied.unique, tied.id);
    beside.push(key, Buffer.from(tie, 'latin1'));
  }
  let change: readonly Argument[] = NONE;
  if (batch !== undefined) {
    kind += '+batch';
    const { pending = 0, completed = 0, failed = 0, skipped = 0 } = changeBy(batch, settlement);
    change = [batch.id, pending, completed, failed, skipped];
    if (outcome === 'failed') beside.push(settlement.cause === undefined ? '' : JSON.stringify(settlement.cause));
  }
  return { kind, next: isBeside ? NONE : next, beside, change };
}

/** As nearly every link of a chain is. */
function isReadyIn(own: string, { queue, entry }: FollowUp): boolean {
  return queue === own && (entry.delay ?? 0) <= 0 && entry.dueAt === undefined;
}

/**
 * The order in which outcomes are written: those of a kind together, because a group that has more than plain outcomes costs
 * a lookup; and last the jobs that go to the head of their queue, because each is put before all others.
 */
function orderOf(settlements: readonly Settlement[], outcomes: readonly Outcome[]): readonly number[] {
  const places = settlements.map((_, at) => at);
  if (outcomes.every((outcome) => outcome === COMPLETED)) return places;
  const groups = groupsOf(places, (at) => {
    const { kind, next, change } = outcomes[at]!;
    const { queue } = settlements[at]!.reservation;
    return isFirst(settlements[at]!) ? '' : `${kind} ${change.join(' ')} ${next.length > 0} ${queue}`;
  });
  const { '': first = NONE, ...others } = Object.fromEntries(groups);
  return [...Object.values(others).flat(), ...first.toReversed()];
}

function isFirst(settlement: Settlement): boolean {
  return settlement.outcome === 'released' && settlement.front === true;
}

function pushArguments(args: Argument[], settlement: Settlement): void {
  const { payload } = settlement.reservation;
  args.push(payload);
  if (settlement.outcome === 'completed' || settlement.outcome === 'cancelled') return;
  args.push(bodyEndOf(payload), countersTail(settlement.counters));
  if (settlement.outcome === 'failed') args.push(settlement.failure.id, metaLine(settlement.failure));
  else args.push(settlement.front ? 'front' : whenOf(settlement.delay, settlement.dueAt));
}

function bodyEndOf(payload: Buffer): number {
  return readCounters(payload)?.bodyEnd ?? payload.lastIndexOf('}');
}
