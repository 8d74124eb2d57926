/**
 * Waits for hints on all queues of a worker at once. All workers of a connection share one read; in a cluster each queue has
 * its own slot, and so its own read.
 *
 * A worker that nobody waits beside may send its reserve behind the read. Otherwise somebody else may get the hint.
 */
import { endOfTurn, type Milliseconds, type Seconds, type Timer, type Clock } from '../../base/clock';
import type { ReserveReply, Wanted } from '../contract';
import { Waits } from '../kit/connection';
import type { ClientSource } from './client';
import { clientId } from './keys';
import { RedisLink, type Form } from './link';
import { isForbidden, isReply } from './refusals';
import type { RedisStore } from './store';

/** Safety net for lost hints: whoever took one may have died before it looked. */
const LONGEST_WAIT: Seconds = 2;
/** In a cluster each queue that a worker waits on takes a connection: at most this many. */
const MOST_READS = 8;
/** How often a worker looks at its queues if it has more than those. */
const POLL: Seconds = 1;
/** A worker that runs jobs waits again in a while: until then the client of its read stays. */
const LINGER: Milliseconds = 10_000;

export class RedisWaits {
  readonly #store: RedisStore;
  readonly #source: ClientSource;
  /** A list of our own that makes the shared read start again. Undefined in a cluster. */
  readonly #interruption: string | undefined;
  /** By the key of their queue; outside a cluster there is one read. */
  readonly #reads = new Map<string, HintRead>();
  readonly #waits: Waits;
  #isClosed = false;

  constructor(store: RedisStore, source: ClientSource) {
    this.#store = store;
    this.#source = source;
    this.#interruption = source.cluster ? undefined : store.keys.interruption(clientId());
    this.#waits = new Waits(store.caller.settings.clock);
  }

  /** The read behind which this reserve may be sent, if there is one. */
  freeRead({ within = 0, limit, signal }: Wanted): HintRead | undefined {
    if (this.#interruption === undefined || this.#isClosed || within <= 0 || limit === 0) return undefined;
    if (signal?.aborted === true) return undefined;
    const read = this.#read(this.#interruption, LONGEST_WAIT);
    return read.isFree() ? read : undefined;
  }

  /** Waits for a hint on one of these keys, as `wanted` says, and then reserves. */
  reserve(wanted: Wanted, keys: readonly string[], reserve: () => Promise<ReserveReply>): Promise<ReserveReply> {
    const interruption = this.#interruption;
    const slots = interruption === undefined ? keys.slice(0, MOST_READS).map((key) => [key]) : [keys];
    const longest = slots.flat().length < keys.length ? POLL : LONGEST_WAIT;
    const listen = (wake: () => void, seconds: Seconds): (() => void) => {
      const leaves = slots.map((waited) => {
        const read = this.#read(interruption ?? waited[0]!, longest);
        const wait = read.waitFor(waited, seconds, () => wake());
        return () => read.leave(wait);
      });
      return () => leaves.forEach((leave) => leave());
    };
    return this.#waits.reserve(wanted, { longest, listen }, reserve);
  }

  close(): void {
    this.#isClosed = true;
    this.#waits.close();
    for (const read of this.#reads.values()) read.close();
  }

  #read(name: string, longest: Seconds): HintRead {
    let read = this.#reads.get(name);
    if (read === undefined) {
      read = new HintRead({
        clock: this.#store.caller.settings.clock,
        link: new RedisLink(this.#source),
        interruption: this.#interruption,
        hint: (key) => this.#command('rpush', [key, '1']),
        forget: (key) => this.#command('del', [key]),
        refused: (error) => {
          if (!isForbidden(error)) return;
          this.#store.caller.tellOfPolling('jobs', `workers poll every ${longest} s`, error);
        },
        closed: () => this.#reads.delete(name),
      });
      this.#reads.set(name, read);
    }
    return read;
  }

  // A lost hint costs a worker its longest wait, but no job.
  #command(name: string, args: readonly string[]): void {
    this.#store.caller.command(name, args, 'a hint was not left').catch(() => undefined);
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
  /** Called without a reply: there is a hint, or the command was not sent. */
  readonly wake: (reply?: unknown) => void;
  /** The command that follows the read. */
  readonly form?: Form | undefined;
  /** Its answer was lost. */
  readonly lose?: ((error: Error) => void) | undefined;
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
  readonly closed: () => void;
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
  #isClosed = false;
  /** Closes it if nobody waits any more. */
  #unused: Timer | undefined;

  constructor(settings: HintReadSettings) {
    this.#settings = settings;
  }

  /** Nobody waits, so that a command may be sent behind the next read. A read of nobody may still be under way. */
  isFree(): boolean {
    return this.#waits.size === 0 && this.#followed === undefined && !this.#hasFailed;
  }

  /** Calls `wake` once there is a hint on one of these keys, unless the waiter leaves before. */
  waitFor(keys: readonly string[], seconds: Seconds, wake: () => void): HintWait {
    const wait = { keys, until: this.#settings.clock.monotonic() + seconds * 1000, wake };
    this.#join(wait);
    return wait;
  }

  /**
   * Sends a command behind a read of these keys, which ends after this time, or at once if the signal is aborted. Returns the
   * reply; undefined if no read came about and the command was not sent.
   *
   * @throws whatever the command failed with; it may have been carried out
   */
  async follow(form: Form, keys: readonly string[], seconds: Seconds, signal?: AbortSignal): Promise<unknown> {
    // The call waited behind another one.
    if (this.#isClosed || signal?.aborted === true) return undefined;
    const until = this.#settings.clock.monotonic() + Math.min(seconds, LONGEST_WAIT) * 1000;
    let leave = (): void => undefined;
    try {
      return await new Promise((wake, lose) => {
        const wait: HintWait = { keys, until, wake, form, lose };
        leave = () => this.leave(wait);
        this.#join(wait);
        signal?.addEventListener('abort', leave);
      });
    } finally {
      signal?.removeEventListener('abort', leave);
    }
  }

  /**
   * The read goes on: breaking it off would cost a connection, and a hint on its way. A read with a command behind it ends
   * at once, and the command is carried out.
   */
  leave(wait: HintWait): void {
    if (wait === this.#followed) this.#interrupt();
    else if (this.#waits.delete(wait) && wait.form !== undefined) wait.wake();
  }

  close(): void {
    const { link, interruption, forget, closed } = this.#settings;
    this.#isClosed = true;
    this.#unused?.cancel();
    for (const wait of this.#waits) wait.wake();
    this.#waits.clear();
    link.close();
    // Our hint may have arrived when nothing was read any more.
    if (this.#wasInterrupted) forget(interruption!);
    closed();
  }

  #join(wait: HintWait): void {
    this.#waits.add(wait);
    this.#unused?.cancel();
    if (this.#reading === undefined) return void this.#read();
    if (wait.form !== undefined || !wait.keys.every((key) => this.#reading!.has(key))) this.#interrupt();
  }

  async #read(): Promise<void> {
    const { clock, link, interruption, refused } = this.#settings;
    const keys = new Set<string>();
    let followed: HintWait | undefined;
    let until = 0;
    for (const wait of this.#waits) {
      for (const key of wait.keys) keys.add(key);
      until = Math.max(until, wait.until);
      if (wait.form !== undefined) followed ??= wait;
    }
    const left = until - clock.monotonic();
    if (left < SHORTEST_READ && followed === undefined) {
      this.#unused?.cancel();
      this.#unused = clock.after(LINGER, () => this.close());
      return;
    }
    this.#reading = keys;
    this.#followed = followed;
    if (followed !== undefined) this.#waits.delete(followed);
    const milliseconds = Math.max(left, SHORTEST_READ);
    const read = interruption === undefined ? [...keys] : [interruption, ...keys];
    const call = link.send(['blpop', [...read, milliseconds / 1000]]);
    const carriedOut = followed?.form && link.send(followed.form).reply.then(followed.wake, followed.lose);
    let isOver = false;
    let isSilent = false;
    const giveUp = (): void => {
      // Replies that arrived while a job blocked the event loop have been read by now: then the client stays.
      if (isOver) return;
      isSilent = true;
      link.replace(call.client);
    };
    const silence = clock.after(milliseconds + GRACE, () => void endOfTurn().then(giveUp));
    let hint: string | undefined;
    let hasFailed = false;
    try {
      hint = ((await call.reply) as readonly Buffer[] | null)?.[0]!.toString();
    } catch (error) {
      if (isReply(error)) refused(error);
      // A read that was cut off is made again.
      hasFailed = isReply(error) || !call.sent;
    }
    await carriedOut;
    isOver = true;
    silence.cancel();
    this.#hasFailed = hasFailed || isSilent;
    this.#reading = this.#followed = undefined;
    this.#isInterrupted = false;
    if (this.#hasFailed) {
      // Waiters wait until their time is over, and ask again then. Those with a command have no deadline of their own: their
      // commands are sent all the same.
      for (const wait of this.#waits) if (wait.form !== undefined) this.leave(wait);
      return;
    }
    // The command behind the read took what the hint stood for, and leaves another hint if there is more.
    if (hint !== undefined && followed?.keys.includes(hint) !== true) this.#heard(hint);
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
}
