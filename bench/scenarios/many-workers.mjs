/** What many workers in one process take, each with a job that runs for so long that its lease is renewed. */
import { readFileSync } from 'node:fs';
import { Redis } from 'ioredis';
import { company } from '../figures.mjs';
import { fill } from '../mails.mjs';

const MANY = 20;
const LEASE_SECONDS = 3;
/** Past a third of the lease; then everything is there that a worker needs. */
const WATCHED_MS = 2_500;
const HOLD_MS = 4_000;

export const manyWorkers = {
  name: 'many-workers',
  title: 'workers in one process, each with a long job',
  jobs: 0,
  rounds: 1,
  fresh: true,
  figures: company,
  participants: ['onqueue', 'bullmq'].flatMap((peer) =>
    [1, MANY].map((workers) => ({
      name: `${peer}, ${workers}`,
      peer,
      settings: { workers, hold: HOLD_MS, lease: LEASE_SECONDS },
    })),
  ),
  left: () => 0,
  async arrange(peer, _jobs, { settings: { workers }, address }) {
    let settled = 0;
    let end;
    const ended = new Promise((resolve) => (end = resolve));
    const watcher = {
      start() {},
      settle() {
        settled += 1;
        if (settled === workers) end();
      },
      fail(error) {
        throw error;
      },
    };
    const stops = [];
    for (let worker = 0; worker < workers; worker += 1) stops.push(await peer.work(1, watcher));
    await fill(peer, workers);
    return { stops, ended, address };
  },
  async act(_peer, _jobs, { address, ended }) {
    await new Promise((resolve) => setTimeout(resolve, WATCHED_MS));
    const redis = new Redis(address);
    // The bench's own, and this one.
    const connections = (await redis.client('LIST')).trim().split('\n').length - 2;
    redis.disconnect();
    globalThis.gc();
    const threads = Number(/^Threads:\s+(\d+)/m.exec(readFileSync('/proc/self/status', 'utf8'))[1]);
    const resident = process.memoryUsage.rss();
    await ended;
    return { resident, threads, connections };
  },
  end: ({ stops }) => Promise.all(stops.map((stop) => stop())),
};
