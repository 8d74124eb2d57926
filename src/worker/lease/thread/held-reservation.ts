/** What the thread that keeps leases knows of a job. */
import type { Milliseconds } from '../../../base/clock';
import { afterFreeRelease, afterTimedOut } from '../../../payload/counters';
import type { Reservation, Settlement } from '../../../connections/contract';
import type { Numbered } from '../messages';
import type { Leased } from '../renewal';
import type { Place } from '../place';

export class HeldReservation implements Numbered, Leased {
  position: number | undefined;
  readonly number: number;
  readonly reservation: Reservation;
  readonly #place: Place;

  constructor(number: number, reservation: Reservation, place: Place) {
    this.number = number;
    this.reservation = reservation;
    this.#place = place;
  }

  get leasedAt(): Milliseconds {
    return this.#place.leasedAt;
  }

  set leasedAt(moment: Milliseconds) {
    this.#place.leasedAt = moment;
  }

  get overdueAt(): Milliseconds {
    return this.#place.overdueAt;
  }

  /** A timed out attempt, as the worker would record it; whether it was the last is seen by who meets it next. */
  get timedOut(): Settlement {
    const { reservation } = this;
    const counters = afterTimedOut(reservation.counters);
    return { outcome: 'released', reservation, delay: this.#place.delay, counters };
  }

  /** What was done is done; else it goes back at no cost in tries. */
  get givenUp(): Settlement {
    const { reservation } = this;
    if (this.#place.completed) return { outcome: 'completed', reservation };
    return { outcome: 'released', reservation, delay: 0, counters: afterFreeRelease(reservation.counters) };
  }
}
