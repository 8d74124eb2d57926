/**
 * Looks whether the store answers when it was not heard for a second, for as long as somebody asks for the worker's health: an
 * idle worker would meet an outage with its next reserve, and one whose slots are all busy with the next renewal of a lease.
 */
import { type Clock, endOfTurn, type Milliseconds, type Timer } from '../base/clock';
import type { Connection } from '../connections/contract';
import type { Pulse } from './pulse';

const LOOK_EVERY: Milliseconds = 1000;
/** For an answer. With the pause before, an outage is seen within two seconds. */
const PATIENCE: Milliseconds = 750;
/** After somebody has asked for the health. */
const WATCHED: Milliseconds = 30_000;

export class StoreWatch {
  readonly #clock: Clock;
  readonly #look: (() => Promise<unknown>) | undefined;
  readonly #pulse: Pick<Pulse, 'sinceLastPoll'>;
  #isAway = false;
  #watchedUntil: Milliseconds = -Infinity;
  #next: Timer | undefined;
  #late: Timer | undefined;
  #looking = false;
  #closed = false;

  /** @param queue any that the worker works on */
  constructor(connection: Connection, queue: string, clock: Clock, pulse: Pick<Pulse, 'sinceLastPoll'>) {
    this.#clock = clock;
    this.#pulse = pulse;
    this.#look = lookOf(connection, queue);
  }

  /** False: it has left a look unanswered, and answered none since. */
  get answers(): boolean {
    this.#watchedUntil = this.#clock.monotonic() + WATCHED;
    if (this.#next === undefined && !this.#looking) this.#lookIn(0);
    return !this.#isAway;
  }

  /** Leaves no timer behind. */
  close(): void {
    this.#closed = true;
    this.#next?.cancel();
    this.#late?.cancel();
  }

  #lookIn(pause: Milliseconds): void {
    if (this.#closed || this.#look === undefined) return;
    this.#next = this.#clock.after(pause, () => {
      this.#next = undefined;
      if (this.#clock.monotonic() >= this.#watchedUntil) return;
      const quiet = (this.#pulse.sinceLastPoll ?? Infinity) * 1000;
      if (quiet >= LOOK_EVERY) {
        void this.#lookNow(this.#look!);
      } else {
        this.#isAway = false;
        this.#lookIn(LOOK_EVERY - quiet);
      }
    });
  }

  async #lookNow(look: () => Promise<unknown>): Promise<void> {
    const askedAt = this.#clock.monotonic();
    this.#looking = true;
    // What came while a job blocked the event loop is heard first.
    this.#late = this.#clock.after(PATIENCE, () => void endOfTurn().then(() => (this.#isAway ||= this.#looking)));
    // One that refuses is there; one that is not has been late before.
    const answered = await Promise.resolve()
      .then(look)
      .then(
        () => true,
        () => false,
      );
    this.#looking = false;
    this.#late.cancel();
    if (answered) this.#isAway = false;
    this.#lookIn(Math.max(0, askedAt + LOOK_EVERY - this.#clock.monotonic()));
  }
}

/** The cheapest that there is to be asked. Undefined: what there is costs money, or time. */
function lookOf(connection: Connection, queue: string): (() => Promise<unknown>) | undefined {
  const { capabilities, control } = connection;
  if (control !== undefined) return () => control.paused();
  return capabilities.exactCounts ? () => connection.counts(queue) : undefined;
}
