/**
 * Settles and reserves. Jobs that end while a call is under way are settled by the next call, which also reserves.
 *
 * Its calls are repeated until they are answered. If we gave one up, jobs of a reserve that was carried out would belong to
 * nobody until their leases end, and a settle that is asked again under another number would end as `lost`.
 */
import type { Moment } from '../../base/clock';
import { MOST_BYTES, MOST_JOBS, pageBytes } from '../../base/pages';
import { countersIn, noCounters } from '../../payload/counters';
import type { Reservation, ReserveReply, SetAside, Settled, Settlement, SettleResult, Wanted } from '../contract';
import { jobsOf, nextOf, NOTHING, type Settling } from '../kit/connection';
import type { FirstAttempt } from './caller';
import { callTooLong } from './errors';
import { explained } from './explanations';
import type { Keys } from './keys';
import { Lane, type Records, type Waiting } from './lane';
import { outcomesOf } from './outcomes';
import type { RedisStore } from './store';

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
export function bytesOf(settlement: Settlement): number {
  let bytes = settlement.reservation.payload.length;
  for (const { entry } of nextOf(settlement)) bytes += pageBytes(entry.payload);
  return bytes;
}
