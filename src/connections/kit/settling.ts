/**
 * Settles in pages of what one call may move.
 *
 * If a settle fails half way, its caller hears of the failure alone and sends all of it again. Until then we remember what was
 * written the first time: the store would call it lost.
 */
import { endOfPage, pagesOf } from '../../base/pages';
import type { Reservation, ReserveReply, Settlement, SettleResult } from '../contract';

export interface Settled {
  readonly results: readonly SettleResult[];
  /** Where nothing was asked for: nothing. */
  readonly reply: ReserveReply;
}

export const NOTHING: Settled = { results: [], reply: { reservations: [], setAside: [], nextIn: Infinity } };

/** Settles a page, and reserves with the last one, which may be empty, what was asked for. */
type Exchange = (page: readonly Settlement[], isLast: boolean) => Promise<Settled>;

export class Settling {
  readonly #bytesOf: (settlement: Settlement) => number;
  readonly #written = new WeakMap<Reservation, SettleResult>();
  /** Something was remembered at some time: as a rule nothing ever is. */
  #mayKnow = false;

  /** @param bytesOf of the texts that travel with it */
  constructor(bytesOf: (settlement: Settlement) => number) {
    this.#bytesOf = bytesOf;
  }

  /** By a call whose answer did not come. */
  wereWritten(reservations: readonly Reservation[]): void {
    this.#mayKnow ||= reservations.length > 0;
    for (const reservation of reservations) this.#written.set(reservation, 'settled');
  }

  /** @throws what `exchange` throws */
  inPages(settlements: readonly Settlement[], exchange: Exchange): Promise<Settled> {
    const isOnePage = !this.#mayKnow && endOfPage(settlements, this.#bytesOf) === settlements.length;
    return isOnePage ? exchange(settlements, true) : this.#pageByPage(settlements, exchange);
  }

  async #pageByPage(settlements: readonly Settlement[], exchange: Exchange): Promise<Settled> {
    const results = settlements.map(({ reservation }) => this.#written.get(reservation));
    const left = [...settlements.keys()].filter((at) => results[at] === undefined);
    const pages = [...pagesOf(left, (at) => this.#bytesOf(settlements[at]!))];
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

  /** @param results of those that were written; undefined: of the others */
  remember(settlements: readonly Settlement[], results: readonly (SettleResult | undefined)[]): void {
    settlements.forEach(({ reservation }, at) => {
      const result = results[at];
      // Of several outcomes of one reservation the first counts.
      if (result === undefined || this.#written.has(reservation)) return;
      this.#written.set(reservation, result);
      this.#mayKnow = true;
    });
  }
}
