/**
 * The waiters of a Redis, and the reads that they share: one for all workers of the connection, in a cluster one for each
 * queue, which has a slot of its own.
 */
import type { Clock, Seconds } from '../../base/clock';
import type { Waiter } from '../contract';
import { Waiters } from '../kit/waiters';
import { HintRead, type HintReadSettings, type HintWait } from './hint-read';
import type { RedisLink } from './link';

/** The net under lost hints: whoever took one may have died before it looked. */
const LONGEST_WAIT: Seconds = 2;
/** In a cluster each queue that a worker waits on takes a connection: so many at most. */
const MOST_READS = 8;
/** Where it has queues beyond those: it looks at them so often. */
const POLL: Seconds = 1;

export interface RedisWaitersSettings {
  /** The connection's name in the configuration. */
  readonly connection: string;
  readonly clock: Clock;
  /** One more client, for a read. */
  readonly link: () => RedisLink;
  /** A list that is nobody else's. Undefined: in a cluster. */
  readonly interruption: string | undefined;
  readonly hint: (key: string) => void;
  /** Removes a list. */
  readonly forget: (key: string) => void;
  /** Redis lets nobody wait: workers look for themselves so often. */
  readonly refused: (error: Error, longest: Seconds) => void;
}

interface SharedRead {
  readonly read: HintRead;
  users: number;
}

export class RedisWaiters {
  readonly #settings: RedisWaitersSettings;
  /** By the key that they are for; outside a cluster there is one. */
  readonly #reads = new Map<string, SharedRead>();
  readonly #open: Waiters;

  constructor(settings: RedisWaitersSettings) {
    this.#settings = settings;
    this.#open = new Waiters(settings.connection, settings.clock);
  }

  /** @param keys of the hints for its queues */
  open(keys: readonly string[]): Waiter {
    const { clock, interruption } = this.#settings;
    const slots = interruption === undefined ? keys.slice(0, MOST_READS).map((key) => [key]) : [keys];
    const longest = slots.flat().length < keys.length ? POLL : LONGEST_WAIT;
    const names = slots.map(([key]) => interruption ?? key!);
    const reads = names.map((name) => this.#enter(name, longest));
    return this.#open.open({
      longest,
      listen: (wake, seconds) => {
        const until = clock.monotonic() + seconds * 1000;
        const waits = slots.map((slot): HintWait => ({ keys: slot, until, wake }));
        reads.forEach((read, at) => read.join(waits[at]!));
        return () => reads.forEach((read, at) => read.leave(waits[at]!));
      },
      left: () => {
        for (const name of names) this.#leave(name);
      },
    });
  }

  close(): Promise<void> {
    return this.#open.close();
  }

  #enter(name: string, longest: Seconds): HintRead {
    const { clock, link, interruption, hint, forget, refused } = this.#settings;
    let shared = this.#reads.get(name);
    if (shared === undefined) {
      const settings: HintReadSettings = {
        clock,
        link: link(),
        interruption,
        hint,
        forget,
        refused: (error) => refused(error, longest),
      };
      shared = { read: new HintRead(settings), users: 0 };
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
}
