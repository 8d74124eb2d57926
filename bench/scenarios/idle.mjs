/** What a worker costs that has nothing to do. */
import { setTimeout as pause } from 'node:timers/promises';
import { idleness } from '../figures.mjs';
import { peers } from '../peers/all.mjs';

const SETTLING_MS = 2_000;
const WATCHED_MS = 6_000;
const CONCURRENCY = 10;

const nothing = {
  start() {},
  settle() {},
  fail(error) {
    throw error;
  },
};

export const idle = {
  name: 'idle',
  title: 'idle worker',
  jobs: 0,
  rounds: 1,
  fresh: true,
  figures: idleness,
  participants: [
    ...peers.map((peer) => ({ name: peer, peer })),
    { name: 'onqueue, 100 queues', peer: 'onqueue', settings: { queues: 100 } },
  ],
  left: () => 0,
  async arrange(peer, _jobs, { settings }) {
    const queues = Array.from({ length: settings.queues ?? 1 }, (_, place) =>
      place === 0 ? 'mails' : `mails-${place}`,
    );
    const stop = await peer.work(CONCURRENCY, nothing, { queues });
    await pause(SETTLING_MS);
    return { stop };
  },
  async act() {
    const started = performance.now();
    await pause(WATCHED_MS);
    return { milliseconds: performance.now() - started, resident: process.memoryUsage.rss() };
  },
  end: ({ stop }) => stop(),
};
