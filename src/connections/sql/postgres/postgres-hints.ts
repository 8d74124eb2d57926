/**
 * Wakes the waiting workers of this process with LISTEN, on one connection for all of them. The database functions send the
 * hints.
 *
 * A hint that comes while nobody waits is kept for the next wait. When the connection was replaced everybody looks, as hints
 * may have been missed. If no connection can be made, workers look for themselves every other second.
 */
import type { Seconds } from '../../../base/clock';
import type { Waking } from '../dialect';
import { Hints } from '../server/hints';
import { type ChannelSettings, PostgresChannel } from './postgres-channel';

/** Safety net for lost hints. */
const LONGEST_WAIT: Seconds = 2;

export function postgresHints(settings: ChannelSettings): Waking {
  const hints = new Hints(settings.clock, () => channel.drop());
  const channel = new PostgresChannel(settings, {
    isNeeded: () => hints.areWatched,
    heard: (queue) => hints.hint(queue),
    opened: () => hints.hint(),
  });
  return {
    listening: ({ queues }) => ({
      longest: LONGEST_WAIT,
      listen: (wake) => {
        // A channel that opens wakes everybody.
        const leave = hints.listen(queues, wake, channel.isOpen);
        channel.keep();
        return leave;
      },
    }),
    close: () => hints.close(),
  };
}
