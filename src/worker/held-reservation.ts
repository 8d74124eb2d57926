/** What the thread that keeps leases knows of a job. Most jobs end before anybody looks at more than its number. */
import type { Milliseconds } from '../clock/clock';
import { afterFreeRelease, afterTimedOut } from '../payload/counters';
import type { Reservation, Settlement } from '../queue/connection';
import { type Batch, FACTS, type Numbered } from './lease-messages';
import type { Leased } from './lease-renewal';
import { LeaseTerms } from './lease-terms';

/** @param shift milliseconds from the worker's clock to that of this thread */
export function unpack(batch: Batch, shift: Milliseconds): readonly HeldReservation[] {
  const held: HeldReservation[] = [];
  let start = 0;
  for (let index = 0; index < batch.facts.length / FACTS; index += 1) {
    held.push(new HeldReservation(batch, index, start, shift));
    start += batch.facts[index * FACTS + 2]!;
  }
  return held;
}

export class HeldReservation implements Numbered, Leased {
  readonly number: number;
  readonly #terms: LeaseTerms;
  readonly #index: number;
  readonly #start: number;
  #batch: Batch | undefined;
  #reservation: Reservation | undefined;

  /** `start`: where its text begins. */
  constructor(batch: Batch, index: number, start: number, shift: Milliseconds) {
    this.number = batch.facts[index * FACTS]!;
    this.#terms = new LeaseTerms(batch.terms, index, batch.reservedAt + shift);
    this.#batch = batch;
    this.#index = index;
    this.#start = start;
  }

  get leasedAt(): Milliseconds {
    return this.#terms.leasedAt;
  }

  set leasedAt(moment: Milliseconds) {
    this.#terms.leasedAt = moment;
  }

  get overdueAt(): Milliseconds {
    return this.#terms.overdueAt;
  }

  /** A timed out attempt, as the worker would record it; whether it was the last is seen by who meets it next. */
  get timedOut(): Settlement {
    const { reservation } = this;
    const counters = afterTimedOut(reservation.counters);
    return { outcome: 'released', reservation, delay: this.#terms.delay, counters };
  }

  /** What was done is done; else it goes back at no cost in tries. */
  get givenUp(): Settlement {
    const { reservation } = this;
    if (this.#terms.completed) return { outcome: 'completed', reservation };
    return { outcome: 'released', reservation, delay: 0, counters: afterFreeRelease(reservation.counters) };
  }

  get reservation(): Reservation {
    if (this.#batch !== undefined) {
      this.#reservation = this.#read(this.#batch);
      // One long job must not keep its whole batch in memory.
      this.#batch = undefined;
    }
    return this.#reservation!;
  }

  #read({ texts, facts, queues, tokens }: Batch): Reservation {
    const at = this.#index * FACTS;
    const own = facts.subarray(at + 1, at + FACTS) as unknown as Facts;
    const [queue, length, attempts, crashes, exceptions, timeouts, releases] = own;
    return {
      queue: queues[queue]!,
      payload: Buffer.from(texts.subarray(this.#start, this.#start + length)),
      counters: { attempts, crashes, exceptions, timeouts, releases },
      token: tokens?.[this.#index],
    };
  }
}

type Facts = readonly [number, number, number, number, number, number, number];
