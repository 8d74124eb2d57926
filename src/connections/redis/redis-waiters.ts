/**
 * Waits for hints on all queues of a worker at once. All workers of a connection share one read; in a cluster each queue has
 * its own slot, and so its own read.
 *
 * A worker that has its read to itself may send a reserve behind it. Otherwise another worker might block the event loop
 * when its job arrives.
 */
import type { Seconds } from '../../base/clock';
import { wordsOf } from '../../base/foreign-error';
import type { ReserveReply, ReserveRequest, Waiter } from '../contract';
import { Waiters } from '../kit/waiters';
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

interface SharedRead {
  readonly read: HintRead;
  readonly link: RedisLink;
  users: number;
}

export class RedisWaiters {
  readonly #store: RedisStore;
  readonly #source: ClientSource;
  readonly #exchanger: Exchanger;
  /** A list of our own that makes the shared read start again. Undefined in a cluster. */
  readonly #interruption: string | undefined;
  /** By the key of their queue; outside a cluster there is one read. */
  readonly #reads = new Map<string, SharedRead>();
  readonly #waiters: Waiters;
  #toldOfRefusal = false;

  constructor(store: RedisStore, source: ClientSource, exchanger: Exchanger) {
    const { name, clock } = store.caller.settings;
    this.#store = store;
    this.#source = source;
    this.#exchanger = exchanger;
    this.#interruption = source.cluster ? undefined : store.keys.interruption(clientId());
    this.#waiters = new Waiters(name, clock);
  }

  open(queues: readonly string[]): Waiter {
    const { clock } = this.#store.caller.settings;
    const interruption = this.#interruption;
    const keys = [...new Set(queues)].map((queue) => this.#store.keys.queue(queue).notify);
    const slots = interruption === undefined ? keys.slice(0, MOST_READS).map((key) => [key]) : [keys];
    const longest = slots.flat().length < keys.length ? POLL : LONGEST_WAIT;
    const names = slots.map(([key]) => interruption ?? key!);
    const reads = slots.map((slot, at) => ({ read: this.#open(names[at]!, longest), keys: slot }));
    const waiter = this.#waiters.open({
      longest,
      listen: (wake, seconds) => {
        const until = clock.monotonic() + seconds * 1000;
        const waits = reads.map(({ read, keys: waited }): [HintRead, HintWait] => [
          read,
          { keys: waited, until, wake: () => wake() },
        ]);
        for (const [read, wait] of waits) read.join(wait);
        return () => {
          for (const [read, wait] of waits) read.leave(wait);
        };
      },
      left: () => {
        for (const name of names) this.#leave(name);
      },
    });
    if (interruption === undefined) return waiter;
    return {
      ...waiter,
      waitAndReserve: async (seconds, request, signal) => {
        const shared = this.#reads.get(interruption);
        if (shared?.users === 1 && !shared.read.hasFailed && !signal.aborted) {
          return this.#reserveBehind(shared, keys, Math.min(seconds, longest), request, signal);
        }
        await waiter.wait(seconds, signal);
        return undefined;
      },
    };
  }

  close(): Promise<void> {
    return this.#waiters.close();
  }

  async #reserveBehind(
    { read, link }: SharedRead,
    keys: readonly string[],
    seconds: Seconds,
    request: ReserveRequest,
    signal: AbortSignal,
  ): Promise<ReserveReply> {
    const until = this.#store.caller.settings.clock.monotonic() + seconds * 1000;
    let leave = (): void => undefined;
    const first: FirstAttempt = (command, args) =>
      new Promise((resolve, reject) => {
        // The call waited behind another one, and the read may be closed by now.
        if (signal.aborted) return resolve(undefined);
        const follow = (): Promise<void> => link.send(command, args).reply.then(resolve, reject);
        // Without a read, nobody here would notice that it is not answered.
        const wait: HintWait = { keys, until, wake: () => resolve(undefined), follow };
        leave = () => read.leave(wait);
        read.join(wait);
        signal.addEventListener('abort', leave);
      });
    try {
      return await this.#exchanger.reserveBy(first, request);
    } finally {
      signal.removeEventListener('abort', leave);
    }
  }

  #open(name: string, longest: Seconds): HintRead {
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
      shared = { read, link, users: 0 };
      this.#reads.set(name, shared);
    }
    shared.users += 1;
    return shared.read;
  }

  #leave(name: string): void {
    const shared = this.#reads.get(name)!;
    shared.users -= 1;
    if (shared.users > 0) return;
    this.#reads.delete(name);
    shared.read.close();
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
