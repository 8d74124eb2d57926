/**
 * Waits for work on servers that cannot wake anyone: idle workers poll, at intervals that double up to the worker's own.
 * When this process pushes or gives back a job, they poll at once.
 */
import type { Clock, Seconds } from '../../../base/clock';
import type { Waiters } from '../dialect';
import { HintWaiters } from '../server/hint-waiters';

const SHORTEST: Seconds = 0.05;

interface Polling {
  readonly queues: readonly string[];
  pause: Seconds;
}

export function pollWaiters(connection: string, clock: Clock): Waiters {
  const waiters = new HintWaiters(connection, clock);
  const all = new Set<Polling>();
  return {
    open: (queues) => {
      const polling: Polling = { queues, pause: SHORTEST };
      all.add(polling);
      return waiters.open(queues, {
        listen: (wake, seconds) => {
          const timer = clock.after(Math.min(seconds, polling.pause) * 1000, () => wake(), true);
          polling.pause = Math.min(polling.pause * 2, seconds);
          return () => timer.cancel();
        },
        left: () => void all.delete(polling),
      });
    },
    wrote: (queue) => waiters.hint(queue),
    busy: (queues) => {
      for (const polling of all) {
        if (queues.some((queue) => polling.queues.includes(queue))) polling.pause = SHORTEST;
      }
    },
    close: () => waiters.close(),
  };
}
