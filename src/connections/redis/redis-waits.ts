/**
 * Waits for hints on all queues of a worker at once. All workers of a connection share one read; in a cluster each queue has
 * its own slot, and so its own read.
 *
 * A worker that nobody waits beside may send its reserve behind the read. Otherwise somebody else may get the hint.
 */
import type { Milliseconds, Seconds, Timer } from '../../base/clock';
import { wordsOf } from '../../base/foreign-error';
import type { ReserveReply, Wanted } from '../contract';
import { Waits, type Listening } from '../kit/connection';
import type { FirstAttempt } from './caller';
import type { ClientSource } from './client';
import type { Exchanger } from './exchanger';
import { HintRead, type HintWait } from './hint-read';
import { clientId } from './keys';
import { RedisLink } from './link';
import { isForbidden, remedyOf } from './refusals';
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
