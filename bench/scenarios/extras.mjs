/** As in `process`, with and without what Onqueue does for a job if it is asked to. */
import { fill } from '../mails.mjs';
import { processed } from '../processed.mjs';

const onqueue = (name, settings) => ({ name, peer: 'onqueue', settings });

export function extras(concurrency, jobs) {
  return {
    name: `extras-${concurrency}`,
    title: `hooks and injection, concurrency ${concurrency}`,
    jobs,
    rounds: 3,
    participants: [
      onqueue('neither', { hooks: false, injection: false }),
      onqueue('hooks', { hooks: true, injection: false }),
      onqueue('injection', { hooks: false, injection: true }),
      onqueue('both', { hooks: true, injection: true }),
    ],
    baseline: 'neither',
    left: () => 0,
    arrange: (peer, jobs) => fill(peer, jobs),
    act: (peer, jobs) => processed(peer, concurrency, jobs),
  };
}
