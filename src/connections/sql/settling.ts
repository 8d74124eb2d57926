/** Settles in pages of what one call may move. */
import { pagesOf } from '../../base/pages';
import type { Reservation, ReserveReply, Settlement, SettleResult } from '../contract';
import { sizeOf } from './reservations';

export interface Settled {
  readonly results: readonly SettleResult[];
  /** Where nothing was asked for: nothing. */
  readonly reply: ReserveReply;
}

export const NOTHING: Settled = { results: [], reply: { reservations: [], setAside: [], nextIn: Infinity } };

/** Settles a page, and reserves with the last one, which may be empty, what was asked for. */
type Exchange = (page: readonly Settlement[], isLast: boolean) => Promise<Settled>;

export class Settling {
  /** Of settles that failed at a later page, or without an answer: whoever sent them sends all of them again. */
  readonly #written = new WeakMap<Reservation, SettleResult>();

  /** By a call whose answer did not come. */
  wereWritten(reservations: readonly Reservation[]): void {
    for (const reservation of reservations) this.#written.set(reservation, 'settled');
  }

  async inPages(settlements: readonly Settlement[], exchange: Exchange): Promise<Settled> {
    const results = settlements.map(({ reservation }) => this.#written.get(reservation));
    const left = [...settlements.keys()].filter((at) => results[at] === undefined);
    const pages = [...pagesOf(left, (at) => sizeOf(settlements[at]!))];
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
      // Of several outcomes of one reservation the first counts.
      for (const at of left.toReversed()) {
        if (results[at] !== undefined) this.#written.set(settlements[at]!.reservation, results[at]);
      }
      throw error;
    }
    for (const { reservation } of settlements) this.#written.delete(reservation);
    return { results: results as readonly SettleResult[], reply };
  }
}
