/**
 * When a worker sleeps: while the store has no jobs for it, or while a `looping` hook forbids it to reserve. It continues at
 * the end of a turn of the event loop in which something happened, at a set moment, or when the store wakes it.
 */
import { sleep } from '../base/backoff';
import { atEndOfTurn, type Clock, type Milliseconds, type Seconds, type Timer } from '../base/clock';
import type { LoopingEvent } from '../job/hook-events';
import type { Hooks } from '../job/hooks';
import type { Connection, ReserveReply, ReserveRequest, Waiter } from '../connections/contract';

/** A store's hint may get lost, so even a store that sends hints is asked again after this time. */
const LONGEST_WAIT: Seconds = 2;

/** Part of a lease that a wait may take: the jobs it returns count as reserved when it began. */
const THIRD = 1 / 3;

export interface IdleSettings {
  readonly connection: Connection;
  readonly queues: readonly string[];
  /** Pause between two looks at a store that sends no hints, and how long a veto holds. */
  readonly sleep: Seconds;
  readonly clock: Clock;
  readonly hooks: Hooks;
}

export class Idle {
  readonly #settings: IdleSettings;
  #isRung = false;
  #hear: (() => void) | undefined;

  /** Whether the store has jobs for us. `maybe`: we have to look again. */
  #hasMore: 'yes' | 'maybe' | 'no' = 'yes';
  /**
   * Grows with each piece of news from the store. If it grew after a call was sent, the answer may be outdated, and we look
   * again.
   */
  #news = 0;
  #nextLook: Milliseconds = Infinity;

  /** State of the `looping` hooks. They run beside the loop, one call at a time, so that a slow one delays no settle. */
  #asked: 'not yet' | 'under way' | 'answered' | 'allowed' = 'not yet';
  #isVetoed = false;
  #vetoedUntil: Milliseconds = -Infinity;

  #waiter: Waiter | undefined;
  #waiting: AbortController | undefined;
  #reserving: AbortController | undefined;
  #timer: Timer | undefined;
  #timerAt: Milliseconds = Infinity;

  constructor(settings: IdleSettings) {
    this.#settings = settings;
  }

  /** Something happened that the loop has to look at. A ring between two calls of `rung` is not missed. */
  readonly ring = (): void => {
    this.#isRung = true;
    this.#hear?.();
  };

  /**
   * Resolves at the end of a turn of the event loop in which it was rung. Everything else that ends in that turn travels in
   * the same call to the store, and errors that a handler left behind are known by then.
   */
  rung(): Promise<void> {
    return new Promise((resolve) => {
      const end = (): void => {
        this.#isRung = false;
        resolve();
      };
      this.#hear = () => {
        this.#hear = undefined;
        atEndOfTurn(end);
      };
      if (this.#isRung) this.#hear();
    });
  }

  /** Rings, and makes the loop look at the store again: a slot is free, or the store may have got jobs. */
  readonly wake = (): void => {
    this.lookAgain();
    this.ring();
  };

  /** Whether the store may have jobs for us now. */
  get mayHaveMore(): boolean {
    return this.#hasMore !== 'no';
  }

  /** Whether the store has jobs, by its own answer. */
  get hasMore(): boolean {
    return this.#hasMore === 'yes';
  }

  /**
   * Reads the clock, once per step of the loop. If a step found nothing to ask, and then saw a moment as passed when it sets
   * its timer, it would neither ask nor wait, and the worker would stand still.
   *
   * An answer of the hooks holds only for the next step: later they might answer differently.
   */
  tellTime(): void {
    const now = this.#settings.clock.monotonic();
    if (now >= this.#nextLook) this.lookAgain();
    if (now >= this.#vetoedUntil) this.#vetoedUntil = -Infinity;
    if (this.#asked === 'allowed') this.#asked = 'not yet';
    else if (this.#asked === 'answered') this.#asked = 'allowed';
  }

  /** When delayed jobs or ended leases make another look worthwhile, by the monotonic clock. */
  get nextLook(): Milliseconds {
    return this.#nextLook;
  }

  /** To be passed to `answered` by a call that is sent now. */
  get news(): number {
    return this.#news;
  }

  /** Another look is due, even if a call under way says that there is nothing. */
  lookAgain(): void {
    if (this.#hasMore === 'no') this.#hasMore = 'maybe';
  }

  /** The store has jobs, because we give some back. */
  haveMore(): void {
    this.#hasMore = 'yes';
  }

  /** A reserve was answered. */
  answered(news: number, hasMore: boolean, nextIn: Seconds): void {
    this.#nextLook = this.#settings.clock.monotonic() + nextIn * 1000;
    const isOutdated = news !== this.#news;
    this.#news += 1;
    if (hasMore) this.#hasMore = 'yes';
    else this.#hasMore = isOutdated ? 'maybe' : 'no';
  }

  /** The last answer of the `looping` hooks was a veto. */
  get isVetoed(): boolean {
    return this.#isVetoed;
  }

  /** A veto holds: the hooks are not asked again until it ends. */
  get isHeldBack(): boolean {
    return this.#vetoedUntil > -Infinity;
  }

  /** Whether to reserve now. Each answer of the hooks allows one reserve; without an answer, the hooks are asked. */
  isAllowed(): boolean {
    if (!this.#settings.hooks.has('looping')) return true;
    const isAllowed = this.#asked === 'allowed';
    if (isAllowed) this.#asked = 'not yet';
    else if (this.#asked === 'not yet') void this.#ask();
    return isAllowed;
  }

  /**
   * Rings at `moment` (of the monotonic clock) and when a veto ends. With `isIdle`, also when another look is worthwhile;
   * with `forStore`, also when the store wakes us.
   */
  wait(moment: Milliseconds, isIdle: boolean, forStore: boolean): void {
    let at = isIdle ? Math.min(moment, this.#nextLook) : moment;
    if (this.isHeldBack) at = Math.min(at, this.#vetoedUntil);
    // An earlier timer may stay: the loop looks and comes back here.
    if (at < this.#timerAt) this.#ringAt(at);
    // A wait spans several calls: ending it with every job that finishes would cost a round trip each.
    if (forStore && this.#waiting === undefined) void this.#waitForStore();
  }

  /** Whether the store can hand out a job the moment it arrives. */
  get canReserve(): boolean {
    try {
      return this.#opened.waitAndReserve !== undefined;
    } catch {
      return false;
    }
  }

  /**
   * Waits in the store, which hands out a job the moment it arrives. Undefined if it only waited.
   *
   * @throws what `reserve` throws
   */
  async reserve(request: ReserveRequest): Promise<ReserveReply | undefined> {
    const reserving = (this.#reserving = new AbortController());
    try {
      const seconds = Math.min(LONGEST_WAIT, request.lease * THIRD);
      return await this.#opened.waitAndReserve!(seconds, request, reserving.signal);
    } finally {
      this.#reserving = undefined;
    }
  }

  /** Makes `reserve` answer soon. */
  cutShort(): void {
    this.#reserving?.abort();
  }

  /** Ends the wait: a worker that can take no job must not swallow a hint that would wake another worker. */
  pause(): void {
    this.cutShort();
    this.#waiting?.abort();
    this.#waiting = undefined;
    this.#timer?.cancel();
    this.#timerAt = Infinity;
  }

  /**
   * Ends the wait for good, so that the store takes back a job that it has just handed to it. False if there was no wait.
   */
  async end(): Promise<boolean> {
    this.pause();
    const waiter = this.#waiter;
    this.#waiter = undefined;
    await waiter?.close();
    return waiter !== undefined;
  }

  async #ask(): Promise<void> {
    const { connection, queues, hooks, sleep: pause, clock } = this.#settings;
    const event: LoopingEvent = { connectionName: connection.name, queue: queues.join(',') };
    this.#asked = 'under way';
    const isAllowed = await hooks.allowsReserve(event);
    this.#asked = isAllowed ? 'answered' : 'not yet';
    this.#isVetoed = !isAllowed;
    // As in Laravel, one second if `sleep` is 0: otherwise the hooks would be asked endlessly.
    if (!isAllowed) this.#vetoedUntil = clock.monotonic() + (pause || 1) * 1000;
    this.ring();
  }

  #ringAt(moment: Milliseconds): void {
    const { clock } = this.#settings;
    this.#timer?.cancel();
    this.#timerAt = moment;
    this.#timer = clock.after(Math.max(0, moment - clock.monotonic()), () => {
      this.#timerAt = Infinity;
      this.ring();
    });
  }

  get #opened(): Waiter {
    const { connection, queues } = this.#settings;
    return (this.#waiter ??= connection.waiter(queues));
  }

  async #waitForStore(): Promise<void> {
    const { connection, sleep: pause, clock } = this.#settings;
    const waiting = new AbortController();
    this.#waiting = waiting;
    try {
      await this.#opened.wait(connection.capabilities.wake ? LONGEST_WAIT : pause, waiting.signal);
    } catch {
      // The next reserve fails too and reports why. Without a pause it would fail again and again.
      await sleep(clock, pause * 1000, false);
    }
    if (waiting.signal.aborted) return;
    this.#waiting = undefined;
    this.#news += 1;
    this.wake();
  }
}
