/**
 * Waits for hints on all queues of a worker at once. All workers of a connection share one read; in a cluster each queue has
 * its own slot, and so its own read.
 *
 * A worker that nobody waits beside may send its reserve behind the read. Otherwise somebody else may get the hint.
 */
import { endOfTurn, type Milliseconds, type Seconds, type Timer, type Clock } from '../../base/clock';
import { wordsOf } from '../../base/foreign-error';
import type { ReserveReply, Wanted } from '../contract';
import { Waits, type Listening } from '../kit/connection';
import type { FirstAttempt } from './caller';
import type { ClientSource } from './client';
import type { Exchanger } from './exchange';
import { clientId } from './keys';
import { RedisLink } from './link';
import { isForbidden, remedyOf, isReply } from './refusals';
import type { RedisStore } from './store';

/** Safety net for lost hints: whoever took one may have died before it looked. */
const LONGEST_WAIT: Seconds = 2;
/** In a cluster each queue that a worker waits on takes a connection: at most this many. */
const MOST_READS = 8;
/** How often a worker looks at its queues if it has more than those. */
const POLL: Seconds = 1;
/** A worker that runs jobs waits again in a while: until then the client of its read stays. */
const LINGER: Milliseconds = 10_000;

interface SharedRead {
  readonly read: HintRead;
  readonly link: RedisLink;
  unused: Timer | undefined;
}

export class RedisWaits {
  readonly #store: RedisStore;
  readonly #source: ClientSource;
  readonly #exchanger: Exchanger;
  /** A list of our own that makes the shared read start again. Undefined in a cluster. */
  readonly #interruption: string | undefined;
  /** By the key of their queue; outside a cluster there is one read. */
  readonly #reads = new Map<string, SharedRead>();
  readonly #waits: Waits;
  #toldOfRefusal = false;

  constructor(store: RedisStore, source: ClientSource, exchanger: Exchanger) {
    const { clock } = store.caller.settings;
    this.#store = store;
    this.#source = source;
    this.#exchanger = exchanger;
    this.#interruption = source.cluster ? undefined : store.keys.interruption(clientId());
    this.#waits = new Waits(clock);
  }

  /** Waits as `wanted` says, then reserves. */
  reserve(wanted: Wanted): Promise<ReserveReply> {
    const keys = [...new Set(wanted.queues)].map((queue) => this.#store.keys.queue(queue).notify);
    const waits = wanted.within! > 0 && wanted.signal?.aborted !== true && !this.#waits.areOver;
    if (this.#interruption !== undefined && waits && wanted.limit > 0) {
      const { read, link } = this.#open(this.#interruption, LONGEST_WAIT);
      if (read.isFree) return this.#reserveBehind(read, link, keys, wanted);
    }
    return this.#waits.reserve(
      wanted,
      this.#listening(keys),
      async () => (await this.#exchanger.exchange([], { ...wanted, within: undefined })).reply,
    );
  }

  close(): void {
    this.#waits.close();
    for (const { read, unused } of this.#reads.values()) {
      unused?.cancel();
      read.close();
    }
    this.#reads.clear();
  }

  #listening(keys: readonly string[]): Listening {
    const { clock } = this.#store.caller.settings;
    const interruption = this.#interruption;
    const slots = interruption === undefined ? keys.slice(0, MOST_READS).map((key) => [key]) : [keys];
    const longest = slots.flat().length < keys.length ? POLL : LONGEST_WAIT;
    return {
      longest,
      listen: (wake, seconds) => {
        const until = clock.monotonic() + seconds * 1000;
        const waits = slots.map((waited): [name: string, read: HintRead, wait: HintWait] => {
          const name = interruption ?? waited[0]!;
          return [name, this.#open(name, longest).read, { keys: waited, until, wake: () => wake() }];
        });
        for (const [, read, wait] of waits) read.join(wait);
        return () => {
          for (const [name, read, wait] of waits) {
            read.leave(wait);
            this.#leave(name);
          }
        };
      },
    };
  }

  async #reserveBehind(
    read: HintRead,
    link: RedisLink,
    keys: readonly string[],
    wanted: Wanted,
  ): Promise<ReserveReply> {
    const { within = 0, signal } = wanted;
    const until = this.#store.caller.settings.clock.monotonic() + Math.min(within, LONGEST_WAIT) * 1000;
    let leave = (): void => undefined;
    const first: FirstAttempt = (command, args) =>
      new Promise((resolve, reject) => {
        // The call waited behind another one, and the read may be closed by now.
        if (signal?.aborted === true) return resolve(undefined);
        const follow = (): Promise<void> => link.send(command, args).reply.then(resolve, reject);
        // Without a read, nobody here would notice that it is not answered.
        const wait: HintWait = { keys, until, wake: () => resolve(undefined), follow };
        leave = () => read.leave(wait);
        read.join(wait);
        signal?.addEventListener('abort', leave);
      });
    try {
      return await this.#exchanger.reserveBy(first, { ...wanted, within: undefined });
    } finally {
      signal?.removeEventListener('abort', leave);
      this.#leave(this.#interruption!);
    }
  }

  #open(name: string, longest: Seconds): SharedRead {
    let shared = this.#reads.get(name);
    if (shared === undefined) {
      const link = new RedisLink(this.#source);
      const read = new HintRead({
        clock: this.#store.caller.settings.clock,
        link,
        interruption: this.#interruption,
        hint: (key) => this.#command('rpush', [key, '1']),
        forget: (key) => this.#command('del', [key]),
        refused: (error) => this.#tellOfRefusal(error, longest),
      });
      shared = { read, link, unused: undefined };
      this.#reads.set(name, shared);
    }
    shared.unused?.cancel();
    return shared;
  }

  #leave(name: string): void {
    const shared = this.#reads.get(name);
    if (shared === undefined) return;
    shared.unused?.cancel();
    shared.unused = this.#store.caller.settings.clock.after(LINGER, () => {
      if (!shared.read.isEmpty) return;
      this.#reads.delete(name);
      shared.read.close();
    });
  }

  // A lost hint costs a worker its longest wait, but no job.
  #command(name: string, args: readonly string[]): void {
    this.#store.caller.command(name, args, { consequence: 'a hint was not left' }).catch(() => undefined);
  }

  // Nothing else would report it: workers poll instead.
  #tellOfRefusal(error: Error, longest: Seconds): void {
    if (this.#toldOfRefusal || !isForbidden(error)) return;
    this.#toldOfRefusal = true;
    const { name: connection, address, logger } = this.#store.caller.settings;
    logger.warn(
      { connection, address },
      `Redis at ${address} does not let us wait for jobs (${wordsOf(error)}); workers poll every ${longest} s instead. ${remedyOf(error)}`,
    );
  }
}

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
