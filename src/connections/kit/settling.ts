/**
 * Settles in pages of what one call may move.
 *
 * If a settle fails half way, its caller sees only the failure and sends everything again. Until then we remember what was
 * written the first time, which the store would report as lost.
 */
import { endOfPage, MOST_BYTES, MOST_JOBS, pagesOf } from '../../base/pages';
import type { FollowUp, Reservation, Settled, Settlement, SettleResult } from '../contract';

/** The reply if nothing was requested. */
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
