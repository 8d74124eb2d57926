/**
 * Settles and reserves, and waits for jobs: all of a worker's traffic. On a single Redis in one call for all queues, in a
 * cluster in one call for each queue.
 *
 * A wait reads hints on all queues of a worker at once. All workers of a connection share one read; in a cluster each queue
 * has its own slot, and so its own read. A worker that nobody waits beside may send its reserve behind the read. Otherwise
 * somebody else may get the hint.
 */
import { endOfTurn, type Milliseconds, type Seconds, type Timer, type Clock } from '../../base/clock';
import type { Settled, Settlement, Wanted } from '../contract';
import { NOTHING, Settling, settledThen, Waits, type Listening } from '../kit/connection';
import type { RedisCaller } from './caller';
import { SlotExchanger } from './cluster';
import { bytesOf, ExchangeLane, ManyQueues } from './exchange-lane';
import { clientId } from './keys';
import { Records } from './lane';
import type { Form, RedisLink } from './link';
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

export class RedisExchange {
  readonly #store: RedisStore;
  readonly #settling = new Settling(bytesOf);
  /** Two calls may be under way: while Redis answers one, the jobs of the other run. */
  readonly #lanes: readonly [ExchangeLane, ExchangeLane];
  /** For calls behind a blocking read, so that they hold up no other. */
  readonly #behind: ExchangeLane;
  /** In place of the lanes, in a cluster. */
  readonly #slots: SlotExchanger | undefined;
  readonly #waits: Waits;
  /** By the key of their queue; outside a cluster there is one read. */
  readonly #reads = new Map<string, HintRead>();
  /** A list of our own that makes the shared read start again. Undefined in a cluster. */
  readonly #interruption: string | undefined;

  constructor(store: RedisStore) {
    this.#store = store;
    const records = new Records();
    const many = new ManyQueues();
    const lane = (): ExchangeLane => new ExchangeLane(store, this.#settling, records, many);
    this.#lanes = [lane(), lane()];
    this.#behind = lane();
    const { cluster, keys, caller } = store;
    this.#slots = cluster && new SlotExchanger(store, cluster, this.#settling);
    this.#interruption = cluster === undefined ? keys.interruption(clientId()) : undefined;
    this.#waits = new Waits(caller.settings.clock);
  }

  // Not async, nor is anything it calls: a worker that runs one job at a time pays for each promise with each job.
  exchange(settlements: readonly Settlement[], wanted?: Wanted): Promise<Settled> {
    if (wanted?.within === undefined) return this.#atOnce(settlements, wanted);
    if (settlements.length === 0) return this.#wait(wanted);
    return this.#atOnce(settlements).then(({ results }) =>
      settledThen(results, async () => (await this.#wait(wanted)).reply),
    );
  }

  /** Ends the waits. */
  close(): void {
    this.#waits.close();
    for (const read of this.#reads.values()) read.close();
  }

  #atOnce(settlements: readonly Settlement[], wanted?: Wanted): Promise<Settled> {
    for (const { outcome } of settlements) {
      if (outcome === 'failed') return this.#makeFailedKnown(settlements).then(() => this.#send(settlements, wanted));
    }
    return this.#send(settlements, wanted);
  }

  // Before the failure is written: the lists of failed jobs read only queues whose names are known.
  async #makeFailedKnown(settlements: readonly Settlement[]): Promise<void> {
    const { names, cluster, keys } = this.#store;
    for (const { outcome, reservation } of settlements) {
      if (outcome !== 'failed') continue;
      const adding = names.tell(reservation.queue);
      // A silent master of the names does not hold up failures on other masters: the next failure adds the name again.
      await (cluster?.masters.inTime(keys.names, adding) ?? adding);
    }
  }

  #send(settlements: readonly Settlement[], wanted: Wanted | undefined): Promise<Settled> {
    if (this.#slots !== undefined) return this.#slots.exchange(settlements, wanted);
    const [first, second] = this.#lanes;
    const lane = first.takes(wanted) || !second.takes(wanted) ? first : second;
    if (settlements.length === 0) return wanted === undefined ? Promise.resolve(NOTHING) : lane.exchange([], wanted);
    return this.#settling.inPages(settlements, (page, isLast) =>
      page.length === 0 && wanted === undefined
        ? Promise.resolve(NOTHING)
        : lane.exchange(page, isLast ? wanted : undefined),
    );
  }

  #wait(wanted: Wanted): Promise<Settled> {
    const keys: string[] = [];
    for (const queue of new Set(wanted.queues)) keys.push(this.#store.keys.queue(queue).notify);
    const { within = 0, limit, signal } = wanted;
    if (
      this.#interruption !== undefined &&
      !this.#waits.areOver &&
      within > 0 &&
      limit > 0 &&
      signal?.aborted !== true
    ) {
      const read = this.#read(this.#interruption, LONGEST_WAIT);
      if (read.isFree())
        return this.#behind.exchange([], wanted, false, (form) => read.follow(form, keys, within, signal));
    }
    const reserve = async () => (await this.#atOnce([], wanted)).reply;
    return settledThen([], () => this.#waits.reserve(wanted, this.#hintsOn(keys), reserve));
  }

  #hintsOn(keys: readonly string[]): Listening {
    const interruption = this.#interruption;
    const slots = interruption === undefined ? keys.slice(0, MOST_READS).map((key) => [key]) : [keys];
    const longest = slots.flat().length < keys.length ? POLL : LONGEST_WAIT;
    return {
      longest,
      listen: (wake, seconds) => {
        const leaves = slots.map((waited) => {
          const read = this.#read(interruption ?? waited[0]!, longest);
          const wait = read.waitFor(waited, seconds, () => wake());
          return () => read.leave(wait);
        });
        return () => leaves.forEach((leave) => leave());
      },
    };
  }

  #read(name: string, longest: Seconds): HintRead {
    let read = this.#reads.get(name);
    if (read === undefined) {
      read = new HintRead({
        caller: this.#store.caller,
        link: this.#store.caller.link.another(),
        interruption: this.#interruption,
        longest,
        closed: () => this.#reads.delete(name),
      });
      this.#reads.set(name, read);
    }
    return read;
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
  /** Carries out what does not block. */
  readonly caller: RedisCaller;
  readonly link: RedisLink;
  /**
   * The list that makes this read, and no other, start again. Undefined if everybody who shares the read waits for the same
   * key.
   */
  readonly interruption?: string | undefined;
  /** How long workers wait that are not allowed to read. */
  readonly longest: Seconds;
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
  readonly #clock: Clock;
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
    this.#clock = settings.caller.settings.clock;
  }

  /** Nobody waits, so that a command may be sent behind the next read. A read of nobody may still be under way. */
  isFree(): boolean {
    return this.#waits.size === 0 && this.#followed === undefined && !this.#hasFailed;
  }

  /** Calls `wake` once there is a hint on one of these keys, unless the waiter leaves before. */
  waitFor(keys: readonly string[], seconds: Seconds, wake: () => void): HintWait {
    const wait = { keys, until: this.#clock.monotonic() + seconds * 1000, wake };
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
    const until = this.#clock.monotonic() + Math.min(seconds, LONGEST_WAIT) * 1000;
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
    const { link, interruption, closed } = this.#settings;
    this.#isClosed = true;
    this.#unused?.cancel();
    for (const wait of this.#waits) wait.wake();
    this.#waits.clear();
    link.close();
    // Our hint may have arrived when nothing was read any more.
    if (this.#wasInterrupted) this.#command('del', interruption!);
    closed();
  }

  #join(wait: HintWait): void {
    this.#waits.add(wait);
    this.#unused?.cancel();
    if (this.#reading === undefined) return void this.#read();
    if (wait.form !== undefined || !wait.keys.every((key) => this.#reading!.has(key))) this.#interrupt();
  }

  async #read(): Promise<void> {
    const { caller, link, interruption, longest } = this.#settings;
    const keys = new Set<string>();
    let followed: HintWait | undefined;
    let until = 0;
    for (const wait of this.#waits) {
      for (const key of wait.keys) keys.add(key);
      until = Math.max(until, wait.until);
      if (wait.form !== undefined) followed ??= wait;
    }
    const left = until - this.#clock.monotonic();
    if (left < SHORTEST_READ && followed === undefined) {
      this.#unused?.cancel();
      this.#unused = this.#clock.after(LINGER, () => this.close());
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
    const silence = this.#clock.after(milliseconds + GRACE, () => void endOfTurn().then(giveUp));
    let hint: string | undefined;
    let hasFailed = false;
    try {
      hint = ((await call.reply) as readonly Buffer[] | null)?.[0]!.toString();
    } catch (error) {
      if (isReply(error) && isForbidden(error)) caller.tellOfPolling('jobs', `workers poll every ${longest} s`, error);
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
    this.#hint(key);
  }

  #interrupt(): void {
    const { interruption } = this.#settings;
    if (interruption === undefined || this.#isInterrupted) return;
    this.#isInterrupted = this.#wasInterrupted = true;
    this.#hint(interruption);
  }

  #hint(key: string): void {
    this.#command('rpush', key, '1');
  }

  // A lost hint costs a worker its longest wait, but no job.
  #command(name: string, ...args: readonly string[]): void {
    this.#settings.caller.command(name, args, 'a hint was not left').catch(() => undefined);
  }
}
