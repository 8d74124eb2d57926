/** How long `require` of a peer takes in a process that has just begun, and what it brings along. */
import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { loading } from '../figures.mjs';

const program = fileURLToPath(new URL('../require-time.cjs', import.meta.url));

/** By hand it is ioredis. */
const MODULES = { onqueue: '../dist/index.js', bullmq: 'bullmq', 'bee-queue': 'bee-queue', 'by-hand': 'ioredis' };

const STARTS = 5;

export const startUp = {
  name: 'start-up',
  title: `start-up, ${STARTS} starts in a round`,
  jobs: 0,
  figures: loading,
  rounds: 3,
  warmUp: 0,
  participants: Object.keys(MODULES).map((peer) => ({ name: peer, peer, settings: { module: MODULES[peer] } })),
  left: () => 0,
  arrange: (_peer, _jobs, { settings }) => settings.module,
  async act(_peer, _jobs, module) {
    const starts = Array.from({ length: STARTS }, () => JSON.parse(execFileSync(process.execPath, [program, module])));
    return { start: starts.toSorted((one, other) => one.milliseconds - other.milliseconds)[Math.floor(STARTS / 2)] };
  },
};
