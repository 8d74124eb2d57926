/** The jobs that worker processes run. Each writes its start and its end to the ledger. */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, openSync } from 'node:fs';
import { join } from 'node:path';
import { Job, Middleware, rateLimited, withoutOverlapping } from 'onqueue';
import { Transform } from 'class-transformer';
import { note } from './pen';

/** The file with which a test releases stalled jobs. */
export const TOLD = 'told';

/** Timeouts that are meant to pass. This file is copied to where `meantToPass` is not. */
const PASSES = '300ms';

const pause = (milliseconds: number): Promise<void> =>
  new Promise((resolve) => {
    setTimeout(resolve, milliseconds);
  });

/** Blocks the event loop in JavaScript without using the processor. */
function stall(milliseconds: number | 'until told'): void {
  const cell = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
  const end = Date.now() + Number(milliseconds);
  const isOver = (): boolean => (milliseconds === 'until told' ? existsSync(join(__dirname, TOLD)) : Date.now() >= end);
  while (!isOver()) Atomics.wait(cell, 0, 0, 10);
}

/** Blocks in native code for ever, because nothing opens the other end of this pipe. */
function openUnwritten(): void {
  const pipe = join(__dirname, `pipe-${process.pid}`);
  execFileSync('mkfifo', [pipe]);
  openSync(pipe, 'r');
}

/**
 * Takes some time and ignores its signal. Lines that it writes after its lease was lost show what a stale worker would do. Twenty
 * processes that are frozen at once may hold one job three times in a row, and it is not poison.
 */
@Job({ tries: 1, timeout: 0, maxCrashes: 50 })
export class Take extends Job {
  constructor(readonly milliseconds: number) {
    super();
  }

  async handle(): Promise<void> {
    note('started', this);
    if (this.milliseconds > 0) await pause(this.milliseconds);
    note('done', this);
  }
}

/** How many jobs of a lane may be ready or running. */
export const IN_LANE = 3;

/** Like `Take`, in a lane. A hundred kills meet some jobs more than three times, and none of them is poison. */
@Job({ tries: 1, timeout: 0, maxCrashes: 50, lane: { by: (job: InLane) => job.lane, running: IN_LANE } })
export class InLane extends Job {
  constructor(
    readonly milliseconds: number,
    readonly lane: string,
  ) {
    super();
  }

  async handle(): Promise<void> {
    note('started', this);
    await pause(this.milliseconds);
    note('done', this);
  }
}

/** Returns a value that differs for each run. */
@Job({ tries: 1, timeout: 0, keepResult: '1h' })
export class Give extends Job {
  constructor(readonly milliseconds: number) {
    super();
  }

  handle(): { readonly pid: number; readonly at: Date } {
    note('started', this);
    note('done', this);
    return { pid: process.pid, at: new Date(this.milliseconds) };
  }
}

/** Takes some time in its first run, and stops when it is told to, like a good handler. */
@Job({ tries: 1, timeout: 0 })
export class Heed extends Job {
  constructor(readonly milliseconds: number) {
    super();
  }

  async handle(): Promise<void> {
    note('started', this);
    const { signal } = this;
    await new Promise<void>((resolve, reject) => {
      const timer = setTimeout(resolve, this.fence === 1 ? this.milliseconds : 0);
      signal.addEventListener('abort', () => {
        clearTimeout(timer);
        reject(signal.reason as Error);
      });
    });
    note('done', this);
  }
}

/** Writes the real time of its start, whatever its process takes for the time. */
@Job({ tries: 1, timeout: 0, maxCrashes: 50 })
export class Metered extends Job {
  constructor(
    readonly milliseconds: number,
    readonly key?: string,
  ) {
    super();
  }

  middleware() {
    return [this.limit()];
  }

  limit() {
    const { key } = this;
    return key === undefined ? rateLimited('metered', METERED) : withoutOverlapping(key, { wait: '100ms' });
  }

  async handle(): Promise<void> {
    note('started', this, String(performance.timeOrigin + performance.now()));
    await pause(this.milliseconds);
    note('done', this, String(performance.timeOrigin + performance.now()));
  }
}
export const METERED = { allow: 20, every: 3 } as const;

/** With a rate at which thousands of starts take a minute. */
@Job()
export class BrisklyMetered extends Metered {
  override limit() {
    return rateLimited('brisk', BRISKLY_METERED);
  }
}
export const BRISKLY_METERED = { allow: 500, every: 5 } as const;

/** Blocks the event loop, so that not even a renewal can run. */
@Job({ tries: 1, timeout: 0 })
export class Block extends Job {
  constructor(readonly milliseconds: number) {
    super();
  }

  handle(): void {
    note('started', this);
    stall(this.milliseconds);
    note('done', this);
  }
}

/** Blocks the event loop in its first attempt, past its timeout. In native code it does so until the process ends. */
@Job({ tries: 2, backoff: '100ms', timeout: PASSES })
export class Stall extends Job {
  constructor(readonly milliseconds: number | 'native' | 'until told') {
    super();
  }

  handle(): void {
    note('started', this);
    if (this.attempts === 1) this.keepBusy();
    note('done', this);
  }

  keepBusy(): void {
    if (this.milliseconds === 'native') openUnwritten();
    else stall(this.milliseconds);
  }
}

/** The same with failOnTimeout. */
@Job({ failOnTimeout: true })
export class StallForGood extends Stall {}

/** Blocks the event loop while its data are decoded. */
@Job({ tries: 1, timeout: PASSES })
export class StallUnread extends Job {
  @Transform(({ value }) => stall(value as number), { toClassOnly: true })
  milliseconds = 60_000;

  handle(): void {
    note('started', this);
  }
}

/** Freezes its process in its first run, and fails when the process goes on. */
@Job({ tries: 1, timeout: 0 })
export class Freeze extends Job {
  handle(): void {
    note('started', this);
    if (this.fence > 1) return note('done', this);
    process.kill(process.pid, 'SIGSTOP');
    throw new Error('thawed');
  }
}

/** Kills its process. */
@Job({ tries: 1, timeout: 0 })
export class Die extends Job {
  handle(): void {
    note('started', this);
    process.kill(process.pid, 'SIGKILL');
  }
}

/** Throws in its first attempts. */
@Job({ tries: 3, backoff: '200ms', timeout: 0 })
export class Stumble extends Job {
  constructor(readonly times: number) {
    super();
  }

  handle(): void {
    note('started', this);
    if (this.attempts <= this.times) throw new Error(`attempt ${this.attempts} stumbles`);
    note('done', this);
  }
}

/** A link that writes its chain and its number. It may crash often, or some of a hundred kills would make it poison and end its chain. */
@Job({ tries: 1, timeout: 0, maxCrashes: 50 })
export class Link extends Job {
  constructor(
    readonly chain: number,
    readonly place: number,
    readonly milliseconds = 0,
    readonly fails = false,
  ) {
    super();
  }

  async handle(): Promise<void> {
    const which = `${this.chain} ${this.place}`;
    note('started', this, which);
    if (this.milliseconds > 0) await pause(this.milliseconds);
    if (this.fails) throw new Error('it broke');
    note('done', this, which);
  }
}

/** What becomes of a secret in its last attempt, or in its first. */
export type Fate = 'completes' | 'retries' | 'fails' | 'cannot be parsed';

/** Carries a secret, and quotes it wherever it can. */
@Job({
  tries: 2,
  backoff: '50ms',
  timeout: 0,
  maxCrashes: 50,
  encrypted: true,
  checkpoints: true,
  keepResult: '1h',
})
export class Secret extends Job {
  constructor(
    readonly fate: Fate,
    readonly milliseconds: number,
    readonly text: string,
    readonly owners = new Map([[text, new Date(0)]]),
  ) {
    super();
  }

  async handle(): Promise<{ readonly receipt: string }> {
    note('started', this);
    const receipt = await this.step('receipt', () => `receipt of ${this.text}`);
    await this.checkpoint('row', `row of ${this.text}`);
    await pause(this.milliseconds);
    if (this.fate === 'cannot be parsed') JSON.parse(this.text);
    if (this.fate === 'fails' || (this.fate === 'retries' && this.attempts === 1))
      throw new RangeError(`no account for ${this.text}`, { cause: new Error('it said', { cause: this.text }) });
    note('done', this);
    return { receipt };
  }

  failed(error: Error): void {
    throw new Error(`failed() of ${this.text}: ${error.message}`);
  }
}

@Middleware()
export class Tagged {
  constructor(readonly tag: string) {}
  handle(_job: unknown, next: () => Promise<unknown>): Promise<unknown> {
    return next();
  }
}

/** Writes the occurrence of its schedule, and the time of its run by a right clock. */
@Job({ tries: 1, timeout: 0, maxCrashes: 50 })
export class Recur extends Job {
  handle(): void {
    const { schedule, at } = this.job.occurrence!;
    const which = `${schedule} ${at.getTime()} ${Math.round(performance.timeOrigin + performance.now())}`;
    note('started', this, which);
    note('done', this, which);
  }
}

/** A unique job. */
@Job({ tries: 1, timeout: 0, maxCrashes: 50, unique: { by: (job: Only) => job.key } })
export class Only extends Job {
  constructor(
    readonly key: string,
    readonly milliseconds: number,
  ) {
    super();
  }

  async handle(): Promise<void> {
    note('started', this, this.key);
    if (this.milliseconds > 0) await pause(this.milliseconds);
    note('done', this, this.key);
  }
}

/** Carries a text and the digest that it had when it was dispatched. */
@Job({ tries: 2, backoff: '100ms', timeout: 0 })
export class Carry extends Job {
  constructor(
    readonly text: string,
    readonly digest: string,
  ) {
    super();
  }

  handle(): void {
    note('started', this);
    if (digestOf(this.text) !== this.digest) this.fail('the text is not the one that was sent');
    else if (this.attempts === 1) throw new Error('once more');
    else note('done', this);
  }
}

export const digestOf = (text: string): string => createHash('sha256').update(text).digest('hex');

/** Five steps with a list of rows between them. Says which step it runs, from which row it goes on, and each row. */
@Job({ tries: 1, timeout: 0, maxCrashes: 0, checkpoints: true })
export class Resume extends Job {
  constructor(
    readonly rows: number,
    readonly milliseconds: number,
  ) {
    super();
  }

  async handle(): Promise<void> {
    note('started', this);
    for (const name of ['1', '2']) await doStep(this, name);
    const from = this.checkpointed<number>('rows') ?? 0;
    note('said', this, `from ${from}`);
    for (let row = from + 1; row <= this.rows; row += 1) {
      await pause(this.milliseconds);
      note('said', this, `row ${row}`);
      await this.checkpoint('rows', row);
    }
    for (const name of ['3', '4', '5']) await doStep(this, name);
    note('done', this);
  }
}

async function doStep(job: Resume, name: string): Promise<void> {
  await job.step(name, async () => {
    note('said', job, `step ${name}`);
    await pause(job.milliseconds);
    note('said', job, `end ${name}`);
  });
}
