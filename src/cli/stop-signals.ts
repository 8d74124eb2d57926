/** What tells a process to stop (signals, npm or a supervisor that has gone), and how the log names the reason. */
import { Worker } from 'node:worker_threads';
import { CLOSING_DEADLINE } from '../application/shutdown';
import { type Clock, type Milliseconds, type Seconds, systemClock, type Timer } from '../base/clock';
import type { Logger } from '../base/logger';
import { WORKER_MARGIN } from '../worker/stop';
import type { ProcessEnd } from '../worker/supervisor/supervisor';
import type { Surroundings } from './session';

const SIGNAL_NUMBERS = { SIGINT: 2, SIGQUIT: 3, SIGTERM: 15 } as const;

export type StopSignal = keyof typeof SIGNAL_NUMBERS;

export const STOP_SIGNALS = Object.keys(SIGNAL_NUMBERS) as StopSignal[];

/** npm passes on what the terminal has already sent to all its processes: a second signal this soon is such an echo. */
const ECHO: Milliseconds = 200;

/**
 * What a process may take beyond the grace, whose store may be silent: its worker, then its connections, and a second to spare.
 * After that it counts as blocked and is killed.
 */
export const PROCESS_MARGIN: Seconds = WORKER_MARGIN + CLOSING_DEADLINE + 1;

interface StopCallbacks {
  /** `said`: the text for the log. `why`: why the worker stops, for its last line. */
  readonly first: (signal: StopSignal, said: string, why: string) => void;
  /** `code`: the exit code of a process that a signal ended, as shells report it: 130, 131, 143. */
  readonly again: (signal: StopSignal, code: number) => void;
}

/** Calls each once. If npm, which started this process, has gone, that counts as a first SIGTERM, but never as the second. */
export function hearStopSignals(
  { clock, onStopSignal, onDeserted }: Surroundings,
  { first, again }: StopCallbacks,
): () => void {
  let firstAt: Milliseconds | undefined;
  let isHurried = false;
  const stopListening = onStopSignal((signal) => {
    const now = clock.monotonic();
    if (firstAt === undefined) {
      firstAt = now;
      first(signal, `${signal}: running jobs may finish; a second signal ends them at once.`, `it received ${signal}`);
    } else if (now - firstAt > ECHO && !isHurried) {
      isHurried = true;
      again(signal, 128 + SIGNAL_NUMBERS[signal]);
    }
  });
  const stopWatching = onDeserted(() => {
    if (firstAt !== undefined) return;
    firstAt = clock.monotonic();
    const why = 'npm, which started this process, has gone';
    first('SIGTERM', `${why}: running jobs may finish; a signal ends them at once.`, why);
  });
  return () => {
    stopListening();
    stopWatching();
  };
}

/** The same for workers, with log lines. */
export function stopAtSignals(
  surroundings: Surroundings,
  logger: Logger,
  stop: (signal: StopSignal, why: string) => void,
  end: (code: number) => void,
): () => void {
  return hearStopSignals(surroundings, {
    first(signal, said, why) {
      logger.info({ signal }, said);
      stop(signal, why);
    },
    again(signal, code) {
      logger.warn({ signal }, `${signal} again: ending at once. Running jobs run again when their leases end.`);
      end(code);
    },
  });
}

/** For commands with nothing to finish: resolves on the first stop signal, or when npm, having started this process, has gone. */
export function stopped({ onStopSignal, onDeserted }: Surroundings): Promise<void> {
  return new Promise((resolve) => {
    const over = (): void => {
      for (const stopListening of listening) stopListening();
      resolve();
    };
    const listening = [onStopSignal(over), onDeserted(over)];
  });
}

const LOOK_EVERY: Milliseconds = 1000;

interface DesertedWatchSettings {
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
 * For a process that must not outlive its starter, even one killed by SIGKILL. Calls `hear` when the other end of the channel
 * has gone, and kills this process if it has not stopped after `patience`. Returns what stops watching.
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

/** How the log names the reasons for a worker's end. */
export const STOP_REASONS: Readonly<Record<ProcessEnd, string>> = {
  stopped: 'a signal, Worker.stop() or Queue.close() stopped it',
  empty: 'its queues are empty',
  once: 'it ran its one job',
  'max-jobs': 'it reached --max-jobs',
  'max-time': 'it reached --max-time',
  memory: 'the process uses more memory than --memory allows',
  restart: 'all workers were told to restart',
  stuck: 'all its slots were occupied by jobs that had been given up',
  uncaught: 'an error was not caught',
  recycle: 'it reached the age of --recycle',
  changed: 'its code has changed',
};
