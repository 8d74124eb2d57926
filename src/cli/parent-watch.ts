/** Notices when the process that started this one has gone. */
import { Worker } from 'node:worker_threads';
import { type Clock, type Milliseconds, systemClock, type Timer } from '../base/clock';

const LOOK_EVERY: Milliseconds = 1000;

export interface DesertedWatchSettings {
  readonly environment: Readonly<NodeJS.ProcessEnv>;
  readonly clock?: Clock | undefined;
  /** The current parent of this process; it changes when the starter has gone. */
  readonly parent?: (() => number) | undefined;
}

/** Read at the start, because npm may end while the project is loading. */
const STARTER = process.ppid;

/**
 * Calls `hear` once when npm has left this process alone: npx and `npm run` end on SIGTERM without passing it on, so the sender
 * believes that the worker has stopped. Watches only if npm started the command: elsewhere a process may outlive its parent, and
 * under nohup it should. Returns the function that stops watching.
 */
export function watchForDesertion(
  hear: () => void,
  { environment, clock = systemClock, parent = () => process.ppid }: DesertedWatchSettings,
  starter = STARTER,
): () => void {
  if (environment['npm_command'] === undefined && environment['npm_lifecycle_event'] === undefined)
    return () => undefined;
  let timer: Timer;
  const look = (): void => {
    if (parent() === starter) timer = clock.after(LOOK_EVERY, look);
    else hear();
  };
  timer = clock.after(LOOK_EVERY, look);
  return () => timer.cancel();
}

/** In a thread, because a process whose event loop is blocked would notice nothing. */
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
 * For a process that must not outlive its starter, even if that was killed by SIGKILL. Calls `hear` when the other end of the
 * channel has gone, so that this process can stop cleanly, and kills it if it has not stopped after `patience`. Returns the
 * function that stops watching.
 */
export function watchForOrphaning(hear: () => void, patience: Milliseconds): () => void {
  // The process's own `node --require` is not meant for this thread.
  const watch = new Worker(WATCH, { eval: true, execArgv: [], workerData: { parent: process.ppid, patience } });
  watch.unref();
  process.on('disconnect', hear);
  // The starter may have gone while this process was starting; the channel reports that only once.
  if (!process.connected) hear();
  return () => {
    process.off('disconnect', hear);
    void watch.terminate();
  };
}
