/** A Node.js process that runs a TypeScript file and reports line by line. */
import { spawn } from 'node:child_process';
import type { ChildProcessByStdio } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';

const HOOK = join(__dirname, 'register-typescript.cjs');

export class Child {
  readonly lines: string[] = [];
  readonly exited: Promise<number | NodeJS.Signals>;
  readonly #process: ChildProcessByStdio<null, Readable, null>;
  readonly #waiting = new Set<() => void>();

  constructor(script: string, ...args: readonly string[]) {
    this.#process = spawn(process.execPath, ['-r', HOOK, script, ...args], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    createInterface(this.#process.stdout).on('line', (line) => {
      this.lines.push(line);
      for (const look of this.#waiting) look();
    });
    // 'close' is emitted after its last line was read.
    this.exited = once(this.#process, 'close').then(([code, signal]) => (code ?? signal) as number | NodeJS.Signals);
  }

  /** Resolves once it has printed the given number of lines. */
  async said(count: number): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      const look = (): void => {
        if (this.lines.length < count) return;
        this.#waiting.delete(look);
        resolve();
      };
      this.#waiting.add(look);
      void this.exited.then((end) => reject(new Error(`The child ended (${end}) after: ${this.lines.join(' | ')}`)));
      look();
    });
  }

  /** Tells it to end, as an orchestrator does. */
  end(): void {
    this.#process.kill('SIGTERM');
  }

  async kill(): Promise<void> {
    this.#process.kill('SIGKILL');
    await this.exited;
  }
}
