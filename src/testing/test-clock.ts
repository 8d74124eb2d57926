/** A clock that stands still until a test moves it: hours of delays, backoff, leases and timeouts pass in no time. */
import { AsyncResource } from 'node:async_hooks';
import { type Clock, endOfTurn, type Milliseconds, systemClock, type Timer } from '../base/clock';
import { type Duration, durationSeconds } from '../job/duration';
import { destinationOf, sendOccurrence, stateIn } from '../schedule/occurrence';
import type { Schedule } from '../schedule/schedule';
import type { FakeManager } from './fake-manager';

interface Armed {
  readonly due: Milliseconds;
  readonly callback: () => void;
}

export class TestClock implements Clock {
  readonly isStill = true;
  readonly #start: Milliseconds;
  #now: Milliseconds;
  /** The time that the clock will show when all calls of `advance` have finished. */
  #goal: Milliseconds;
  readonly #timers = new Set<Armed>();

  /** @param start the initial time; default: the present moment */
  constructor(start: Date | Milliseconds = systemClock.now()) {
    this.#start = Number(start);
    this.#now = this.#start;
    this.#goal = this.#start;
  }

  now(): Milliseconds {
    return this.#now;
  }

  monotonic(): Milliseconds {
    return this.#now - this.#start;
  }

  after(milliseconds: Milliseconds, callback: () => void): Timer {
    // Called in the context in which it was armed, as timers are.
    const timer: Armed = { due: this.#now + Math.max(milliseconds, 0), callback: AsyncResource.bind(callback) };
    this.#timers.add(timer);
    return { cancel: () => void this.#timers.delete(timer) };
  }

  /** How many timers wait for the clock to move. */
  get pending(): number {
    return this.#timers.size;
  }

  /**
   * Moves the clock on by `duration`, and calls back each timer that becomes due, in the order of their moments, at exactly that
   * moment. Between two timers there is a turn of the event loop, so that timers armed meanwhile are called too.
   *
   * @throws E_INVALID_DURATION
   */
  async advance(duration: Duration): Promise<void> {
    this.#goal += durationSeconds(duration, 'TestClock.advance') * 1000;
    const goal = this.#goal;
    await endOfTurn();
    for (let next = this.#nextUntil(goal); next !== undefined; next = this.#nextUntil(goal)) {
      this.#timers.delete(next);
      this.#now = Math.max(this.#now, next.due);
      next.callback();
      await endOfTurn();
    }
    this.#now = Math.max(this.#now, goal);
    await endOfTurn();
  }

  /** The earliest timer; if several have the same moment, the one armed first. */
  #nextUntil(goal: Milliseconds): Armed | undefined {
    let next: Armed | undefined;
    for (const timer of this.#timers) {
      if (timer.due <= goal && (next === undefined || timer.due < next.due)) next = timer;
    }
    return next;
  }
}

/** Moves the clock, and lets the schedules that come up meanwhile send their jobs. @throws any error of one */
export async function travel(manager: FakeManager, clock: TestClock, to: Milliseconds): Promise<void> {
  let from = clock.now();
  for (;;) {
    const driven = await manager.schedules.driven();
    const coming = driven.flatMap((schedule) => schedule.between(from, to, 1).map((at) => ({ schedule, at })));
    if (coming.length === 0) break;
    const at = Math.min(...coming.map((one) => one.at));
    await advanceTo(clock, at);
    for (const { schedule } of coming.filter((one) => one.at === at)) await send(manager, schedule, at);
    from = at;
  }
  await advanceTo(clock, to);
}

/**
 * Nothing is skipped because of an overlap: in reality a worker would have run the first job in between, but a test may not have.
 */
async function send(manager: FakeManager, schedule: Schedule, at: Milliseconds): Promise<void> {
  const destination = { ...destinationOf(schedule, manager), skipsOverlaps: false };
  const state = await stateIn(destination.operations.records, schedule.name);
  if (state?.pausedAt === undefined) await sendOccurrence(schedule, at, at, destination, manager);
}

async function advanceTo(clock: TestClock, moment: Milliseconds): Promise<void> {
  const left = moment - clock.now();
  if (left > 0) await clock.advance(left / 1000);
}
