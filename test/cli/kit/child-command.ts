/** Runs the real command, and programs of a project, in separate processes. */
import { type ChildProcess, spawn } from 'node:child_process';
import { join } from 'node:path';
import { eventually } from '../../support/eventually';

const REGISTER = join(__dirname, '../../support/register-typescript.cjs');
export const BIN = join(__dirname, '../../../src/cli/bin.ts');

export interface ChildEnd {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

export interface CommandOptions {
  readonly variables?: NodeJS.ProcessEnv;
  /** In its own process group, like a command of a shell, so that a test can signal the group as a terminal does. */
  readonly detached?: boolean;
}

export class ChildCommand {
  stdout = '';
  stderr = '';
  readonly ended: Promise<ChildEnd>;
  readonly #child: ChildProcess;

  constructor(folder: string, line: readonly string[], { variables = {}, detached = false }: CommandOptions = {}) {
    // Jest's variables would make the child believe that it runs under Jest.
    const { JEST_WORKER_ID: _worker, NODE_ENV: _mode, REDIS_URL: _redis, ...environment } = process.env;
    this.#child = spawn(process.execPath, ['--require', REGISTER, ...line], {
      cwd: folder,
      env: { ...environment, ...variables },
      detached,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    this.#child.stdout?.setEncoding('utf8').on('data', (text: string) => (this.stdout += text));
    this.#child.stderr?.setEncoding('utf8').on('data', (text: string) => (this.stderr += text));
    this.ended = new Promise((resolve) => this.#child.once('close', (code, signal) => resolve({ code, signal })));
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  kill(signal: NodeJS.Signals): void {
    this.#child.kill(signal);
  }

  /** Waits until the command has printed the given text. */
  async prints(text: string | RegExp): Promise<void> {
    const isThere = (all: string): boolean => (typeof text === 'string' ? all.includes(text) : text.test(all));
    await eventually(() => isThere(this.stdout + this.stderr), {
      of: `a line with "${text}"`,
    });
  }

  /** Ends the process, which a failed test may have left running. */
  async end(): Promise<void> {
    if (this.#child.exitCode === null && this.#child.signalCode === null) this.kill('SIGKILL');
    await this.ended;
  }
}

/** Runs `onqueue …` in the folder of a project. */
export function command(folder: string, line: readonly string[], options?: CommandOptions): ChildCommand {
  return new ChildCommand(folder, [BIN, ...line], options);
}

/** Whether a process with this id exists. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
