/**
 * Settles and reserves: what ends while a call is under way is settled by the next, which also reserves.
 *
 * Its calls are asked until they are answered. Given up, a reserve that was carried out would leave jobs with nobody
 * until their leases end, and a settle would end as `lost` when it is asked again under another number.
 */
import type { Milliseconds } from '../../base/clock';
import { type Counters, countersTail, noCounters, readCounters, readCountersOfAny } from '../../payload/counters';
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
import { failureMeta } from './failed-meta';
import { ForeignKeys } from './foreign-keys';
import type { Keys } from './keys';
import { Lane } from './lane';
import { MOST_BYTES, MOST_JOBS } from '../../base/pages';
import { withMissingRights } from './permissions';
import { script } from './scripts';
import { whenOf } from './when';

export interface Exchanged {
  readonly results: readonly Answer<SettleResult>[];
  /** Where nothing was asked for: nothing. */
  readonly reply: ReserveReply;
}

interface Exchange {
  readonly settlements: readonly Settlement[];
  readonly request: ReserveRequest | undefined;
  /** Asked until it is answered: other outcomes of the same settle were written already. */
  readonly insists: boolean;
  readonly bytes: number;
  readonly since: Milliseconds;
  resolve(exchanged: Exchanged): void;
  reject(error: unknown): void;
}

type Argument = string | number | Buffer;

/** For each queue that gave some: its place from 1, and the texts. */
type Jobs = readonly (readonly [place: number, ...texts: Buffer[]])[];

/** Outcomes of one kind on one queue, as the script takes them. */
interface Group {
  readonly kind: 'completed' | 'released' | 'failed';
  readonly queue: number;
  readonly args: Argument[];
  /** Whose outcomes they are. */
  readonly origins: { readonly results: Answer<SettleResult>[]; readonly index: number }[];
}

export class ExchangeLane extends Lane<Exchange> {
  readonly #keys: Keys;
  readonly #foreign: ForeignKeys;
  #forgotten = false;

  constructor(caller: RedisCaller, keys: Keys) {
    super(caller);
    this.#foreign = new ForeignKeys(caller);
    this.#keys = keys;
  }

  /** It has nothing to tell either. */
  override get isIdle(): boolean {
    return super.isIdle && !this.#forgotten;
  }

  /** At most 100 settlements of 1 MiB in all; one may be longer. */
  exchange(
    settlements: readonly Settlement[],
    request: ReserveRequest | undefined,
    insists: boolean,
  ): Promise<Exchanged> {
    const bytes = settlements.reduce((sum, { reservation }) => sum + reservation.payload.length, 0);
    const since = this.caller.settings.clock.monotonic();
    return new Promise((resolve, reject) => {
      this.enqueue({ settlements, request, insists, bytes, since, resolve, reject });
    });
  }

  protected fitting(exchanges: readonly Exchange[]): number {
    let jobs = 0;
    let bytes = 0;
    let requests = 0;
    let count = 0;
    for (const exchange of exchanges) {
      jobs += exchange.settlements.length;
      bytes += exchange.bytes;
      requests += exchange.request === undefined ? 0 : 1;
      if (count > 0 && (jobs > MOST_JOBS || bytes > MOST_BYTES || requests > 1)) break;
      count += 1;
    }
    return count;
  }

  protected async carry(exchanges: readonly Exchange[], sequence: number): Promise<void> {
    const request = exchanges.find((exchange) => exchange.request !== undefined)?.request;
    const queues = [...new Set(request?.queues)];
    const sources = queues.length;
    const results = exchanges.map(({ settlements }) => settlements.map((): Answer<SettleResult> => 'settled'));
    const groups = grouped(exchanges, results, queues);
    const { id } = this;
    const { client, control, cancelled, reasons } = this.#keys.queue(queues[0]!);
    const keys = [client(id), control, cancelled, reasons];
    for (const queue of queues) keys.push(...this.#keysOf(queue));
    const sentAt = this.moment;
    const limit = Math.min(request?.limit ?? 0, MOST_JOBS);
    const args: Argument[] = [sequence, id, request?.lease ?? 0, limit, sources];
    for (const { kind, queue, args: outcomes, origins } of groups) {
      args.push(kind, queue, origins.length);
      for (const outcome of outcomes) args.push(outcome);
    }
    const [, lost, jobs, aside, nextIn, words, now] = (await this.caller.script(script('exchange'), keys, args, {
      consequence: consequenceOf(exchanges),
      since: this.waitingSince(exchanges),
      insist: exchanges.some(({ insists }) => insists) ? 'always' : 'once-sent',
    })) as [Buffer, readonly number[], Jobs, readonly (number | Buffer)[], Buffer, readonly unknown[], Buffer];
    const { cancelled: ending, unrecorded, foreign, refused, unwritable, ...news } = newsOf(words, queues);
    if (lost.length > 0) mark(groups, lost, 'lost');
    const refusal = refused && this.caller.refusal(refused.words, consequenceOf(exchanges));
    const explained = refusal && ((await withMissingRights(this.caller, control, refusal)) as Error);
    if (refused !== undefined) mark(groups, refused.places, refusedWith(explained));
    for (const queue of foreign) {
      const places = placesOn(groups, queues.indexOf(queue) + 1).filter((place) => unwritable.includes(place));
      if (places.length > 0) mark(groups, places, refusedWith(await this.#foreign.errorOf(queue, this.#keysOf(queue))));
    }
    this.#forgotten = this.forgot(keys[0]!, sentAt, unrecorded) || this.#forgotten;
    const reply: ReserveReply = {
      reservations: reservationsOf(jobs, queues, ending),
      setAside: setAside(aside, queues),
      nextIn: secondsOf(nextIn.toString()),
      now: Number(now.toString()) * 1000,
      ...news,
      ...(this.#forgotten && { forgotten: true }),
    };
    for (const queue of foreign) void this.#foreign.tell(queue, this.#keysOf(queue));
    const unwritten = unwritable.length + (refused?.places.length ?? 0);
    const outcomes = groups.reduce((sum, { origins }) => sum + origins.length, -unwritten);
    const answered = outcomes + reply.reservations.length + reply.setAside.length > 0;
    if (!answered && foreign.length > 0 && (foreign.includes(ORDERS) || foreign.length === queues.length))
      throw await this.#foreign.errorOf(foreign[0]!, this.#keysOf(foreign[0]!));
    // A settle has nobody to tell it to: the next reserve has.
    if (request !== undefined) this.#forgotten = false;
    exchanges.forEach((exchange, index) => exchange.resolve({ results: results[index]!, reply }));
  }

  #keysOf(queue: string): readonly string[] {
    if (queue === ORDERS) {
      const { control, cancelled, reasons } = this.#keys.queue(queue);
      return [control, cancelled, reasons];
    }
    const { ready, delayed, reserved, notify, failed, failedJobs } = this.#keys.queue(queue);
    return [ready, delayed, reserved, notify, failed, failedJobs];
  }
}

// Adds to `queues` those that are only settled on: the ones to reserve from stand first.
function grouped(
  exchanges: readonly Exchange[],
  results: readonly Answer<SettleResult>[][],
  queues: string[],
): readonly Group[] {
  const groups = new Map<string, Group>();
  exchanges.forEach(({ settlements }, number) => {
    settlements.forEach((settlement, index) => {
      const { queue } = settlement.reservation;
      // To the store the two are one: the job is gone, and so is a mark that it was cancelled.
      const kind = settlement.outcome === 'cancelled' ? 'completed' : settlement.outcome;
      const isFront = settlement.outcome === 'released' && settlement.front === true;
      const name = `${isFront ? 'front' : kind}:${queue}`;
      let group = groups.get(name);
      if (group === undefined) {
        if (!queues.includes(queue)) queues.push(queue);
        group = { kind, queue: queues.indexOf(queue) + 1, args: [], origins: [] };
        groups.set(name, group);
      }
      const origin = { results: results[number]!, index };
      // Each is put before all others: the last one first.
      if (isFront) {
        group.args.unshift(...argsOf(settlement));
        group.origins.unshift(origin);
      } else {
        group.args.push(...argsOf(settlement));
        group.origins.push(origin);
      }
    });
  });
  return [...groups.values()];
}

function argsOf(settlement: Settlement): readonly Argument[] {
  const { payload } = settlement.reservation;
  if (settlement.outcome === 'completed' || settlement.outcome === 'cancelled') return [payload];
  const text = [payload, bodyEndOf(payload), countersTail(settlement.counters)];
  if (settlement.outcome === 'failed') return [...text, settlement.failure.id, failureMeta(settlement.failure)];
  return [...text, settlement.front ? 'front' : whenOf(settlement.delay, settlement.dueAt)];
}

/** @param places from 1 */
function mark(groups: readonly Group[], places: readonly number[], answer: Answer<SettleResult>): void {
  const origins = groups.flatMap((group) => group.origins);
  for (const place of places) {
    const { results, index } = origins[place - 1]!;
    results[index] = answer;
  }
}

/** From 1, of outcomes on the queue at this place. */
function placesOn(groups: readonly Group[], queue: number): readonly number[] {
  const queues = groups.flatMap((group) => group.origins.map(() => group.queue));
  return queues.flatMap((one, index) => (one === queue ? [index + 1] : []));
}

/** It is settled again: Redis may take it then. */
function refusedWith(refusal: unknown): Answer<SettleResult> {
  const later = Promise.reject<SettleResult>(refusal);
  later.catch(() => undefined);
  return { later };
}

function reservationsOf(jobs: Jobs, queues: readonly string[], cancelled: News['cancelled']): readonly Reservation[] {
  const reservations = jobs.flatMap(([place, ...texts]) => texts.map((text) => reservation(queues[place - 1]!, text)));
  for (let at = 0; at < cancelled.length; at += 2) {
    const place = Number(cancelled[at]) - 1;
    reservations[place] = { ...reservations[place]!, cancelled: String(cancelled[at + 1]) || true };
  }
  return reservations;
}

function reservation(queue: string, payload: Buffer): Reservation {
  return { queue, payload, counters: countersOf(payload), token: undefined };
}

type News = Pick<ReserveReply, 'restart' | 'paused'> & {
  /** A place from 1, in the whole of the reply, and why, and so on. */
  readonly cancelled: readonly (number | Buffer)[];
  readonly unrecorded: boolean;
  /** Queues of which a key is of another type. */
  readonly foreign: readonly string[];
  /** What Redis said, and the places from 1 of outcomes that were not written for it. */
  readonly refused: { readonly words: string; readonly places: readonly number[] } | undefined;
  /** Places from 1 of outcomes that would go to such a key. */
  readonly unwritable: readonly number[];
};

const NO_NEWS: News = { cancelled: [], unrecorded: false, foreign: [], refused: undefined, unwritable: [] };
/** In the place of a queue: the keys in which orders stand. */
const ORDERS = '';

/** The script's words, each with what belongs to it. */
function newsOf(words: readonly unknown[], queues: readonly string[]): News {
  if (words.length === 0) return NO_NEWS;
  const told = new Map<string, unknown>();
  for (let at = 0; at < words.length; at += 2) told.set(String(words[at]), words[at + 1]);
  const paused = told.get('paused') as readonly number[] | undefined;
  const refused = told.get('refused') as readonly [words: Buffer, ...places: number[]] | undefined;
  return {
    cancelled: (told.get('cancelled') as News['cancelled'] | undefined) ?? [],
    unrecorded: told.has('unrecorded'),
    foreign: ((told.get('foreign') as readonly number[] | undefined) ?? []).map((place) => queues[place - 1] ?? ORDERS),
    unwritable: (told.get('unwritable') as readonly number[] | undefined) ?? [],
    refused: refused && { words: String(refused[0]), places: refused.slice(1) as number[] },
    ...(told.has('restart') && { restart: String(told.get('restart')) }),
    ...(paused !== undefined && { paused: paused.map((place) => queues[place - 1]!) }),
  };
}

// The script that reserves a text puts our counters at its end. They are not found so only where white space leads, or
// where Redis takes for JSON what is none: such a job must not keep those that came with it from being run.
function countersOf(payload: Buffer): Counters {
  return readCounters(payload)?.counters ?? readCountersOfAny(payload) ?? { ...noCounters, attempts: 1 };
}

function bodyEndOf(payload: Buffer): number {
  return readCounters(payload)?.bodyEnd ?? payload.lastIndexOf('}');
}

function setAside(aside: readonly (number | Buffer)[], queues: readonly string[]): readonly SetAside[] {
  const found: SetAside[] = [];
  for (let at = 0; at < aside.length; at += 3) {
    const [place, id, reason] = aside.slice(at, at + 3);
    found.push({ queue: queues[Number(place) - 1]!, id: String(id), reason: String(reason) });
  }
  return found;
}

function secondsOf(nextIn: string): number {
  return nextIn === 'never' ? Infinity : Number(nextIn);
}

function consequenceOf(exchanges: readonly Exchange[]): string {
  const outcomes = exchanges.reduce((sum, { settlements }) => sum + settlements.length, 0);
  return outcomes === 0
    ? 'no jobs were reserved'
    : `${outcomes === 1 ? 'an outcome was' : `${outcomes} outcomes were`} not written`;
}
