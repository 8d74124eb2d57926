/** Runs programs in PHP, and reads what they print, line by line. */
import { type ChildProcessByStdio, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';

const programs = join(__dirname, 'programs');

/** The lines that a program prints for the given ones. */
export function php(program: string, args: readonly (string | number)[], input: readonly string[] = []): string[] {
  const { status, stdout, stderr, error } = spawnSync('php', [join(programs, program), ...args.map(String)], {
    encoding: 'utf8',
    input: input.map((line) => `${line}\n`).join(''),
    maxBuffer: 1e9,
  });
  if (status !== 0) throw new Error(`php ${program} ended with ${status}: ${String(error)} ${stderr} ${stdout}`);
  return stdout.split('\n').slice(0, -1);
}

/** What a worker of Laravel says. */
export interface Said {
  readonly said: 'ready' | 'ran' | 'threw' | 'failed';
  readonly values?: Readonly<Record<string, unknown>>;
  readonly invoice?: number;
  readonly error?: string;
}

/** A worker of Laravel, until it is stopped. */
export class LaravelWorker {
  readonly said: Said[] = [];
  readonly #process: ChildProcessByStdio<Writable, Readable, null>;
  readonly #closed: Promise<unknown>;

  constructor(...args: readonly (string | number)[]) {
    this.#process = spawn('php', [join(programs, 'work.php'), ...args.map(String)], {
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    createInterface(this.#process.stdout).on('line', (line) => this.said.push(JSON.parse(line) as Said));
    this.#closed = once(this.#process, 'close');
  }

  /** The values with which jobs ran. */
  get ran(): Readonly<Record<string, unknown>>[] {
    return this.said.flatMap(({ values }) => (values === undefined ? [] : [values]));
  }

  /** Lets the running job end. */
  async stop(): Promise<void> {
    this.#process.stdin.end();
    await this.#closed;
  }
}
