/** When a worker goes on: at the end of a turn of the event loop in which something happened, at a moment, or when the store wakes it. */
import { sleep } from '../base/backoff';
import { type Clock, endOfTurn, type Milliseconds, type Seconds, type Timer } from '../base/clock';
import type { Connection, ReserveReply, ReserveRequest, Waiter } from '../connections/contract';

/** A hint of the store may get lost. So one that wakes us is looked at again after this time all the same. */
const LONGEST_WAIT: Seconds = 2;

/** Of a lease: what a wait brings at its end counts as reserved when it began. */
const THIRD = 1 / 3;

/** Rung by everything that the loop has to look at. What is rung between two calls of `heard` is not missed. */
export class Bell {
  #isRung = false;
  #hear: (() => void) | undefined;

  readonly ring = (): void => {
    this.#isRung = true;
    this.#hear?.();
  };

  /**
   * Resolves at the end of a turn of the event loop in which the bell was rung: what else ends in that turn travels in the
   * same call to the store, and what a handler has left behind is known by then.
   */
  async heard(): Promise<void> {
    if (!this.#isRung) {
      await new Promise<void>((resolve) => {
        this.#hear = resolve;
      });
    }
    await endOfTurn();
    this.#hear = undefined;
    this.#isRung = false;
  }
}

export class Idle {
  readonly #connection: Connection;
  readonly #queues: readonly string[];
  readonly #pause: Seconds;
  readonly #clock: Clock;
  readonly #ring: () => void;
  /** Whether the store has jobs for us. `maybe`: one look will tell. */
  #hasMore: 'yes' | 'maybe' | 'no' = 'yes';
  /** Grows with each news of the store. An answer to a call that was sent before does not undo it: another look has to tell. */
  #news = 0;
  #nextLook: Milliseconds = Infinity;
  #waiter: Waiter | undefined;
  #waiting: AbortController | undefined;
  #reserving: AbortController | undefined;
  #timer: Timer | undefined;
  #timerAt: Milliseconds = Infinity;

  constructor(connection: Connection, queues: readonly string[], sleep: Seconds, clock: Clock, ring: () => void) {
    this.#connection = connection;
    this.#queues = queues;
    this.#pause = sleep;
    this.#clock = clock;
    this.#ring = ring;
  }

  /** Whether the store may have jobs for us now. */
  get mayHaveMore(): boolean {
    return this.#hasMore !== 'no';
  }

  /** Whether it has, as it said itself. */
  get hasMore(): boolean {
    return this.#hasMore === 'yes';
  }

  /**
   * Looks at the clock, once for each step of the loop: if a step that had nothing to ask found the moment come before its
   * end, it would neither ask nor wait, and the worker would stand still.
   */
  tellTime(): void {
    if (this.#clock.monotonic() >= this.#nextLook) this.lookAgain();
  }

  /** When delayed jobs or ended leases make another look worth while, by the monotonic clock. */
  get nextLook(): Milliseconds {
    return this.#nextLook;
  }

  /** To be handed to `answered` by a call that is sent now. */
  get news(): number {
    return this.#news;
  }

  /** Another look is due. A call under way may say that there is nothing. */
  lookAgain(): void {
    if (this.#hasMore === 'no') this.#hasMore = 'maybe';
  }

  /** A reserve was answered. */
  answered(news: number, hasMore: boolean, nextIn: Seconds): void {
    this.#nextLook = this.#clock.monotonic() + nextIn * 1000;
    const isOutdated = news !== this.#news;
    this.#news += 1;
    if (hasMore) this.#hasMore = 'yes';
    else this.#hasMore = isOutdated ? 'maybe' : 'no';
  }

  /** Rings at `moment` (of the monotonic clock), and with `forStore` also when the store wakes us. */
  wait(moment: Milliseconds, forStore: boolean): void {
    // An earlier timer may stay: the loop looks, and comes back here.
    if (moment < this.#timerAt) this.#ringAt(moment);
    // A wait goes on over several calls: to end it with every job that finishes would cost a round trip each.
    if (forStore && this.#waiting === undefined) void this.#waitForStore();
  }

  /** Whether the store can hand out a job the moment that it comes. */
  get canReserve(): boolean {
    try {
      return this.#opened.waitAndReserve !== undefined;
    } catch {
      return false;
    }
  }

  /**
   * Waits in the store, which hands out a job the moment that it comes. Undefined: it has only waited.
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

  /** Has `reserve` answer soon. */
  cutShort(): void {
    this.#reserving?.abort();
  }

  /** Ends the wait: a worker that can take no job must not swallow a hint that would wake another one. */
  pause(): void {
    this.cutShort();
    this.#waiting?.abort();
    this.#waiting = undefined;
    this.#timer?.cancel();
    this.#timerAt = Infinity;
  }

  /** Ends the wait for good, so that the store takes back what it has handed to it. False: there was none. */
  async end(): Promise<boolean> {
    this.pause();
    const waiter = this.#waiter;
    this.#waiter = undefined;
    await waiter?.close();
    return waiter !== undefined;
  }

  #ringAt(moment: Milliseconds): void {
    this.#timer?.cancel();
    this.#timerAt = moment;
    this.#timer = this.#clock.after(Math.max(0, moment - this.#clock.monotonic()), () => {
      this.#timerAt = Infinity;
      this.#ring();
    });
  }

  get #opened(): Waiter {
    return (this.#waiter ??= this.#connection.waiter(this.#queues));
  }

  async #waitForStore(): Promise<void> {
    const waiting = new AbortController();
    this.#waiting = waiting;
    const seconds = this.#connection.capabilities.wake ? LONGEST_WAIT : this.#pause;
    try {
      await this.#opened.wait(seconds, waiting.signal);
    } catch {
      // The reserve that follows fails too, and says why. Without a pause it would fail again and again.
      await sleep(this.#clock, this.#pause * 1000, false);
    }
    if (waiting.signal.aborted) return;
    this.#waiting = undefined;
    this.#news += 1;
    this.lookAgain();
    this.#ring();
  }
}
