/** `listen`: like `work`, but with a fresh process for each job, so that it always runs the latest code. For development. */
import { fork } from 'node:child_process';
import { pauseAfter, type Clock, type Milliseconds, type Timer } from '../../base/clock';
import { durationSeconds } from '../../job/duration';
import { resolveWorkerOptions } from '../../worker/worker-options';
import { defineCommand } from '../command';
import { ExitCode, invalidOption, WORKER_EXIT_CODES_HELP } from '../errors';
import { commandLineOf, type Flag, LISTEN_FLAGS, LISTEN_SLEEP, type ListenFlags, workerOptions } from '../flags';
import { CONNECTION_WORD } from '../named-queues';
import type { Session } from '../session';
import { hearStopSignals, PROCESS_MARGIN, type StopSignal } from '../stop-signals';

/** The time that a process has left after a second signal. */
const HASTE: Milliseconds = 1000;

/** The pause after a process that could not start. Short, because the faulty file is probably being fixed. */
const BACKOFF = { first: 1000, longest: 5000 };

// Users who know `work` should learn why there is no such flag.
const concurrency: Flag<never> = {
  value: '<count>',
  help: '',
  isHidden: true,
  read(value, flag) {
    const reason = 'onqueue listen runs one job at a time, each in a fresh process; onqueue work takes --concurrency.';
    throw invalidOption(flag, value, reason);
  },
};

export const listen = defineCommand({
  name: 'listen',
  summary: 'like work, but with a fresh process for each job, so that it runs the latest code',
  description:
    'For development: starting a process for each job costs some hundred milliseconds. Runs one job at a time.',
  exitCodes: WORKER_EXIT_CODES_HELP,
  examples: [
    ['onqueue listen', 'the default connection and its queue'],
    ['onqueue listen --queue=high,default --tries=3', 'two queues'],
    ["onqueue listen --require 'src/jobs/**/*.ts'", 'jobs in TypeScript (needs @swc/core)'],
  ],
  words: CONNECTION_WORD,
  flags: { ...LISTEN_FLAGS, concurrency },
  run: ({ session, flags, words: [connection] }) => new Listener(session, connection, flags).run(),
});

class Listener {
  readonly #session: Session;
  readonly #clock: Clock;
  readonly #arguments: readonly string[];
  readonly #rest: Milliseconds;
  readonly #patience: Milliseconds;
  #stopped = false;
  #passOn: (signal: StopSignal, patience: Milliseconds) => void = () => undefined;

  constructor(session: Session, connection: string | undefined, given: ListenFlags) {
    const { sleep = LISTEN_SLEEP, rest = 0, ...flags } = given;
    const { grace } = resolveWorkerOptions(workerOptions(connection, { ...flags, sleep, rest }));
    this.#session = session;
    this.#clock = session.surroundings.clock;
    const where = connection === undefined ? [] : [connection];
    this.#arguments = ['work', ...where, '--once', `--sleep=${sleep}`, ...commandLineOf(flags)];
    this.#rest = durationSeconds(rest, '--rest') * 1000;
    this.#patience = (grace + PROCESS_MARGIN) * 1000;
  }

  async run(): Promise<void> {
    const stopListening = hearStopSignals(this.#session.surroundings, {
      first: (signal) => this.#stop(signal, this.#patience),
      again: (signal, code) => {
        this.#session.output.note(`${signal} again: ending at once. The running job runs again when its lease ends.`);
        this.#session.exitCode = code;
        this.#stop(signal, HASTE);
      },
    });
    try {
      let turn: 'first' | 'again' = 'first';
      let failures = 0;
      while (!this.#stopped) {
        const code = await this.#runOne(turn);
        // Repeating mistyped flags does not help.
        if (code === ExitCode.usage) this.#session.exitCode = code;
        if (code === ExitCode.usage || this.#stopped) break;
        failures = code === ExitCode.done ? 0 : failures + 1;
        if (code === ExitCode.done) turn = 'again';
        await this.#pause(failures === 0 ? this.#rest : pauseAfter(failures - 1, BACKOFF));
      }
    } finally {
      stopListening();
    }
  }

  /** Runs one process from start to end. Resolves to its exit code, as a shell reports it. */
  #runOne(turn: 'first' | 'again'): Promise<number> {
    const { output } = this.#session;
    return new Promise((resolve, reject) => {
      // Through the channel the process notices if this one was killed; see `onOrphaned`.
      const child = fork(process.argv[1] ?? '', [...this.#arguments, `--fresh=${turn}`], {
        cwd: this.#session.surroundings.folder,
        stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
      });
      let killer: Timer | undefined;
      let killAt = Infinity;
      this.#passOn = (signal, patience) => {
        child.kill(signal);
        const at = this.#clock.monotonic() + patience;
        if (at >= killAt) return;
        killAt = at;
        killer?.cancel();
        // A process with a blocked event loop hears no signals, and must not outlive this one.
        killer = this.#clock.after(patience, () => child.kill('SIGKILL'), true);
      };
      child.once('error', reject);
      child.once('exit', (code, signal) => {
        this.#passOn = () => undefined;
        killer?.cancel();
        if (signal !== null && !this.#stopped) {
          output.note(`The process of a job was killed by ${signal}. Its job runs again when its lease ends.`);
        }
        resolve(code ?? 1);
      });
    });
  }

  #stop(signal: StopSignal, patience: Milliseconds): void {
    this.#stopped = true;
    this.#passOn(signal, patience);
  }

  #pause(milliseconds: Milliseconds): Promise<void> {
    return new Promise((resolve) => {
      const timer = this.#clock.after(milliseconds, resolve, true);
      this.#passOn = () => {
        timer.cancel();
        resolve();
      };
    });
  }
}
