/**
 * A blocking read of hints, on a client of its own, that those who wait join and leave.
 *
 * A read that Redis does not answer in time ends with its client. A worker that waited on such a read would look alive
 * to everybody, and never work again.
 */
import { type Clock, endOfTurn, type Milliseconds } from '../../clock/clock';
import type { RedisLink } from './link';
import { isReply } from './refusals';

/** Redis takes 0 for ever. */
const SHORTEST_READ: Milliseconds = 10;
/** How much later than asked for the answer may come. */
const GRACE: Milliseconds = 2500;

export interface HintReadSettings {
  readonly clock: Clock;
  /** Gives a hint back that nobody here waits for any more: another worker may. */
  readonly giveBack: (key: string) => void;
  /** Redis has answered with an error. */
  readonly refused: (error: Error) => void;
}

export class HintRead {
  readonly #link: RedisLink;
  readonly #keys: readonly string[];
  readonly #settings: HintReadSettings;
  readonly #waiting = new Set<() => void>();
  #reading = false;

  /** @param keys lists of hints that share a slot */
  constructor(link: RedisLink, keys: readonly string[], settings: HintReadSettings) {
    this.#link = link;
    this.#keys = keys;
    this.#settings = settings;
  }

  /** Calls `wake` once a hint is there, within `milliseconds`, unless it leaves before. */
  join(wake: () => void, milliseconds: Milliseconds): void {
    this.#waiting.add(wake);
    if (!this.#reading) void this.#read(milliseconds);
  }

  /** The read goes on: to break it off would cost a connection, and a hint that is under way. */
  leave(wake: () => void): void {
    this.#waiting.delete(wake);
  }

  close(): void {
    this.#waiting.clear();
    this.#link.close();
  }

  async #read(milliseconds: Milliseconds): Promise<void> {
    this.#reading = true;
    const hint = await this.#answer(Math.max(milliseconds, SHORTEST_READ));
    this.#reading = false;
    if (hint instanceof Buffer) {
      if (this.#waiting.size === 0) this.#settings.giveBack(hint.toString());
      for (const wake of [...this.#waiting]) wake();
    } else if (hint !== 'failed' && this.#waiting.size > 0) {
      // They joined a read that was under way already, or was cut off, and have time left.
      void this.#read(milliseconds);
    }
  }

  // The key of the hint that came; 'failed': whoever waits does so until his time is over, and asks again then.
  #answer(milliseconds: Milliseconds): Promise<Buffer | 'none' | 'cut off' | 'failed'> {
    const call = this.#link.send('blpop', [...this.#keys, milliseconds / 1000]);
    return new Promise((resolve) => {
      const silent = this.#settings.clock.after(milliseconds + GRACE, () => void endOfTurn().then(giveUp));
      // What came while a job blocked the event loop has settled the promise by now: then the client stays.
      let settled = false;
      const giveUp = (): void => {
        if (settled) return;
        this.#link.replace(call.client);
        resolve('failed');
      };
      call.reply.then(
        (reply) => {
          settled = true;
          silent.cancel();
          resolve(reply === null ? 'none' : (reply as readonly Buffer[])[0]!);
        },
        (error: unknown) => {
          settled = true;
          silent.cancel();
          if (isReply(error)) this.#settings.refused(error);
          resolve(call.sent && !isReply(error) ? 'cut off' : 'failed');
        },
      );
    });
  }
}
