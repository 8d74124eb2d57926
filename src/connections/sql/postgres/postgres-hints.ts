/**
 * Wakes the waiting workers of this process with LISTEN, on one connection for all of them. The database functions send the
 * hints.
 *
 * A hint that comes while nobody waits is kept for the next wait. When the connection was replaced everybody looks, as hints
 * may have been missed. If no connection can be made, workers look for themselves every other second.
 */
import type { Waiters } from '../dialect';
import { HintWaiters } from '../server/hint-waiters';
import { type ChannelSettings, PostgresChannel } from './postgres-channel';

/** @param connection its name in the configuration */
export function postgresHints(connection: string, settings: ChannelSettings): Waiters {
  const waiters = new HintWaiters(connection, settings.clock);
  const channel = new PostgresChannel(settings, {
    isNeeded: () => waiters.size > 0,
    heard: (queue) => waiters.hint(queue),
    opened: () => waiters.hint(),
  });
  return {
    open: (queues) =>
      waiters.open(queues, {
        listen: () => {
          channel.keep();
          return () => undefined;
        },
        left: () => {
          if (waiters.size === 0) channel.drop();
        },
      }),
    close: async () => {
      await waiters.close();
      channel.drop();
    },
  };
}
