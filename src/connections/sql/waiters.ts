/** Who waits in this process for jobs and records, and how they are woken by hints or look for themselves. */
import type { Clock, Milliseconds, Seconds, Timer } from '../../base/clock';
import { Recent } from '../../base/collections';
import type { Wanted } from '../contract';
import type { Listening, Wake } from '../kit/connection';
import type { RecordWake } from '../record-store';
import type { Sql } from './statement';

/** How a database wakes those who wait for a record. */
export interface RecordWakes extends Pick<RecordWake, 'listen'> {
  /** The statement that writes a record and notifies in the same step. */
  telling(change: Sql, kind: string, id: string): Sql;
  /** Those who wait look once more. */
  close(): void;
}

/** Who waits in this process: for hints if the database sends some, otherwise by polling. */
export interface Waiters {
  /** How one wait for jobs listens. */
  listening(wanted: Wanted): Listening;
  /** This process has written to the queue, so there may be a job. */
  wrote?(queue: string): void;
  /** There were jobs on these queues, so more may follow soon. */
  busy?(queues: readonly string[]): void;
  /** Absent if those who wait for a record must poll. */
  readonly records?: RecordWakes;
  close?(): void;
}

/** The queues of one or more workers. */
interface Watched {
  readonly queues: ReadonlySet<string>;
  readonly wakes: Set<Wake>;
  /** When each of those left who do not wait now, perhaps only to look: a hint must reach them as well. */
  away: Milliseconds[];
  /** How many of them have not heard of the last hint. */
  missed: number;
}

/** A worker that runs jobs waits again in a while. What nobody has waited for this long is not watched any more. */
const LINGER: Milliseconds = 10_000;

/** Wakes those who wait for a queue by hints. A hint that comes between two waits for the same queues ends the second at once. */
export class Hints {
  readonly #clock: Clock;
  readonly #unwatched: () => void;
  readonly #watched = new Map<string, Watched>();
  #timer: Timer | undefined;

  /** @param unwatched called when nobody has waited for a while */
  constructor(clock: Clock, unwatched: () => void = () => undefined) {
    this.#clock = clock;
    this.#unwatched = unwatched;
  }

  get areWatched(): boolean {
    return this.#watched.size > 0;
  }

  /**
   * Wakes once there is a hint for one of the queues. Returns the function that stops listening.
   *
   * @param mayHaveMissed whether hints may have come before anybody waited for these queues
   */
  listen(queues: readonly string[], wake: Wake, mayHaveMissed = false): () => void {
    // A fair worker asks for its queues in another order each time.
    const key = queues.toSorted().join();
    const known = this.#watched.get(key);
    const watched = known ?? { queues: new Set(queues), wakes: new Set(), away: [], missed: mayHaveMissed ? 1 : 0 };
    this.#watched.set(key, watched);
    watched.wakes.add(wake);
    watched.away.shift();
    if (watched.missed > 0) {
      watched.missed -= 1;
      wake();
    }
    return () => {
      if (!watched.wakes.delete(wake)) return;
      watched.away.push(this.#clock.monotonic());
      this.#timer ??= this.#clock.after(LINGER, () => this.#forget());
    };
  }

  /** Wakes those who wait for the queue; without a queue, everybody. */
  hint(queue?: string): void {
    for (const watched of this.#watched.values()) {
      if (queue !== undefined && !watched.queues.has(queue)) continue;
      const now = this.#clock.monotonic();
      watched.away = watched.away.filter((leftAt) => now - leftAt < LINGER);
      watched.missed = Math.max(watched.away.length, watched.wakes.size === 0 ? 1 : 0);
      for (const wake of watched.wakes) wake();
    }
  }

  close(): void {
    this.#timer?.cancel();
    this.#watched.clear();
    this.#unwatched();
  }

  #forget(): void {
    this.#timer = undefined;
    const now = this.#clock.monotonic();
    let next = Infinity;
    for (const [key, { wakes, away }] of this.#watched) {
      if (wakes.size > 0) continue;
      const leftAt = away.at(-1) ?? 0;
      if (now - leftAt >= LINGER) this.#watched.delete(key);
      else next = Math.min(next, leftAt + LINGER - now);
    }
    if (next < Infinity) this.#timer = this.#clock.after(next, () => this.#forget());
    else if (this.#watched.size === 0) this.#unwatched();
  }
}

const SHORTEST: Seconds = 0.05;

interface Pace {
  readonly queues: readonly string[];
  pause: Seconds;
}

const MOST_PACES = 1000;

/**
 * Waits for work on servers that cannot wake anyone: idle workers look, at intervals that double up to their own. When this
 * process pushes or gives back a job, they look at once.
 */
export function polling(clock: Clock): Waiters {
  const hints = new Hints(clock);
  const paces = new Recent<string, Pace>(MOST_PACES);
  return {
    listening: ({ queues, lookEvery = Infinity }) => {
      const pace = paces.ensure(queues.toSorted().join(), () => ({ queues, pause: SHORTEST }));
      return {
        listen: (wake, seconds) => {
          const longest = Math.min(seconds, lookEvery);
          const timer = clock.after(Math.min(longest, pace.pause) * 1000, () => wake(), true);
          pace.pause = Math.min(pace.pause * 2, longest);
          const leave = hints.listen(queues, wake);
          return () => {
            timer.cancel();
            leave();
          };
        },
      };
    },
    wrote: (queue) => hints.hint(queue),
    busy: (queues) => {
      for (const pace of paces.values()) {
        if (queues.some((queue) => pace.queues.includes(queue))) pace.pause = SHORTEST;
      }
    },
    close: () => hints.close(),
  };
}
