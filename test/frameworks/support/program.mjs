/** Starts the programs of a trial, hears what they say, and waits for it: never for a span of time. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { delimiter, resolve } from 'node:path';

/** Far above what any of them takes: one that hangs must not hang the trial. */
const DEADLINE_MS = 180_000;

const running = new Set();
process.on('exit', () => running.forEach((child) => killGroup(child, 'SIGKILL')));

/** Also what it has started itself. */
function killGroup({ pid }, signal) {
  try {
    process.kill(-pid, signal);
  } catch {
    // All of it has ended.
  }
}

export class Program {
  output = '';
  #child;
  #look = new Set();

  constructor(command, args = [], { env = {}, cwd = process.cwd() } = {}) {
    const path = `${resolve(cwd, 'node_modules/.bin')}${delimiter}${process.env.PATH}`;
    this.#child = spawn(command, args, { cwd, env: { ...process.env, PATH: path, ...env }, detached: true });
    running.add(this.#child);
    const deadline = setTimeout(() => killGroup(this.#child, 'SIGKILL'), DEADLINE_MS);
    for (const stream of [this.#child.stdout, this.#child.stderr]) {
      stream.setEncoding('utf8').on('data', (text) => {
        this.output += text;
        for (const look of this.#look) look();
      });
    }
    this.ended = once(this.#child, 'close').then(([code, signal]) => {
      clearTimeout(deadline);
      running.delete(this.#child);
      return { code: code ?? signal, output: this.output };
    });
    this.line = [command, ...args].join(' ');
  }

  /** Resolves with the match when what was printed until now has it; the last group of `pattern`, where it has one. */
  async said(pattern) {
    return new Promise((resolve, reject) => {
      const look = () => {
        const found = this.output.match(pattern);
        if (found === null) return;
        this.#look.delete(look);
        resolve(found.at(-1));
      };
      this.#look.add(look);
      look();
      void this.ended.then(({ code }) => {
        look();
        reject(new Error(`${this.line} ended with ${code} before it said ${pattern}:\n${this.output}`));
      });
    });
  }

  kill(signal = 'SIGTERM') {
    this.#child.kill(signal);
  }

  /** Ctrl-C, which a terminal sends to all of them. */
  interrupt() {
    killGroup(this.#child, 'SIGINT');
  }
}

/** Resolves with what it printed. */
export async function run(command, args, options) {
  const program = new Program(command, args, options);
  const { code, output } = await program.ended;
  if (code !== 0) throw new Error(`${program.line} ended with ${code}:\n${output}`);
  return output;
}

/** Asks until it holds. */
export async function eventually(holds, what) {
  const deadline = Date.now() + DEADLINE_MS;
  for (;;) {
    const value = await holds();
    if (value) return value;
    if (Date.now() > deadline) throw new Error(`It did not come about: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
