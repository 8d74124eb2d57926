/**
 * Waits for work on servers that cannot wake anyone: idle workers look, at intervals that double up to their own. When this
 * process pushes or gives back a job, they look at once.
 */
import type { Clock, Seconds } from '../../../base/clock';
import { Recent } from '../../../base/collections';
import type { Waking } from '../dialect';
import { Hints } from '../server/hints';

const SHORTEST: Seconds = 0.05;

interface Pace {
  readonly queues: readonly string[];
  pause: Seconds;
}

const MOST_PACES = 1000;

export function polling(clock: Clock): Waking {
  const hints = new Hints(clock);
  const paces = new Recent<string, Pace>(MOST_PACES);
  return {
    listening: ({ queues, lookEvery = Infinity }) => {
      const pace = paces.ensure(queues.toSorted().join(), () => ({ queues, pause: SHORTEST }));
      return {
        listen: (wake, seconds) => {
          const longest = Math.min(seconds, lookEvery);
          const timer = clock.after(Math.min(longest, pace.pause) * 1000, () => wake(), true);
          pace.pause = Math.min(pace.pause * 2, longest);
          const leave = hints.listen(queues, wake);
          return () => {
            timer.cancel();
            leave();
          };
        },
      };
    },
    wrote: (queue) => hints.hint(queue),
    busy: (queues) => {
      for (const pace of paces.values()) {
        if (queues.some((queue) => pace.queues.includes(queue))) pace.pause = SHORTEST;
      }
    },
    close: () => hints.close(),
  };
}
