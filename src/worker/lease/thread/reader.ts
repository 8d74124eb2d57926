/** The jobs that a worker holds, as the thread that keeps their leases finds them while the worker writes. */
import type { Milliseconds } from '../../../base/clock';
import type { Reservation } from '../../../connections/contract';
import { type Page, type Place, placesOf } from '../place';
import { HeldReservation } from './held-reservation';

export interface LeaseReaderSettings {
  /** The moment from which the times in the pages count, by the clock of this thread. */
  readonly origin: Milliseconds;
  /** Called once for each job that is found. */
  readonly found: (held: HeldReservation) => void;
  /** Called once for each of them that is there no more. */
  readonly gone: (held: HeldReservation) => void;
}

export class LeaseReader {
  readonly #settings: LeaseReaderSettings;
  /** Those of the pages, with the job that was last seen there. */
  #places: { readonly place: Place; held: HeldReservation | undefined }[] = [];
  /** Those that have no room in a place, by the numbers of their jobs. */
  readonly #sent = new Map<number, Reservation>();

  constructor(settings: LeaseReaderSettings) {
    this.#settings = settings;
  }

  addPage(page: Page): void {
    for (const place of placesOf(page, this.#settings.origin)) this.#places.push({ place, held: undefined });
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
    for (const seen of this.#places) {
      const { number } = seen.place;
      if (number !== (seen.held?.number ?? 0)) {
        if (seen.held !== undefined) this.#settings.gone(seen.held);
        seen.held = number === 0 ? undefined : this.#find(seen.place, number);
      }
      some ||= number !== 0;
    }
    return some;
  }

  /** Nothing is found any more. */
  close(): void {
    this.#places = [];
    this.#sent.clear();
  }

  // Undefined where the worker is writing there: the next look finds it.
  #find(place: Place, number: number): HeldReservation | undefined {
    const reservation = place.read() ?? this.#sent.get(number);
    if (reservation === undefined || !place.isOf(number)) return undefined;
    const held = new HeldReservation(number, reservation, place);
    this.#settings.found(held);
    return held;
  }
}
