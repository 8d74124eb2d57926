/** The same number of jobs in each of 100 queues, which one worker empties in their order. */
import { mails } from '../mails.mjs';
import { processed } from '../processed.mjs';

const NAMES = Array.from({ length: 100 }, (_, place) => `mails-${place}`);
const CONCURRENCY = 10;

export const manyQueues = {
  name: 'queues-100',
  title: 'process, 100 queues, concurrency 10',
  jobs: 5_000,
  participants: ['onqueue', 'bullmq'],
  left: () => 0,
  async arrange(peer, jobs) {
    const each = mails(jobs / NAMES.length);
    for (const queue of NAMES) await peer.bulk(each, { queue });
  },
  act: (peer, jobs) => processed(peer, CONCURRENCY, jobs, { queues: NAMES }),
};
