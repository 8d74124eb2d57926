/** One worker empties a queue that was filled before; the handler does nothing, so that only the queue is measured. */
import { fill } from '../mails.mjs';
import { processed } from '../processed.mjs';

export function processing(concurrency, jobs) {
  return {
    name: `process-${concurrency}`,
    title: `process, concurrency ${concurrency}`,
    jobs,
    left: () => 0,
    arrange: (peer, jobs) => fill(peer, jobs),
    act: (peer, jobs) => processed(peer, concurrency, jobs),
  };
}
