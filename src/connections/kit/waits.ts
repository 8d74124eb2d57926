/** The calls of one connection that wait until there is something. They end with the connection. */
import { type Clock, type Seconds, systemClock } from '../../base/clock';
import type { ReserveReply, Wanted } from '../contract';

/** Ends a wait. With an error, the wait rejects. */
export type Wake = (error?: unknown) => void;

export interface Listening {
  readonly longest?: Seconds | undefined;
  /** Whether a wait keeps the process alive. Default: yes. */
  readonly keepAlive?: boolean | undefined;
  /** Called when a wait of `seconds` begins. May call `wake` at once. Returns a function to call when the wait is over. */
  readonly listen: (wake: Wake, seconds: Seconds) => () => void;
}

/** The answer to a call that only waited: whoever made it looks again. */
export const LOOK_AGAIN: ReserveReply = { reservations: [], setAside: [], nextIn: 0 };

export class Waits {
  readonly #clock: Clock;
  readonly #ends = new Set<() => void>();
  #areOver = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** The connection has ended them. */
  get areOver(): boolean {
    return this.#areOver;
  }

  /**
   * Waits if `wanted` allows it, until somebody wakes it, and then reserves, unless the wait was ended.
   *
   * @throws what `reserve` and a wake throw
   */
  async reserve(
    { within, signal, limit }: Wanted,
    listening: Listening,
    reserve: () => Promise<ReserveReply>,
  ): Promise<ReserveReply> {
    if (within === undefined) return reserve();
    if (signal?.aborted !== true && !this.#areOver && within > 0) await this.#wait(listening, within, signal);
    return limit === 0 || signal?.aborted === true || this.#areOver ? LOOK_AGAIN : reserve();
  }

  #wait(
    { listen, longest = Infinity, keepAlive = true }: Listening,
    seconds: Seconds,
    signal?: AbortSignal,
  ): Promise<void> {
    const span = Math.min(seconds, longest);
    return new Promise((resolve, reject) => {
      let leave = (): void => undefined;
      let isOver = false;
      const wake: Wake = (error) => {
        if (isOver) return;
        isOver = true;
        timer.cancel();
        signal?.removeEventListener('abort', end);
        this.#ends.delete(end);
        leave();
        if (error === undefined) resolve();
        else reject(error as Error);
      };
      const end = (): void => wake();
      const timer = this.#clock.after(span * 1000, end, keepAlive);
      signal?.addEventListener('abort', end);
      this.#ends.add(end);
      leave = listen(wake, span);
      if (isOver) leave();
    });
  }

  close(): void {
    this.#areOver = true;
    for (const end of this.#ends) end();
  }
}

/**
 * For a driver whose store can only be looked at: looks until there is something, or until the call has waited as long as it
 * may.
 *
 * @param look reserves at once
 * @param clock the clock that the connector was given
 */
export async function polled(
  wanted: Wanted,
  look: () => Promise<ReserveReply>,
  clock: Clock = systemClock,
): Promise<ReserveReply> {
  const { within = 0, lookEvery = 1, signal, limit } = wanted;
  const end = clock.monotonic() + within * 1000;
  for (;;) {
    let nextIn: Seconds = Infinity;
    if (limit > 0) {
      const reply = await look();
      ({ nextIn } = reply);
      if (reply.reservations.length > 0 || nextIn <= 0) return reply;
      if (signal?.aborted === true || clock.monotonic() >= end) return reply;
    }
    const pause = Math.min(Math.max(Math.min(lookEvery, nextIn) * 1000, 1), end - clock.monotonic());
    await pauseOf(clock, pause, signal);
    if (limit === 0) return LOOK_AGAIN;
  }
}

function pauseOf(clock: Clock, milliseconds: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted === true) return resolve();
    const end = (): void => {
      timer.cancel();
      signal?.removeEventListener('abort', end);
      resolve();
    };
    const timer = clock.after(milliseconds, end, true);
    signal?.addEventListener('abort', end);
  });
}
