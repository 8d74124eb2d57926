/** The jobs that a worker holds, as the thread that keeps their leases finds them while the worker writes. */
import type { Milliseconds } from '../clock/clock';
import type { Reservation } from '../queue/connection';
import { HeldReservation } from './held-reservation';
import { LeasePage } from './lease-page';

export interface LeaseReaderSettings {
  /** The moment from which the times in the pages count, by the clock of this thread. */
  readonly origin: Milliseconds;
  /** Called once for each job that is found. */
  readonly found: (held: HeldReservation) => void;
  /** Called once for each of them that is there no more. */
  readonly gone: (held: HeldReservation) => void;
}

interface Known {
  readonly page: LeasePage;
  /** By the places of the page. */
  readonly held: (HeldReservation | undefined)[];
}

export class LeaseReader {
  readonly #settings: LeaseReaderSettings;
  readonly #pages: Known[] = [];
  /** Those that have no room in a page, by the numbers of their jobs. */
  readonly #sent = new Map<number, Reservation>();

  constructor(settings: LeaseReaderSettings) {
    this.#settings = settings;
  }

  addPage(memory: SharedArrayBuffer): void {
    const page = new LeasePage(this.#settings.origin, memory);
    this.#pages.push({ page, held: page.terms.map(() => undefined) });
  }

  send(number: number, reservation: Reservation): void {
    this.#sent.set(number, reservation);
  }

  forget(number: number): void {
    this.#sent.delete(number);
  }

  /** Tells of all changes since the last look. True: there are jobs. */
  look(): boolean {
    let some = false;
    for (const { page, held } of this.#pages) {
      for (let place = 0; place < held.length; place += 1) {
        const number = page.terms[place]!.number;
        if (number !== (held[place]?.number ?? 0)) held[place] = this.#next(page, place, number, held[place]);
        some ||= number !== 0;
      }
    }
    return some;
  }

  // Undefined also where the worker is writing there: the next look finds it.
  #next(
    page: LeasePage,
    place: number,
    number: number,
    before: HeldReservation | undefined,
  ): HeldReservation | undefined {
    if (before !== undefined) this.#settings.gone(before);
    if (number === 0) return undefined;
    const terms = page.terms[place]!;
    const reservation = page.read(place) ?? this.#sent.get(number);
    if (reservation === undefined || !terms.isOf(number)) return undefined;
    const held = new HeldReservation(number, reservation, terms);
    this.#settings.found(held);
    return held;
  }
}
