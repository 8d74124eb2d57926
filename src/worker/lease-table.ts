/** The jobs that a worker holds: written down where the thread that keeps their leases looks, one after the other place. */
import type { Milliseconds } from '../clock/clock';
import { LeasePage } from './lease-page';
import type { LeaseTerms } from './lease-terms';

/** Where a job is written down. Used again for others. */
export interface Place {
  readonly page: LeasePage;
  readonly index: number;
  readonly terms: LeaseTerms;
}

export class LeaseTable {
  /** The moment from which the times in it count. */
  readonly origin: Milliseconds;
  readonly #pages: LeasePage[] = [];
  readonly #free: Place[] = [];

  constructor(origin: Milliseconds) {
    this.origin = origin;
  }

  get pages(): readonly LeasePage[] {
    return this.#pages;
  }

  /** A place for one more job, which is not shown yet. */
  take(reservedAt: Milliseconds): Place {
    if (this.#free.length === 0) this.#addPage();
    const place = this.#free.pop()!;
    place.terms.begin(reservedAt);
    return place;
  }

  /** The job is settled, or not ours any more. */
  leave(place: Place): void {
    place.terms.leave();
    this.#free.push(place);
  }

  #addPage(): void {
    const page = new LeasePage(this.origin);
    this.#pages.push(page);
    page.terms.forEach((terms, index) => this.#free.push({ page, index, terms }));
  }
}
