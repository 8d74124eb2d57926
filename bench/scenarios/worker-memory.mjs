/** What a worker's process takes after many jobs, which another process has queued. */
import { memory } from '../figures.mjs';
import { processed } from '../processed.mjs';
import { startSender } from '../sender.mjs';

export const workerMemory = {
  name: 'memory',
  title: 'memory of a worker, concurrency 100',
  jobs: 30_000,
  rounds: 2,
  fresh: true,
  figures: memory,
  left: () => 0,
  async arrange(_peer, jobs, participant) {
    const sender = startSender(participant);
    await sender.ask({ fill: jobs });
    sender.end();
  },
  async act(peer, jobs) {
    await processed(peer, 100, jobs);
    const peak = process.resourceUsage().maxRSS * 1024;
    globalThis.gc();
    return { peak, resident: process.memoryUsage.rss(), heap: process.memoryUsage().heapUsed };
  },
};
