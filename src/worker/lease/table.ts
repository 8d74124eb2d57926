/** The jobs that a worker holds: written down where the thread that keeps their leases looks, each in a place of its own. */
import type { Milliseconds } from '../../base/clock';
import { newPage, type Page, type Place, placesOf } from './place';

export class LeaseTable {
  /** The moment from which the times in it count. */
  readonly origin: Milliseconds;
  readonly #pages: Page[] = [];
  readonly #free: Place[] = [];

  constructor(origin: Milliseconds) {
    this.origin = origin;
  }

  get pages(): readonly Page[] {
    return this.#pages;
  }

  /** A place for one more job, which is not shown yet. Used again for others. */
  take(reservedAt: Milliseconds): Place {
    if (this.#free.length === 0) this.#addPage();
    const place = this.#free.pop()!;
    place.begin(reservedAt);
    return place;
  }

  /** The job is settled, or not ours any more. */
  leave(place: Place): void {
    place.leave();
    this.#free.push(place);
  }

  #addPage(): void {
    const page = newPage();
    this.#pages.push(page);
    this.#free.push(...placesOf(page, this.origin));
  }
}
