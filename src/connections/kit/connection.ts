/**
 * What our connections share: their end, calls that settle in pages and then reserve, and the wait for jobs.
 */
import type { Capability } from '../driver';
import { CapabilityError, ConnectionClosedError } from '../errors';
import type {
  Capabilities,
  Connection,
  Diagnosis,
  Entry,
  Settled,
  FollowUp,
  Reservation,
  ReserveReply,
  Settlement,
  SettleResult,
  Wanted,
  Queues,
} from '../contract';
import { endOfPage, MOST_BYTES, MOST_JOBS, pagesOf } from '../../base/collections';
import { afterFreeRelease } from '../../payload/counters';
import { systemClock, type Clock, type Seconds } from '../../base/clock';

/** Ends once, and refuses later calls and capabilities that the store lacks. */
export abstract class StoreConnection {
  abstract readonly driver: string;
  #closing: Promise<void> | undefined;

  /** @param name its name in the configuration */
  constructor(readonly name: string) {}

  close(): Promise<void> {
    this.#closing ??= this.end();
    return this.#closing;
  }

  /** Closes what is open. Called once. */
  protected abstract end(): Promise<void>;

  protected checkOpen(operation: string): void {
    if (this.#closing !== undefined) throw new ConnectionClosedError(this.name, operation);
  }

  /**
   * A part of the connection whose functions first check that the connection is open. All of them have to return promises.
   *
   * @param name for errors: `failed`
   */
  protected whileOpen<Part extends object>(name: string, part: Part): Part {
    const members = part as Record<string, (...given: readonly unknown[]) => unknown>;
    const guarded = Object.create(part) as typeof members;
    for (const key of [part, Object.getPrototypeOf(part) as object].flatMap((own) => Object.getOwnPropertyNames(own))) {
      if (key in Object.prototype || typeof members[key] !== 'function') continue;
      guarded[key] = async (...given) => {
        this.checkOpen(`${name}.${key}`);
        return members[key]!(...given);
      };
    }
    return guarded as Part;
  }

  /** Why it exchanges nothing. A closed connection reports that first: another driver would not help. */
  protected lacks(capability: Capability): Error {
    this.checkOpen('exchange');
    return new CapabilityError(this.name, this.driver, capability);
  }
}

/** A connection that keeps no jobs: it answers like an empty store, and hands out nothing. */
export abstract class StorelessConnection extends StoreConnection implements Connection {
  abstract override readonly driver: string;
  abstract readonly address: string;
  abstract readonly capabilities: Capabilities;

  abstract push(queue: string, entries: readonly Entry[]): Promise<void>;

  abstract diagnose(): Promise<readonly Diagnosis[]>;

  async exchange(): Promise<Settled> {
    throw this.lacks('reserve');
  }

  readonly queues: Queues = this.whileOpen('queues', {
    names: async () => [],
    counts: async () => ({ ready: 0, delayed: 0, reserved: 0 }),
    clear: async () => 0,
    peek: async () => [],
  });
}

/** The reply if nothing was wanted. */
export const NOTHING: Settled = { results: [], reply: { reservations: [], setAside: [], nextIn: Infinity } };

const NONE: readonly FollowUp[] = [];

/** The jobs that are written with the outcome. */
export function nextOf(settlement: Settlement): readonly FollowUp[] {
  return (settlement.outcome === 'completed' || settlement.outcome === 'failed' ? settlement.next : undefined) ?? NONE;
}

/** How many jobs a settlement moves: its own, and those that follow. */
export function jobsOf(settlement: Settlement): number {
  return 1 + nextOf(settlement).length;
}

/**
 * For a store that settles and reserves in two calls: what is settled stays settled if the reserve fails. The next reserve
 * meets the same trouble, and reports it.
 *
 * @throws what `reserve` throws, if nothing was settled
 */
export async function settledThen(
  results: readonly SettleResult[],
  reserve: () => Promise<ReserveReply>,
): Promise<Settled> {
  try {
    return { results, reply: await reserve() };
  } catch (error) {
    if (results.length === 0) throw error;
    return { results, reply: LOOK_AGAIN };
  }
}

/**
 * For a store that settles and reserves at the same time. If the settlements fail, nobody hears of the jobs that came, so they
 * go back.
 *
 * @throws what either throws; if something was settled, a reserve that fails is left to the next one
 */
export async function settledBeside(
  settling: Promise<readonly SettleResult[]>,
  reserving: Promise<ReserveReply>,
  giveBack: (settlements: readonly Settlement[]) => Promise<unknown>,
): Promise<Settled> {
  // Awaited below, but perhaps only after it has failed.
  reserving.catch(() => undefined);
  let results: readonly SettleResult[];
  try {
    results = await settling;
  } catch (error) {
    void reserving.then(({ reservations }) => giveBack(reservations.map(givenBack))).catch(() => undefined);
    throw error;
  }
  return settledThen(results, () => reserving);
}

/** Settles a page and, with the last one, which may be empty, reserves what was requested. */
type Exchange = (page: readonly Settlement[], isLast: boolean) => Promise<Settled>;

/**
 * Settles in pages of what one call may move.
 *
 * If a settle fails half way, its caller sees only the failure and sends everything again. Until then we remember what was
 * written the first time, which the store would report as lost.
 */
export class Settling {
  readonly #bytesOf: (settlement: Settlement) => number;
  readonly #written = new WeakMap<Reservation, SettleResult>();
  /** Something was remembered at some time. Usually nothing ever is. */
  #mayKnow = false;

  /** @param bytesOf size of the texts that travel with a settlement */
  constructor(bytesOf: (settlement: Settlement) => number) {
    this.#bytesOf = bytesOf;
  }

  /** These were written by a call whose answer did not come. */
  wereWritten(reservations: readonly Reservation[]): void {
    this.#mayKnow ||= reservations.length > 0;
    for (const reservation of reservations) this.#written.set(reservation, 'settled');
  }

  /** @throws what `exchange` throws */
  inPages(settlements: readonly Settlement[], exchange: Exchange): Promise<Settled> {
    const { length } = settlements;
    // One always fits.
    const isPage = length < 2 || endOfPage(settlements, this.#bytesOf, 0, MOST_JOBS, MOST_BYTES, jobsOf) === length;
    if (isPage && !this.#mayKnow) return exchange(settlements, true);
    return this.#pageByPage(settlements, exchange);
  }

  async #pageByPage(settlements: readonly Settlement[], exchange: Exchange): Promise<Settled> {
    const results = settlements.map(({ reservation }) => this.#written.get(reservation));
    const left = [...settlements.keys()].filter((at) => results[at] === undefined);
    const bytes = (at: number): number => this.#bytesOf(settlements[at]!);
    const jobs = (at: number): number => jobsOf(settlements[at]!);
    const pages = [...pagesOf(left, bytes, MOST_JOBS, MOST_BYTES, jobs)];
    if (pages.length === 0) pages.push([]);
    let { reply } = NOTHING;
    try {
      for (const [number, page] of pages.entries()) {
        const ended = page.map((at) => settlements[at]!);
        const settled = await exchange(ended, number === pages.length - 1);
        for (const [index, at] of page.entries()) results[at] = settled.results[index];
        reply = settled.reply;
      }
    } catch (error) {
      this.remember(settlements, results);
      throw error;
    }
    for (const { reservation } of settlements) this.#written.delete(reservation);
    return { results: results as readonly SettleResult[], reply };
  }

  /** @param results results of the written settlements; undefined for the others */
  remember(settlements: readonly Settlement[], results: readonly (SettleResult | undefined)[]): void {
    settlements.forEach(({ reservation }, at) => {
      const result = results[at];
      // If one reservation has several outcomes, the first counts.
      if (result === undefined || this.#written.has(reservation)) return;
      this.#written.set(reservation, result);
      this.#mayKnow = true;
    });
  }
}

/** The settlement of a job that was reserved but not started: back to its place, at no cost in tries. */
export function givenBack(reservation: Reservation): Settlement {
  const counters = afterFreeRelease(reservation.counters);
  return { outcome: 'released', reservation, delay: 0, front: true, counters };
}

/**
 * Whether a job is still its worker's, according to the store, which renews the lease as it answers. True if the store has
 * no leases and cannot tell. @throws what the store throws
 */
export async function isStillOurs(connection: Connection, reservation: Reservation, lease: Seconds): Promise<boolean> {
  if (connection.renew === undefined) return true;
  return (await connection.renew([reservation], lease))[0] !== 'lost';
}

/** Ends a wait. With an error, the wait rejects. */
export type Wake = (error?: unknown) => void;

export interface Listening {
  readonly longest?: Seconds | undefined;
  /** Whether a wait keeps the process alive. Default: yes. */
  readonly keepAlive?: boolean | undefined;
  /** Called when a wait of `seconds` begins. May call `wake` at once. Returns a function to call when the wait is over. */
  readonly listen: (wake: Wake, seconds: Seconds) => () => void;
}

/** The answer to a call that only waited: whoever made it looks again. */
export const LOOK_AGAIN: ReserveReply = { reservations: [], setAside: [], nextIn: 0 };

/** The calls of one connection that wait until there is something. They end with the connection. */
export class Waits {
  readonly #clock: Clock;
  readonly #ends = new Set<() => void>();
  #areOver = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** The connection has ended them. */
  get areOver(): boolean {
    return this.#areOver;
  }

  /**
   * Waits if `wanted` allows it, until somebody wakes it, and then reserves, unless the wait was ended.
   *
   * @throws what `reserve` and a wake throw
   */
  async reserve(
    { within, signal, limit }: Wanted,
    listening: Listening,
    reserve: () => Promise<ReserveReply>,
  ): Promise<ReserveReply> {
    if (within === undefined) return reserve();
    if (signal?.aborted !== true && !this.#areOver && within > 0) await this.#wait(listening, within, signal);
    return limit === 0 || signal?.aborted === true || this.#areOver ? LOOK_AGAIN : reserve();
  }

  #wait(
    { listen, longest = Infinity, keepAlive = true }: Listening,
    seconds: Seconds,
    signal?: AbortSignal,
  ): Promise<void> {
    const span = Math.min(seconds, longest);
    return new Promise((resolve, reject) => {
      let leave = (): void => undefined;
      let isOver = false;
      const wake: Wake = (error) => {
        if (isOver) return;
        isOver = true;
        timer.cancel();
        signal?.removeEventListener('abort', end);
        this.#ends.delete(end);
        leave();
        if (error === undefined) resolve();
        else reject(error as Error);
      };
      const end = (): void => wake();
      const timer = this.#clock.after(span * 1000, end, keepAlive);
      signal?.addEventListener('abort', end);
      this.#ends.add(end);
      leave = listen(wake, span);
      if (isOver) leave();
    });
  }

  close(): void {
    this.#areOver = true;
    for (const end of this.#ends) end();
  }
}

/**
 * For a driver whose store can only be looked at: looks until there is something, or until the call has waited as long as it
 * may.
 *
 * @param look reserves at once
 * @param clock the clock that the connector was given
 */
export async function polled(
  wanted: Wanted,
  look: () => Promise<ReserveReply>,
  clock: Clock = systemClock,
): Promise<ReserveReply> {
  const { within = 0, lookEvery = 1, signal, limit } = wanted;
  const end = clock.monotonic() + within * 1000;
  for (;;) {
    let nextIn: Seconds = Infinity;
    if (limit > 0) {
      const reply = await look();
      ({ nextIn } = reply);
      if (reply.reservations.length > 0 || nextIn <= 0) return reply;
      if (signal?.aborted === true || clock.monotonic() >= end) return reply;
    }
    const pause = Math.min(Math.max(Math.min(lookEvery, nextIn) * 1000, 1), end - clock.monotonic());
    await pauseOf(clock, pause, signal);
    if (limit === 0) return LOOK_AGAIN;
  }
}

function pauseOf(clock: Clock, milliseconds: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted === true) return resolve();
    const end = (): void => {
      timer.cancel();
      signal?.removeEventListener('abort', end);
      resolve();
    };
    const timer = clock.after(milliseconds, end, true);
    signal?.addEventListener('abort', end);
  });
}
