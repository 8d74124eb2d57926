/**
 * A blocking read of hints, on a client of its own, that all who wait for them share: it reads the keys of all of them.
 *
 * A hint wakes one, of those that it is meant for the one that has waited longest; the others read on. Whoever comes with
 * a key that is not read yet, or with a command, has the read begin anew, by a hint on a key of its own.
 *
 * A command goes out behind the read: Redis carries it out the moment that the read ends, before any answer travels.
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
  /** Sends the command that is to follow the read. Resolves once it is answered, or lost; never rejects. Where no read of its own comes about, `wake` has it sent. */
  readonly follow?: (() => Promise<void>) | undefined;
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
  /** Whose command stands behind it. */
  #followed: HintWait | undefined;
  /** It was told to begin anew. */
  #isInterrupted = false;
  #wasInterrupted = false;
  #hasFailed = false;

  constructor(settings: HintReadSettings) {
    this.#settings = settings;
  }

  /**
   * The last read was refused: a command behind the next would follow at once, and again and again. Or it was not answered: a
   * command would stand behind the next as long, and who sent it could not end that.
   */
  get hasFailed(): boolean {
    return this.#hasFailed;
  }

  /** Calls `wake` once a hint is there, unless it leaves before. */
  join(wait: HintWait): void {
    this.#waits.add(wait);
    if (this.#reading === undefined) return void this.#read();
    const isRead = wait.keys.every((key) => this.#reading!.has(key));
    if (wait.follow !== undefined || !isRead) this.#interrupt();
  }

  /**
   * The read goes on: to break it off would cost a connection, and a hint that is under way. One that a command follows ends
   * at once, and the command is carried out.
   */
  leave(wait: HintWait): void {
    if (wait === this.#followed) this.#interrupt();
    else if (this.#waits.delete(wait) && wait.follow !== undefined) wait.wake();
  }

  close(): void {
    const { link, interruption, forget } = this.#settings;
    for (const wait of this.#waits) wait.wake();
    this.#waits.clear();
    link.close();
    // A hint of ours may have come when nothing was read any more.
    if (this.#wasInterrupted) forget(interruption!);
  }

  async #read(): Promise<void> {
    const { clock, interruption } = this.#settings;
    const waits = [...this.#waits];
    const followed = waits.find(({ follow }) => follow !== undefined);
    const left = Math.max(0, ...waits.map(({ until }) => until)) - clock.monotonic();
    if (left < SHORTEST_READ && followed === undefined) return;
    const keys = new Set(waits.flatMap((wait) => wait.keys));
    this.#reading = keys;
    this.#followed = followed;
    if (followed !== undefined) this.#waits.delete(followed);
    const read = interruption === undefined ? [...keys] : [interruption, ...keys];
    const hint = await this.#answer(read, Math.max(left, SHORTEST_READ), followed?.follow);
    this.#reading = this.#followed = undefined;
    this.#isInterrupted = false;
    if (hint === 'failed') {
      // They have no time of their own that ends: what they have to say is sent all the same.
      for (const wait of this.#waits) if (wait.follow !== undefined) this.leave(wait);
      return;
    }
    // What follows the read has taken what the hint was for, and leaves another where there is more.
    if (hint instanceof Buffer && followed?.keys.includes(hint.toString()) !== true) this.#heard(hint.toString());
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

  #interrupt(): void {
    const { interruption, hint } = this.#settings;
    if (interruption === undefined || this.#isInterrupted) return;
    this.#isInterrupted = this.#wasInterrupted = true;
    hint(interruption);
  }

  // The key of the hint that came; 'failed': whoever waits does so until his time is over, and asks again then.
  #answer(
    keys: readonly string[],
    milliseconds: Milliseconds,
    follow?: () => Promise<void>,
  ): Promise<Buffer | 'none' | 'cut off' | 'failed'> {
    const { clock, link, refused } = this.#settings;
    const call = link.send('blpop', [...keys, milliseconds / 1000]);
    const followed = follow?.();
    return new Promise((resolve) => {
      const silent = clock.after(milliseconds + GRACE, () => void endOfTurn().then(giveUp));
      // What came while a job blocked the event loop has settled the promise by now: then the client stays.
      let settled = false;
      const giveUp = (): void => {
        if (settled) return;
        settled = this.#hasFailed = true;
        link.replace(call.client);
        resolve('failed');
      };
      const end = async (answer: Buffer | 'none' | 'cut off' | 'failed'): Promise<void> => {
        if (settled) return;
        this.#hasFailed = answer === 'failed';
        await followed;
        settled = true;
        silent.cancel();
        resolve(answer);
      };
      call.reply.then(
        (reply) => void end(reply === null ? 'none' : (reply as readonly Buffer[])[0]!),
        (error: unknown) => {
          if (isReply(error)) refused(error);
          void end(call.sent && !isReply(error) ? 'cut off' : 'failed');
        },
      );
    });
  }
}
