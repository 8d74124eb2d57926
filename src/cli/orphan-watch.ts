/** For a process that must not outlive the one that started it, also when that one was killed by SIGKILL. */
import { Worker } from 'node:worker_threads';
import type { Milliseconds } from '../base/clock';

/** In a thread, because the event loop of a process that is blocked notices nothing. */
const WATCH = `
const { workerData: { parent, patience } } = require('node:worker_threads');
let orphanedAt;
setInterval(() => {
  if (process.ppid === parent) return;
  orphanedAt ??= performance.now();
  if (performance.now() - orphanedAt >= patience) process.kill(process.pid, 'SIGKILL');
}, 250);
`;

/**
 * Calls `hear` when the process at the other end of the channel has gone, so that this one can stop cleanly; ends it by
 * force when it has not done so after `patience`. Returns the function that stops watching.
 */
export function watchForOrphaning(hear: () => void, patience: Milliseconds): () => void {
  // What the process itself was told to load (`node --require`) is not for this thread.
  const watch = new Worker(WATCH, { eval: true, execArgv: [], workerData: { parent: process.ppid, patience } });
  watch.unref();
  process.on('disconnect', hear);
  // It may have gone while this process was starting; the channel tells of that once only.
  if (!process.connected) hear();
  return () => {
    process.off('disconnect', hear);
    void watch.terminate();
  };
}
