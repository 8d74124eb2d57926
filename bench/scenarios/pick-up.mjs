/** From the dispatch in one process to the start of the handler in a worker of another, which was waiting. */
import { setTimeout as pause } from 'node:timers/promises';
import { latency } from '../figures.mjs';
import { now, startSender } from '../sender.mjs';

/** Between a job and the next: of different length, so that no timer of a peer falls into step. */
const pauseAfter = (job) => 4 + (job % 7);

export const pickUp = {
  name: 'pick-up',
  title: 'pick-up by an idle worker',
  jobs: 300,
  figures: latency,
  left: () => 0,
  async arrange(peer, _jobs, participant) {
    const sender = startSender(participant);
    const latencies = [];
    let settled;
    const stop = await peer.work(1, {
      start: (sentAt) => latencies.push((now() - sentAt) / 1e6),
      settle: () => settled.resolve(),
      fail: (error) => settled.reject(error),
    });
    const next = async () => {
      const done = new Promise((resolve, reject) => (settled = { resolve, reject }));
      await Promise.all([sender.ask({ stamped: true }), done]);
    };
    // The first one finds connections that are being opened.
    await next();
    latencies.length = 0;
    return { next, latencies, stop, sender };
  },
  async act(_peer, jobs, { next, latencies }) {
    for (let job = 0; job < jobs; job += 1) {
      await pause(pauseAfter(job));
      await next();
    }
    return { latencies };
  },
  async end({ stop, sender }) {
    sender.end();
    await stop();
  },
};
