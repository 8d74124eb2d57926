/**
 * Wakes the waiting workers of this process by LISTEN, on one connection for all of them: the functions of the database send
 * the hints.
 *
 * A hint that comes while nobody waits is kept for the next wait. Whenever the connection was made anew, everybody looks:
 * what was said meanwhile nobody heard. Where it cannot be made, workers look by themselves every other second.
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
