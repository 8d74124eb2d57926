/**
 * One worker empties a queue that was filled before; the handler does nothing, so that only the queue is measured.
 *
 * `process-…` is the steady state: a first run of some 60,000 jobs lets each engine compile what is hot, which takes seconds.
 * `first-…` is what a process does in its first moments, until then: each run in a process of its own.
 */
import { fill } from '../mails.mjs';
import { processed } from '../processed.mjs';

export function processing(concurrency, jobs, warmUp) {
  return {
    ...emptying(concurrency, jobs),
    name: `process-${concurrency}`,
    title: `process, concurrency ${concurrency}`,
    warmUp,
  };
}

export function processingFirst(concurrency, jobs) {
  return {
    ...emptying(concurrency, jobs),
    name: `first-${concurrency}`,
    title: `first jobs of a process, concurrency ${concurrency}`,
    fresh: true,
  };
}

function emptying(concurrency, jobs) {
  return {
    jobs,
    left: () => 0,
    arrange: (peer, jobs) => fill(peer, jobs),
    act: (peer, jobs) => processed(peer, concurrency, jobs),
  };
}
