/**
 * Wakes the waiting workers of this process with LISTEN, on one connection for all of them. The database functions send the
 * hints.
 *
 * A hint that comes while nobody waits is kept for the next wait. When the connection was replaced everybody looks, as hints
 * may have been missed. If no connection can be made, workers look for themselves every other second.
 */
import type { Waiter } from '../../contract';
import type { Waiters } from '../dialect';
import { HintWaiters } from '../server/hint-waiters';
import { type ChannelSettings, PostgresChannel } from './postgres-channel';

export interface HintSettings extends ChannelSettings {
  /** The connection's name in the configuration. */
  readonly name: string;
}

export class PostgresHints implements Waiters {
  readonly #waiters: HintWaiters;
  readonly #channel: PostgresChannel;

  constructor(settings: HintSettings) {
    const waiters = new HintWaiters(settings.name, settings.clock);
    this.#waiters = waiters;
    this.#channel = new PostgresChannel(settings, {
      isNeeded: () => waiters.size > 0,
      heard: (queue) => waiters.hint(queue),
      opened: () => waiters.hint(),
    });
  }

  open(queues: readonly string[]): Waiter {
    return this.#waiters.open(queues, {
      listen: () => {
        this.#channel.keep();
        return () => undefined;
      },
      left: () => {
        if (this.#waiters.size === 0) this.#channel.drop();
      },
    });
  }

  async close(): Promise<void> {
    await this.#waiters.close();
    this.#channel.drop();
  }
}
