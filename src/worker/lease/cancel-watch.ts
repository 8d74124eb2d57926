/**
 * Tells running jobs within a second that they were cancelled: a renewal would do so up to a third of the lease later.
 *
 * Asks the store only about jobs that have run for a while, so that short jobs cost nothing.
 */
import type { Clock, Milliseconds, Timer } from '../../base/clock';
import type { Reservation, Control } from '../../connections/contract';
import { MOST_JOBS } from '../../base/pages';

/** A job that began just after a look is asked about in the second look after it. */
const BETWEEN_LOOKS: Milliseconds = 450;

interface Held {
  readonly number: number;
  readonly reservation: Reservation;
}

export interface CancelWatchSettings<H extends Held> {
  readonly clock: Clock;
  readonly ask: NonNullable<Control['cancelled']>;
  readonly held: () => Iterable<H>;
  /** May be called more than once for a job. */
  readonly cancelled: (held: H, reason: string | undefined) => void;
}

export class CancelWatch<H extends Held> {
  readonly #settings: CancelWatchSettings<H>;
  /** Numbers of the jobs that the last look saw. */
  #seen = new Set<number>();
  #timer: Timer | undefined;
  #closed = false;

  constructor(settings: CancelWatchSettings<H>) {
    this.#settings = settings;
  }

  /** To be called when a job is held. */
  start(): void {
    if (this.#closed) return;
    this.#timer ??= this.#settings.clock.after(BETWEEN_LOOKS, () => void this.#look());
  }

  /** A renewal noticed the cancellation before a look did, but does not know the reason. */
  async hear(held: H): Promise<void> {
    const { ask, cancelled } = this.#settings;
    const [answer] = await ask([held.reservation]).catch(() => []);
    cancelled(held, typeof answer === 'string' ? answer : undefined);
  }

  close(): void {
    this.#closed = true;
    this.#timer?.cancel();
  }

  async #look(): Promise<void> {
    const { ask, held, cancelled } = this.#settings;
    const all = [...held()];
    const longer = all.filter(({ number }) => this.#seen.has(number));
    this.#seen = new Set(all.map(({ number }) => number));
    try {
      for (let at = 0; at < longer.length; at += MOST_JOBS) {
        const page = longer.slice(at, at + MOST_JOBS);
        const answers = await ask(page.map(({ reservation }) => reservation));
        for (const [index, one] of page.entries()) {
          const answer = answers[index] ?? false;
          if (answer !== false) cancelled(one, answer === true ? undefined : answer);
        }
      }
    } catch {
      // The renewal reports a store that is away, and notices cancellations too.
    }
    this.#timer = undefined;
    if (all.length > 0) this.start();
  }
}
