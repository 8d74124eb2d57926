/**
 * Settles in pages of what one call may move.
 *
 * If a settle fails half way, its caller sees only the failure and sends everything again. Until then we remember what was
 * written the first time, which the store would report as lost.
 */
import { endOfPage, MOST_BYTES, MOST_JOBS, pagesOf } from '../../base/pages';
import type { FollowUp, Reservation, ReserveReply, Settled, Settlement, SettleResult } from '../contract';
import { givenBack } from '../given-back';
import { LOOK_AGAIN } from './waits';

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
    if (!this.#mayKnow) {
      const end = endOfPage(settlements, this.#bytesOf, 0, MOST_JOBS, MOST_BYTES, jobsOf);
      if (end === settlements.length) return exchange(settlements, true);
    }
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
