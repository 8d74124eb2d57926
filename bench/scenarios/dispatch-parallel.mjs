/** A thousand dispatches under way at once: a busy server. */
import { mails, pagesOf } from '../mails.mjs';

export const dispatchParallel = {
  name: 'dispatch-parallel',
  title: 'dispatch, 1,000 in parallel',
  jobs: 100_000,
  left: (jobs) => jobs,
  arrange: (_peer, jobs) => [...pagesOf(mails(jobs), 1_000)],
  async act(peer, _jobs, pages) {
    const started = performance.now();
    for (const page of pages) await peer.dispatchMany(page);
    return { milliseconds: performance.now() - started };
  },
};
