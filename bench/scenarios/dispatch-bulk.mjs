/** The peer's own call for many jobs, with 1,000 of them. */
import { mails, pagesOf } from '../mails.mjs';

export const dispatchBulk = {
  name: 'dispatch-bulk',
  title: 'dispatch, bulks of 1,000',
  jobs: 100_000,
  left: (jobs) => jobs,
  arrange: (_peer, jobs) => [...pagesOf(mails(jobs), 1_000)],
  async act(peer, _jobs, pages) {
    const started = performance.now();
    for (const page of pages) await peer.bulk(page);
    return { milliseconds: performance.now() - started };
  },
};
