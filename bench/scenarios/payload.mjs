/** Jobs with data of one size: dispatched, ten under way at once, and then processed, ten at once. */
import { passage } from '../figures.mjs';
import { mails, pagesOf } from '../mails.mjs';
import { processed } from '../processed.mjs';

const AT_ONCE = 10;

export function payload(size, bytes, jobs) {
  return {
    name: `payload-${size}`,
    title: `data of ${size}, concurrency ${AT_ONCE}`,
    jobs,
    rounds: 3,
    figures: passage,
    left: () => 0,
    arrange: (_peer, jobs) => [...pagesOf(mails(jobs, bytes), AT_ONCE)],
    async act(peer, jobs, pages) {
      const started = performance.now();
      for (const page of pages) await peer.dispatchMany(page);
      const dispatching = performance.now() - started;
      const { milliseconds } = await processed(peer, AT_ONCE, jobs);
      return { dispatching, processing: milliseconds };
    },
  };
}
