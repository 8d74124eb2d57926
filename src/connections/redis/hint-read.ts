/**
 * A blocking read of hints on a client of its own, shared by everybody who waits: it reads the keys of all of them.
 *
 * A hint wakes one waiter: of those that wait for its key, the one that has waited longest. The others read on. A waiter
 * that comes with a key that is not being read, or with a command, makes the read start again, by a hint on a key of its
 * own.
 *
 * A command is sent right behind the read: Redis carries it out as soon as the read ends, before any answer travels.
 *
 * If Redis does not answer a read in time, its client is replaced. A worker waiting on such a read would look alive to
 * everybody and never work again.
 */
import { type Clock, endOfTurn, type Milliseconds } from '../../base/clock';
import type { RedisLink } from './link';
import { isReply } from './refusals';

/** Redis would take 0 for forever. A waiter with less time left needs no read. */
const SHORTEST_READ: Milliseconds = 10;
/** How late the answer may be. */
const GRACE: Milliseconds = 2500;

/** A waiter for a hint on one of these keys. */
export interface HintWait {
  readonly keys: readonly string[];
  /** By the monotonic clock. The waiter leaves by itself. */
  readonly until: Milliseconds;
  readonly wake: () => void;
  /**
   * Sends the command that follows the read. Resolves once it is answered or lost; never rejects. If no read comes about for
   * it, `wake` is called and has it sent.
   */
  readonly follow?: (() => Promise<void>) | undefined;
}

export interface HintReadSettings {
  readonly clock: Clock;
  readonly link: RedisLink;
  /**
   * The list that makes this read, and no other, start again. Undefined if everybody who shares the read waits for the same
   * key.
   */
  readonly interruption?: string | undefined;
  readonly hint: (key: string) => void;
  /** Removes a list. */
  readonly forget: (key: string) => void;
  /** Called when Redis answered with an error. */
  readonly refused: (error: Error) => void;
}

export class HintRead {
  readonly #settings: HintReadSettings;
  /** In order of arrival. */
  readonly #waits = new Set<HintWait>();
  /** The keys of the read under way. Undefined if there is none. */
  #reading: ReadonlySet<string> | undefined;
  /** The waiter whose command was sent behind it. */
  #followed: HintWait | undefined;
  /** The read was told to start again. */
  #isInterrupted = false;
  #wasInterrupted = false;
  /**
   * The last read was refused, so that a command behind the next one would follow at once, again and again; or it was not
   * answered, so that a command would be stuck behind the next one, and its sender could not end that.
   */
  #hasFailed = false;

  constructor(settings: HintReadSettings) {
    this.#settings = settings;
  }

  /** Nobody waits. A read of nobody may still be under way. */
  get isEmpty(): boolean {
    return this.#waits.size === 0 && this.#followed === undefined;
  }

  /** A command may be sent behind the next read. */
  get isFree(): boolean {
    return this.isEmpty && !this.#hasFailed;
  }

  /** Calls `wake` once there is a hint, unless the waiter leaves before. */
  join(wait: HintWait): void {
    this.#waits.add(wait);
    if (this.#reading === undefined) return void this.#read();
    const isRead = wait.keys.every((key) => this.#reading!.has(key));
    if (wait.follow !== undefined || !isRead) this.#interrupt();
  }

  /**
   * The read goes on: breaking it off would cost a connection, and a hint on its way. A read with a command behind it ends
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
    // Our hint may have arrived when nothing was read any more.
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
      // Waiters with a command have no deadline of their own: their commands are sent all the same.
      for (const wait of this.#waits) if (wait.follow !== undefined) this.leave(wait);
      return;
    }
    // The command behind the read took what the hint stood for, and leaves another hint if there is more.
    if (hint instanceof Buffer && followed?.keys.includes(hint.toString()) !== true) this.#heard(hint.toString());
    // Others wait for other hints, came later or were cut off, and have time left.
    void this.#read();
  }

  #heard(key: string): void {
    if (key === this.#settings.interruption) return;
    for (const wait of this.#waits) {
      if (!wait.keys.includes(key)) continue;
      this.#waits.delete(wait);
      return wait.wake();
    }
    // Nobody here waits for it any more, but another worker may.
    this.#settings.hint(key);
  }

  #interrupt(): void {
    const { interruption, hint } = this.#settings;
    if (interruption === undefined || this.#isInterrupted) return;
    this.#isInterrupted = this.#wasInterrupted = true;
    hint(interruption);
  }

  // The key of the hint that came. After 'failed', waiters wait until their time is over and ask again then.
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
      // Replies that arrived while a job blocked the event loop have settled the promise by now: then the client stays.
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
