/** One worker empties a queue that was filled before; the handler does nothing, so that only the queue is measured. */
import { mails, pagesOf } from '../mails.mjs';

export function processing(concurrency, jobs) {
  return {
    name: `process-${concurrency}`,
    title: `process, concurrency ${concurrency}`,
    jobs,
    left: () => 0,
    async arrange(peer, jobs) {
      for (const page of pagesOf(mails(jobs), 1_000)) await peer.bulk(page);
    },
    act: (peer, jobs) => peer.process(concurrency, jobs),
  };
}
