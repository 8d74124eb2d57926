/** The calls that settle and reserve: on a single Redis for all queues of a worker, in a cluster for one queue. */
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
import { nextOf, NOTHING, type Settling, jobsOf } from '../kit/connection';
import { explained, type FirstAttempt } from './caller';
import { Lane, Records, whenOf, type Waiting, type Sent } from './lane';
import type { RedisStore, QueueNames } from './store';
import { MOST_BYTES, MOST_JOBS, pageBytes, groupsOf } from '../../base/collections';
import type { Milliseconds } from '../../base/clock';
import { countersIn, countersTail, noCounters, readCounters } from '../../payload/counters';
import { callTooLong } from './refusals';
import { CallHead, type Argument } from './link';
import { script } from './scripts';
import { readTies } from '../../payload/ties';
import { changeBy } from '../kit/batch-counts';
import { tieOf } from './push';
import { metaLine } from './failed';

interface Exchange extends Waiting {
  readonly settlements: readonly Settlement[];
  readonly wanted: Wanted | undefined;
  readonly first: FirstAttempt | undefined;
  resolve(settled: Settled): void;
}

/** The place, from 1, of a queue that gave jobs, and their texts. */
type Jobs = readonly [place: number, ...texts: Buffer[]];

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

const NO_NEWS: News = {};

/** Words with values come last, if there are any. */
type Answer = readonly [word: Buffer, nextIn: number, now: number, ...parts: (Jobs | readonly unknown[])[]];

/**
 * Jobs that end while a call is under way are settled by the next call, which also reserves.
 *
 * Its calls are repeated until they are answered. If we gave one up, jobs of a reserve that was carried out would belong to
 * nobody until their leases end, and a settle that is asked again under another number would end as `lost`.
 */
export class ExchangeLane extends Lane<Exchange> {
  readonly #store: RedisStore;
  readonly #settling: Settling;
  readonly #records: Records;
  readonly #many: ManyQueues | undefined;
  #forgotten = false;
  /** The beginning of the last call, and its queues behind that of its record: the next call usually has the same. */
  #head: CallHead | undefined;
  #queues: readonly string[] = [];

  /**
   * @param settling remembers what was written if outcomes are refused in part
   * @param many undefined if each call is about one queue
   */
  constructor(store: RedisStore, settling: Settling, records = new Records(), many?: ManyQueues) {
    super(store.caller);
    this.#store = store;
    this.#settling = settling;
    this.#records = records;
    this.#many = many;
  }

  /** Also: there is no news waiting for the next reply. */
  override get isIdle(): boolean {
    return super.isIdle && !this.#forgotten;
  }

  /** Whether such an exchange would travel in the next call. */
  takes(wanted: Wanted | undefined): boolean {
    return this.underWay === 0 && (wanted === undefined || !this.waiting.some(({ isSingle }) => isSingle));
  }

  /**
   * At most 100 jobs and 1 MiB in total, including the jobs that follow; a single settlement may be longer.
   *
   * @throws Redis's refusal of one of the outcomes; the others may be written, and their results are returned when they are
   *   sent again
   */
  exchange(
    settlements: readonly Settlement[],
    wanted: Wanted | undefined,
    insists = false,
    first?: FirstAttempt,
  ): Promise<Settled> {
    let [jobs, bytes] = [0, 0];
    for (const settlement of settlements) {
      jobs += jobsOf(settlement);
      bytes += bytesOf(settlement);
    }
    const since = this.caller.settings.clock.monotonic();
    const isSingle = wanted !== undefined;
    return new Promise((resolve, reject) => {
      this.waiting.push({ settlements, wanted, insists, first, jobs, bytes, isSingle, since, resolve, reject });
      this.goOn();
    });
  }

  protected async carry(exchanges: readonly Exchange[], { sequence, since, at: sentAt }: Sent): Promise<void> {
    const { caller, names, cluster } = this.#store;
    const settlements: Settlement[] = [];
    let wanted: Wanted | undefined;
    let insist: 'once-sent' | 'always' = 'once-sent';
    for (const exchange of exchanges) {
      settlements.push(...exchange.settlements);
      wanted ??= exchange.wanted;
      if (exchange.insists === true) insist = 'always';
    }
    const many = wanted !== undefined && wanted.queues.length > FEW_QUEUES ? this.#many : undefined;
    const asked = many?.of(wanted!, sentAt.monotonic) ?? wanted?.queues ?? NONE;
    const queues = [...new Set(asked)];
    const sources = queues.length;
    const { order, args } = outcomesOf(settlements, queues, names);
    // The record stands with the first queue of the worker, whichever of them are looked at.
    const head = this.#headOf(queues, wanted?.queues[0] ?? queues[0]!);
    const { keys } = head;
    const limit = Math.min(wanted?.limit ?? 0, MOST_JOBS);
    const consequence = consequenceOf(settlements.length);
    let answer: Answer;
    try {
      const given = [sequence, this.id, wanted?.lease ?? 0, limit, sources, ...args];
      const patience = { since, insist, first: exchanges[0]!.first };
      answer = (await caller.script('exchange', head, given, consequence, patience)) as unknown as Answer;
    } catch (error) {
      return this.#leftOut(error, exchanges, settlements);
    }
    const [, nextIn, now, ...parts] = answer;
    // A word begins the news, and a number the jobs of a queue.
    const hasNews = parts.length > 0 && typeof parts.at(-1)![0] !== 'number';
    const news = hasNews ? newsOf(parts.pop()!) : NO_NEWS;
    if (this.#records.areLost(keys[0]!, sentAt, news.unrecorded !== undefined, caller.settings.clock)) {
      this.#forgotten = true;
      names.forget();
      cluster?.ordered.forget();
    }
    if (news.skipped !== undefined) this.#tellOfSkipped(news.skipped, queues, keys);
    const results = Array<SettleResult | undefined>(settlements.length).fill('settled');
    for (const place of news.lost ?? []) results[order[place - 1]!] = 'lost';
    let reply = replyOf(parts as readonly Jobs[], nextIn, now, news, queues, this.#forgotten);
    if (many !== undefined) reply = many.completed(reply, asked, wanted!, sentAt.monotonic);
    for (const { queue } of reply.setAside) names.note(queue);
    // A settle cannot pass the news on; the next reserve does.
    if (wanted !== undefined) this.#forgotten = false;
    if (news.unsettled === undefined) return this.#tell(exchanges, results, reply);
    const [refusal, ...places] = news.unsettled;
    for (const place of places) results[order[place - 1]!] = undefined;
    const error = await explained(caller, keys.slice(1), caller.errorOf(String(refusal), consequence));
    this.#tell(exchanges, results, reply, error);
  }

  /** @param first the queue that the record belongs to */
  #headOf(queues: readonly string[], first: string): CallHead {
    const known = this.#queues;
    const isKnown = known.length === queues.length + 1 && known[0] === first;
    if (isKnown && queues.every((queue, at) => queue === known[at + 1])) return this.#head!;
    const { keys } = this.#store;
    const shared = keys.queue(first);
    const { control, cancelled, reasons, unique, batches, cancelledBatches, lanes, held } = shared;
    this.#queues = [first, ...queues];
    return (this.#head = new CallHead(script('exchange'), [
      ...[shared.client(this.id), control, cancelled, reasons, unique, batches, cancelledBatches, lanes, held],
      ...queues.flatMap((queue) => keys.of(queue, ['ready', 'delayed', 'reserved', 'notify', 'failed', 'failedJobs'])),
    ]));
  }

  /**
   * Leaves a job to its lease whose text Redis does not take. Such a text travels alone. @throws other errors, for outcomes that can
   * be sent one by one
   */
  #leftOut(error: unknown, exchanges: readonly Exchange[], [settlement, ...others]: readonly Settlement[]): void {
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
  ): void {
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

  /** @param keys those of the call */
  #tellOfSkipped(skipped: readonly (number | Buffer)[], queues: readonly string[], keys: readonly string[]): void {
    for (let at = 0; at < skipped.length; at += 2) {
      const place = Number(skipped[at]);
      const queue = queues[place - 1];
      const own = queue === undefined ? keys.slice(1, OWN_KEYS) : keys.slice(OWN_KEYS + 6 * (place - 1)).slice(0, 6);
      const consequence = queue === undefined ? 'no jobs are reserved' : `queue '${queue}' is left as it is`;
      const refusal = this.caller.errorOf(String(skipped[at + 1]), consequence);
      void this.caller.tellOfRefusal(queue ?? keys[1]!, own, refusal);
    }
  }
}

/** Workers of so few queues look at all of them with each call. */
const FEW_QUEUES = 8;
/** How late a look may be, as in `lua/exchange.lua`. */
const LATE: Milliseconds = 20;

/**
 * Between two looks at all of many queues, calls look at the few that give jobs, as long as these bring all that is wanted: to
 * look at a hundred queues takes longer than to take the jobs of one.
 */
export class ManyQueues {
  /** Those of the last look at all, and when that was. */
  #all: readonly string[] = [];
  #at: Milliseconds = -Infinity;
  #paused: readonly string[] = [];
  /** The place of the first queue that gave a job to the last call. -1: the call did not bring all that was wanted. */
  #first = -1;

  /** The queues that a call looks at. */
  of({ queues, limit, within }: Wanted, now: Milliseconds): readonly string[] {
    // Whoever waited was woken by a hint, perhaps of any of them.
    const isPart = this.#first >= 0 && queues === this.#all && now - this.#at < LATE && within === undefined;
    return isPart && limit > 0 ? queues.slice(this.#first, this.#first + FEW_QUEUES) : queues;
  }

  /** The reply to a call that looked at these queues, completed by what is known of the others. */
  completed(
    reply: ReserveReply,
    queues: readonly string[],
    { queues: all, limit }: Wanted,
    now: Milliseconds,
  ): ReserveReply {
    const { reservations, paused = [] } = reply;
    if (queues === all) [this.#all, this.#at, this.#paused] = [all, now, paused];
    this.#first = reservations.length < Math.min(limit, MOST_JOBS) ? -1 : all.indexOf(reservations[0]?.queue ?? '');
    if (queues === all) return reply;
    const others = this.#paused.filter((queue) => !queues.includes(queue));
    return { ...reply, nextIn: 0, ...(others.length + paused.length > 0 && { paused: [...paused, ...others] }) };
  }
}

/** Keys of a call before those of its queues, of which each has six. */
const OWN_KEYS = 9;

function newsOf(words: readonly unknown[]): News {
  const news: Record<string, unknown> = {};
  for (let at = 0; at < words.length; at += 2) news[String(words[at])] = words[at + 1];
  return news;
}

function replyOf(
  jobs: readonly Jobs[],
  nextIn: number,
  now: number,
  { aside = [], cancelled = [], restart, paused }: News,
  queues: readonly string[],
  forgotten: boolean,
): ReserveReply {
  const reservations: Reservation[] = [];
  for (const [place, ...texts] of jobs) {
    const queue = queues[place - 1]!;
    for (const payload of texts) {
      // The script writes our counters at the end of each text it reserves. If they cannot be found after all, such a job must
      // not keep the jobs that came with it from running.
      const counters = countersIn(payload) ?? { ...noCounters, attempts: 1 };
      reservations.push({ queue, payload, counters, token: undefined });
    }
  }
  for (let at = 0; at < cancelled.length; at += 2) {
    const place = Number(cancelled[at]) - 1;
    reservations[place] = { ...reservations[place]!, cancelled: String(cancelled[at + 1]) || true };
  }
  const setAside: SetAside[] = [];
  for (let at = 0; at < aside.length; at += 3) {
    const queue = queues[Number(aside[at]) - 1]!;
    setAside.push({ queue, id: String(aside[at + 1]), reason: String(aside[at + 2]) });
  }
  return {
    reservations,
    setAside,
    nextIn: nextIn < 0 ? Infinity : nextIn / 1_000_000,
    now: now / 1000,
    ...(restart !== undefined && { restart: String(restart) }),
    ...(paused !== undefined && { paused: paused.map((place) => queues[place - 1]!) }),
    ...(forgotten && { forgotten }),
  };
}

function consequenceOf(outcomes: number): string {
  if (outcomes === 0) return 'no jobs were reserved';
  return `${outcomes === 1 ? 'an outcome was' : `${outcomes} outcomes were`} not written`;
}

/** The bytes that travel with a settlement: the job's own text, and those of the jobs that follow it. */
export function bytesOf(settlement: Settlement): number {
  let bytes = settlement.reservation.payload.length;
  for (const { entry } of nextOf(settlement)) bytes += pageBytes(entry.payload);
  return bytes;
}

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

/**
 * The arguments of `lua/exchange.lua` for outcomes: groups of one kind on one queue, and before each outcome the jobs that
 * follow it.
 *
 * @param queues gets those that are only written to
 * @param names gets those that jobs follow to: no job may be in a queue that is not listed
 */
function outcomesOf(settlements: readonly Settlement[], queues: string[], names: QueueNames): Outcomes {
  const outcomes = settlements.map(outcomeOf);
  const order = settlements.length === 1 ? ONLY : orderOf(settlements, outcomes);
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
    const settlement = settlements[at]!;
    const { kind, next, beside, change } = outcomes[at]!;
    for (const { queue } of nextOf(settlement)) names.note(queue);
    for (const { queue, entry } of next) {
      begin(entry.ties?.lane === undefined ? 'next' : 'next+lane', NONE, queue);
      args.push(whenOf(entry.delay ?? 0, entry.dueAt), entry.payload);
    }
    begin(kind, change, settlement.reservation.queue);
    args.push(settlement.reservation.payload);
    if (kind !== 'completed') pushArguments(args, settlement, beside);
    // Later outcomes in the same group would be settled one by one.
    if (next.length > 0) lastGroup = undefined;
  }
  return { order, args };
}

const NONE: readonly never[] = [];
const ONLY: readonly number[] = [0];
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
  // When a script returns a job to its queue, it finds the job's ties itself, except that it may leave its lane.
  const isReleased = outcome === 'released';
  const keepsKey = isReleased && settlement.frees !== true;
  const isReady = isReleased && settlement.delay <= 0 && settlement.dueAt === undefined;
  if (keepsKey && isReady) return plain;
  const next = nextOf(settlement);
  const tied = readTies(reservation.payload);
  const unique = keepsKey ? undefined : tied?.unique;
  const batch = isReleased ? undefined : tied?.batch;
  const lane = isReady || (isReleased && tied?.lane?.ordered === true) ? undefined : tied?.lane;
  if (next.length === 0 && unique === undefined && batch === undefined && lane === undefined) return plain;
  let { kind }: Outcome = plain;
  const beside: Argument[] = [];
  const isBeside = outcome === 'completed' && next.length === 1 && isReadyIn(reservation.queue, next[0]!);
  if (isBeside) {
    kind += '+next';
    beside.push(next[0]!.entry.payload);
  }
  if (unique !== undefined) {
    kind += '+unique';
    // The id was read as Latin-1; these are its bytes.
    const [key, tie] = tieOf(unique.key, unique.for, tied!.id);
    beside.push(key, Buffer.from(tie, 'latin1'));
  }
  let change: readonly Argument[] = NONE;
  if (batch !== undefined) {
    kind += '+batch';
    const { pending = 0, completed = 0, failed = 0, skipped = 0 } = changeBy(batch, settlement);
    change = [batch.id, pending, completed, failed, skipped];
    if (outcome === 'failed') beside.push(settlement.cause === undefined ? '' : JSON.stringify(settlement.cause));
  }
  if (lane !== undefined) {
    kind += '+lane';
    beside.push(lane.key);
  }
  return { kind, next: isBeside ? NONE : next, beside, change };
}

/** As nearly every link of a chain is. One with a lane may have to wait. */
function isReadyIn(own: string, { queue, entry }: FollowUp): boolean {
  return queue === own && (entry.delay ?? 0) <= 0 && entry.dueAt === undefined && entry.ties?.lane === undefined;
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

/** What follows the text of an outcome that is more than plainly completed. */
function pushArguments(args: Argument[], settlement: Settlement, beside: readonly Argument[]): void {
  if (settlement.outcome !== 'completed' && settlement.outcome !== 'cancelled') {
    const { payload } = settlement.reservation;
    args.push(bodyEndOf(payload), countersTail(settlement.counters));
    if (settlement.outcome === 'failed') args.push(settlement.failure.id, metaLine(settlement.failure));
    else args.push(settlement.front ? 'front' : whenOf(settlement.delay, settlement.dueAt));
  }
  args.push(...beside);
}

function bodyEndOf(payload: Buffer): number {
  return readCounters(payload)?.bodyEnd ?? payload.lastIndexOf('}');
}
