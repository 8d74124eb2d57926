/** A user's project with jobs on a SQLite file, and the processes that a test starts in it. */
import { eventually } from '../../support/eventually';
import { BIN, ChildCommand, type CommandOptions, command, isAlive } from './child-command';
import { meantToPass } from '../../support/meant-to-pass';
import { Project } from './project';

const configuration = (retryAfter: number): string => `require('./jobs');
module.exports = {
  connections: { database: { driver: 'database', url: 'sqlite:./queue.sqlite', retryAfter: ${retryAfter} } },
};`;

/** Each job writes a line to a file: a text, its process and its attempt. */
const JOBS = `const { appendFileSync, existsSync } = require('node:fs');
const { Job } = require('onqueue');
const write = (job, text) => appendFileSync('done.txt', [text, process.pid, job.attempts].join(' ') + '\\n');

// Blocks for ever, but yields the processor.
const block = () => {
  for (const cell = new Int32Array(new SharedArrayBuffer(4)); ; ) Atomics.wait(cell, 0, 0, 10);
};

exports.Greet = Job()(class Greet extends Job {
  handle() { write(this, 'hello'); }
});

exports.Exit = Job()(class Exit extends Job {
  handle() {
    write(this, 'exiting');
    process.exit(7);
  }
});

// Leaves a rejected promise: at once, later while it runs, or after it has ended.
const reject = async (ms, text) => {
  await new Promise((resolve) => setTimeout(resolve, ms));
  throw new Error(text);
};

exports.FloatNow = Job()(class FloatNow extends Job {
  async handle() {
    write(this, 'floating');
    void Promise.reject(new Error('left at once'));
  }
});

exports.Float = Job({ tries: 2 })(class Float extends Job {
  async handle() {
    write(this, 'floating');
    void reject(1, 'left behind');
    await new Promise((resolve) => this.signal.addEventListener('abort', resolve));
    write(this, 'aborted:' + this.signal.reason.message.replace(' ', '-'));
  }
});

exports.FloatLate = Job()(class FloatLate extends Job {
  handle() {
    void reject(50, 'left for later');
  }
});

exports.Throw = Job()(class Throw extends Job {
  async handle() {
    write(this, 'throwing');
    await new Promise(() => setTimeout(() => { throw new Error('thrown aside'); }, 1));
  }
});

// A rejection of no job: its promise was made before any job ran.
const bell = new (require('node:events').EventEmitter)();
const rung = new Promise((resolve) => bell.once('ring', resolve)).then(() => { throw new Error('of nobody'); });
exports.Ring = Job()(class Ring extends Job {
  handle() {
    write(this, 'ringing');
    bell.emit('ring');
  }
});

exports.Wait = Job({ tries: 3, timeout: 0 })(class Wait extends Job {
  async handle() {
    write(this, 'waiting');
    while (!existsSync('go')) await new Promise((resolve) => setTimeout(resolve, 10));
    write(this, 'went');
  }
});

exports.Block = Job({ timeout: 0 })(class Block extends Job {
  handle() {
    write(this, 'blocking');
    block();
  }
});

exports.Hang = Job({ timeout: '${meantToPass('200ms')}' })(class Hang extends Job {
  async handle() {
    write(this, 'hanging');
    setInterval(() => undefined, 1000);
    await new Promise(() => undefined);
  }
});

exports.Hog = Job({ timeout: '${meantToPass('200ms')}' })(class Hog extends Job {
  handle() {
    write(this, 'blocking');
    block();
  }
});`;

/** Like npm, it does not pass its own end on to the process it started. */
const NPM = `const { spawn } = require('node:child_process');
spawn(process.execPath, [...process.execArgv, ...process.argv.slice(2)], { stdio: 'inherit' });`;

export class JobProject extends Project {
  readonly #children: ChildCommand[] = [];
  readonly #frozen: number[] = [];

  /** @param retryAfter seconds after which a dead process's job runs again */
  constructor(retryAfter = meantToPass(1)) {
    super({ 'onqueue.config.js': configuration(retryAfter), 'jobs.js': JOBS, 'npm.js': NPM });
  }

  onqueue(line: readonly string[], options: CommandOptions = {}): ChildCommand {
    const child = command(this.folder, line, options);
    this.#children.push(child);
    return child;
  }

  /** Runs `onqueue …` below a process that plays npm, and returns that process. */
  underNpm(line: readonly string[]): ChildCommand {
    const child = new ChildCommand(this.folder, ['npm.js', BIN, ...line], { variables: { npm_command: 'exec' } });
    this.#children.push(child);
    return child;
  }

  async dispatch(...jobs: readonly string[]): Promise<void> {
    for (const job of jobs) await this.push(job);
  }

  /** The lines that jobs have written. */
  get lines(): { readonly text: string; readonly pid: number; readonly attempt: number }[] {
    const lines = this.read('done.txt').split('\n').slice(0, -1);
    return lines.map((line) => {
      const [text = '', pid, attempt] = line.split(' ');
      return { text, pid: Number(pid), attempt: Number(attempt) };
    });
  }

  /** The process of the `count`-th job that wrote this text. */
  async pidOf(text: string, count = 1): Promise<number> {
    const written = (): number | undefined => this.lines.filter((line) => line.text === text)[count - 1]?.pid;
    return (await eventually(written, { of: `line ${count} with "${text}"` })) ?? 0;
  }

  /** Suspends a process: it does nothing and receives no other signals until SIGCONT. */
  freeze(pid: number): void {
    this.#frozen.push(pid);
    process.kill(pid, 'SIGSTOP');
  }

  async end(): Promise<void> {
    // A frozen process does not notice that its parent is gone.
    for (const pid of this.#frozen) if (isAlive(pid)) process.kill(pid, 'SIGKILL');
    await Promise.all(this.#children.map((child) => child.end()));
    this.remove();
  }
}
