/** Jobs that are all due at one moment, and a worker that starts a little later. */
import { setTimeout as pause } from 'node:timers/promises';
import { scripts } from '../figures.mjs';
import { fill } from '../mails.mjs';
import { processed } from '../processed.mjs';

/** In which so many are queued, also on a slow day; a peer that queues them one by one would make this a long wait. */
const millisecondsFor = (jobs) => 6_000 + jobs / 10;

export const due = {
  name: 'due',
  title: 'delayed jobs that are due at once, concurrency 100',
  jobs: 200_000,
  full: 1_000_000,
  rounds: 1,
  warmUp: 0.05,
  figures: scripts,
  participants: ['onqueue'],
  baseline: 'onqueue',
  left: () => 0,
  async arrange(peer, jobs) {
    const due = new Date(Date.now() + millisecondsFor(jobs));
    await fill(peer, jobs, { due });
    const left = due.getTime() - Date.now();
    if (left < 0) throw new Error(`queueing took ${-left} ms longer than ${millisecondsFor(jobs)} ms`);
    await pause(left + 100);
  },
  act: (peer, jobs) => processed(peer, 100, jobs),
};
