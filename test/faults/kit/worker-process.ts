/** A worker in a process of its own, that can be killed, frozen, thawed and told to stop. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { type Milliseconds, systemClock } from '../../../src/base/clock';

export interface Exit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly at: Milliseconds;
}

/** Milliseconds. Far beyond any grace. */
const DEADLINE: Milliseconds = 45_000;

/** Never notified: used to pause without the event loop. */
const NEVER = new Int32Array(new SharedArrayBuffer(4));

export class WorkerProcess {
  readonly pid: number;
  /** Resolves when it works or has ended. */
  readonly ready: Promise<unknown>;
  readonly exited: Promise<Exit>;
  /** The text written to stderr without the event loop. */
  account = '';
  readonly #process: ChildProcess;

  constructor(program: string, orders: object) {
    this.#process = spawn(process.execPath, [program, JSON.stringify(orders)], {
      // Passed explicitly, because Node.js would not use Jest's own `process.env` by default.
      env: process.env,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    if (this.#process.pid === undefined) throw new Error(`${program} could not be started`);
    this.pid = this.#process.pid;
    this.#process.stderr!.on('data', (chunk: Buffer) => {
      const text = chunk.toString();
      if (text.startsWith('{"level":"error"')) this.account += (JSON.parse(text) as { readonly msg: string }).msg;
      else process.stderr.write(text);
    });
    this.exited = once(this.#process, 'close').then(([code, signal]) => ({
      code: code as number | null,
      signal: signal as NodeJS.Signals | null,
      at: Date.now(),
    }));
    this.ready = Promise.race([once(this.#process.stdout!, 'data'), this.exited]);
  }

  /** Kills it with SIGKILL, which it cannot handle. */
  kill(): Promise<Exit> {
    this.#process.kill('SIGKILL');
    return this.exited;
  }

  /** Freezes it without its knowledge, like a hypervisor that pauses its machine. */
  freeze(): void {
    this.#process.kill('SIGSTOP');
    // On a busy machine a thread may finish its job before the signal reaches it.
    while (!this.isFrozen) Atomics.wait(NEVER, 0, 0, 1);
  }

  /** Whether all of its threads are stopped. */
  get isFrozen(): boolean {
    const tasks = `/proc/${this.pid}/task`;
    return readdirSync(tasks).every((task) => {
      try {
        return /\) T /.test(readFileSync(`${tasks}/${task}/stat`, 'utf8'));
      } catch {
        // The thread has just ended.
        return false;
      }
    });
  }

  thaw(): void {
    this.#process.kill('SIGCONT');
  }

  /** Makes it write its memory and its open handles to the ledger. */
  measure(): void {
    this.#process.kill('SIGUSR2');
  }

  /** Asks it to finish its jobs and to end by itself, and kills it if it has not at the deadline. */
  async terminate(): Promise<Exit> {
    const deadline = systemClock.after(DEADLINE, () => this.#process.kill('SIGKILL'), true);
    this.#process.kill('SIGTERM');
    const exit = await this.exited;
    deadline.cancel();
    return exit;
  }
}
