#!/usr/bin/env node
/** The command `onqueue`: passes the process to the program, and exits with the program's code. */
import { fork } from 'node:child_process';
import { createInterface } from 'node:readline/promises';
import { systemClock } from '../base/clock';
import { builtInConnectors } from '../connections/built-in';
import { run } from './program';
import type { Surroundings } from './session';
import { STOP_SIGNALS, type StopSignal, watchForDesertion, watchForOrphaning } from './stop-signals';

/** Ctrl-D; we also report it when the terminal is gone. */
const END_OF_INPUT = '\u0004';

/** The process exits after this time even if a file of the project opened something and never closes it. */
const FAREWELL_MS = 500;

const surroundings: Surroundings = {
  stdout: process.stdout,
  stderr: process.stderr,
  clock: systemClock,
  folder: process.cwd(),
  environment: process.env,
  connectors: builtInConnectors,
  ask: process.stdin.isTTY ? ask : undefined,
  onKeys: process.stdin.isTTY ? onKeys : undefined,
  onStopSignal(hear) {
    let heard = false;
    const listener = (signal: StopSignal): void => {
      heard = true;
      hear(signal);
    };
    for (const signal of STOP_SIGNALS) process.on(signal, listener);
    return () => {
      for (const signal of STOP_SIGNALS) {
        // Signals often come several at a time. Without a listener, the next one would end a process that is about to exit with a
        // code of its own.
        if (heard) process.on(signal, ignore);
        process.off(signal, listener);
      }
    };
  },
  onDeserted: (hear) => watchForDesertion(hear, { environment: process.env }),
  onOrphaned: watchForOrphaning,
  fork: (line) =>
    fork(process.argv[1] ?? '', line, {
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
      serialization: 'advanced',
      // A process group of its own; on Windows this would open a window instead.
      detached: process.platform !== 'win32',
    }),
  channel: process.send === undefined ? undefined : { tell, hear: (callback) => on('message', callback) },
  onStray(hear) {
    const isAlone = (event: string): boolean => process.listenerCount(event) === 1;
    const rejected = (reason: unknown): void => hear(reason, 'rejection', isAlone('unhandledRejection'));
    const thrown = (error: unknown): void => hear(error, 'exception', isAlone('uncaughtException'));
    const undo = [on('unhandledRejection', rejected), on('uncaughtException', thrown)];
    return () => {
      for (const stop of undo) stop();
    };
  },
  onExit: (hear) => on('exit', hear),
  setTitle(title) {
    process.title = title;
  },
  exit: (code) => process.exit(code),
};

// The other end may have gone; then there is nobody to tell.
function tell(message: object): void {
  if (process.connected) process.send?.(message, undefined, undefined, () => undefined);
}

/** Returns the function that stops listening. */
function on(event: string, listener: (...given: never[]) => void): () => void {
  process.on(event, listener as () => void);
  return () => void process.off(event, listener as () => void);
}

function onKeys(hear: (keys: string) => void): () => void {
  const { stdin } = process;
  const gone = (): void => hear(END_OF_INPUT);
  stdin.setRawMode(true).setEncoding('utf8').on('data', hear).on('end', gone).resume();
  return () => void stdin.off('data', hear).off('end', gone).setRawMode(false).pause();
}

async function ask(question: string): Promise<string> {
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  try {
    return await terminal.question(question);
  } finally {
    terminal.close();
  }
}

function ignore(): void {}

// The reader of a pipe may leave early (`onqueue failed | head`). That is not an error.
function ignoreBrokenPipe(error: NodeJS.ErrnoException): void {
  if (error.code !== 'EPIPE') throw error;
}
process.stdout.on('error', ignoreBrokenPipe);
process.stderr.on('error', ignoreBrokenPipe);

// Exits explicitly when nothing is left to do: a process that just runs out removes its signal handlers first, and a signal at
// that moment would replace its exit code.
process.once('beforeExit', () => process.exit());

void run(process.argv.slice(2), surroundings).then((code) => {
  process.exitCode = code;
  if (process.connected) process.disconnect();
  systemClock.after(FAREWELL_MS, () => process.exit());
});
