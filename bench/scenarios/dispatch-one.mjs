/** Each dispatch is awaited before the next: what a request that dispatches one job waits for. */
import { mails } from '../mails.mjs';

export const dispatchOne = {
  name: 'dispatch-one',
  title: 'dispatch, one at a time',
  jobs: 40_000,
  left: (jobs) => jobs,
  arrange: (_peer, jobs) => mails(jobs),
  async act(peer, _jobs, mails) {
    const started = performance.now();
    for (const mail of mails) await peer.dispatchOne(mail);
    return { milliseconds: performance.now() - started };
  },
};
