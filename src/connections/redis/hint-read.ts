/**
 * A blocking read of hints, on a client of its own, that all who wait for them share: it reads the keys of all of them.
 *
 * A hint wakes one, of those that it is meant for the one that has waited longest; the others read on. Whoever comes with
 * a key that is not read yet has the read begin anew, by a hint on a key of its own.
 *
 * A read that Redis does not answer in time ends with its client. A worker that waited on such a read would look alive
 * to everybody, and never work again.
 */
import { type Clock, endOfTurn, type Milliseconds } from '../../base/clock';
import type { RedisLink } from './link';
import { isReply } from './refusals';

/** Redis takes 0 for ever. Whoever has less time left needs no read. */
const SHORTEST_READ: Milliseconds = 10;
/** How much later than asked for the answer may come. */
const GRACE: Milliseconds = 2500;

/** Somebody who waits for a hint on one of these keys. */
export interface HintWait {
  readonly keys: readonly string[];
  /** By the monotonic clock. It leaves by itself. */
  readonly until: Milliseconds;
  readonly wake: () => void;
}

export interface HintReadSettings {
  readonly clock: Clock;
  readonly link: RedisLink;
  /** The list by which this read, and no other, is made to begin anew. Undefined: all who share it wait for the same key. */
  readonly interruption?: string | undefined;
  /** Leaves a hint. */
  readonly hint: (key: string) => void;
  /** Removes a list. */
  readonly forget: (key: string) => void;
  /** Redis has answered with an error. */
  readonly refused: (error: Error) => void;
}

export class HintRead {
  readonly #settings: HintReadSettings;
  /** In the order in which they came. */
  readonly #waits = new Set<HintWait>();
  /** What the read under way reads. Undefined: none is. */
  #reading: ReadonlySet<string> | undefined;
  /** It was told to begin anew. */
  #isInterrupted = false;
  #wasInterrupted = false;

  constructor(settings: HintReadSettings) {
    this.#settings = settings;
  }

  /** Calls `wake` once a hint is there, unless it leaves before. */
  join(wait: HintWait): void {
    this.#waits.add(wait);
    const { interruption, hint } = this.#settings;
    if (this.#reading === undefined) return void this.#read();
    if (interruption === undefined || this.#isInterrupted || wait.keys.every((key) => this.#reading!.has(key))) return;
    this.#isInterrupted = this.#wasInterrupted = true;
    hint(interruption);
  }

  /** The read goes on: to break it off would cost a connection, and a hint that is under way. */
  leave(wait: HintWait): void {
    this.#waits.delete(wait);
  }

  close(): void {
    const { link, interruption, forget } = this.#settings;
    this.#waits.clear();
    link.close();
    // A hint of ours may have come when nothing was read any more.
    if (this.#wasInterrupted) forget(interruption!);
  }

  async #read(): Promise<void> {
    const { clock, interruption } = this.#settings;
    const waits = [...this.#waits];
    const left = Math.max(0, ...waits.map(({ until }) => until)) - clock.monotonic();
    if (left < SHORTEST_READ) return;
    const keys = new Set(waits.flatMap((wait) => wait.keys));
    this.#reading = keys;
    const hint = await this.#answer(interruption === undefined ? [...keys] : [interruption, ...keys], left);
    this.#reading = undefined;
    this.#isInterrupted = false;
    if (hint === 'failed') return;
    if (hint instanceof Buffer) this.#heard(hint.toString());
    // Others wait for other hints, came later, or were cut off, and have time left.
    void this.#read();
  }

  #heard(key: string): void {
    if (key === this.#settings.interruption) return;
    for (const wait of this.#waits) {
      if (!wait.keys.includes(key)) continue;
      this.#waits.delete(wait);
      return wait.wake();
    }
    // Nobody here waits for it any more: another worker may.
    this.#settings.hint(key);
  }

  // The key of the hint that came; 'failed': whoever waits does so until his time is over, and asks again then.
  #answer(keys: readonly string[], milliseconds: Milliseconds): Promise<Buffer | 'none' | 'cut off' | 'failed'> {
    const { clock, link, refused } = this.#settings;
    const call = link.send('blpop', [...keys, milliseconds / 1000]);
    return new Promise((resolve) => {
      const silent = clock.after(milliseconds + GRACE, () => void endOfTurn().then(giveUp));
      // What came while a job blocked the event loop has settled the promise by now: then the client stays.
      let settled = false;
      const giveUp = (): void => {
        if (settled) return;
        link.replace(call.client);
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
          if (isReply(error)) refused(error);
          resolve(call.sent && !isReply(error) ? 'cut off' : 'failed');
        },
      );
    });
  }
}
