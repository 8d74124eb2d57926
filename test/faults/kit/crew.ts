/** Workers of a stage that are killed with SIGKILL one after another while they run jobs, and replaced. */
import { sleep, systemClock, type Milliseconds } from '../../../src/base/clock';
import type { WorkerOptions } from '../../../src/worker/worker-options';
import { eventually } from '../../support/eventually';
import { Take } from './programs/jobs';
import type { LedgerLine } from './ledger';
import type { Stage } from './stage';
import type { WorkerProcess } from './worker-process';

export interface Kill {
  readonly pid: number;
  readonly at: Milliseconds;
}

export interface Supply {
  readonly isOver?: () => boolean;
  readonly feed?: () => Promise<unknown>;
}

export class Crew {
  readonly #stage: Stage;
  readonly #options: WorkerOptions;
  readonly #workers: WorkerProcess[];

  constructor(stage: Stage, size: number, options: WorkerOptions) {
    this.#stage = stage;
    this.#options = options;
    this.#workers = Array.from({ length: size }, () => stage.hire(options));
  }

  /**
   * Kills a worker that runs a job once `done` runs are done, or any worker if `isOver` says that no more will come. On a
   * busy machine all jobs may be done before the kill, and `feed` then dispatches more.
   */
  async killOne(done: number, { isOver, feed }: Supply = {}): Promise<Kill> {
    const victim = await eventually(
      async () => {
        if (isOver?.() === true) return this.#workers[0];
        if (this.#stage.ledger.count('done') < done) return undefined;
        // Any busy worker, not each in turn: the others may have done all jobs before a new one is up.
        const running = this.#workers.find((worker) => this.#runs(worker));
        if (running === undefined && (await this.#stage.manager.connection().size()) === 0) await feed?.();
        return running;
      },
      { of: 'a worker in the middle of a job' },
    );
    if (victim === undefined) throw new Error('nobody works');
    this.#stage.disturbed.add(victim.pid);
    await victim.kill();
    this.#workers.splice(this.#workers.indexOf(victim), 1, this.#stage.hire(this.#options));
    return { pid: victim.pid, at: Date.now() };
  }

  /** Freezes a worker that runs a job for so long, and lets it go on unaware. */
  async freezeOne(milliseconds: Milliseconds, feed: () => Promise<unknown>): Promise<void> {
    const victim = await eventually(
      async () => {
        const running = this.#workers.find((worker) => this.#runs(worker));
        if (running === undefined) {
          await feed();
          return undefined;
        }
        running.freeze();
        // A process frozen during a write keeps a SQLite file locked for everybody.
        if (await this.#stage.tryDispatch([new Take(0)])) return running;
        running.thaw();
        return undefined;
      },
      { of: 'a worker in the middle of a job' },
    );
    if (victim === undefined) throw new Error('nobody works');
    this.#stage.disturbed.add(victim.pid);
    await sleep(systemClock, milliseconds);
    victim.thaw();
  }

  #runs({ pid }: WorkerProcess): boolean {
    const isOf = (line: LedgerLine): boolean => line.pid === pid && line.event !== 'logged';
    return this.#stage.ledger.lines.findLast(isOf)?.event === 'started';
  }
}
