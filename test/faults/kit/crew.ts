/** Workers of a stage, of which one after another is killed by -9 while it runs something; another takes its place. */
import type { Milliseconds } from '../../../src/base/clock';
import type { WorkerOptions } from '../../../src/worker/worker-options';
import { eventually } from '../../support/eventually';
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
   * Kills one that runs something once so many runs are done, or whichever where `isOver` tells that no more come. On a
   * busy machine all may be done before anybody looks: then `feed` has some more to run.
   */
  async killOne(done: number, { isOver, feed }: Supply = {}): Promise<Kill> {
    const victim = await eventually(
      async () => {
        if (isOver?.() === true) return this.#workers[0];
        if (this.#stage.ledger.count('done') < done) return undefined;
        // Not one in turn: the others may have done all before it is up.
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

  #runs({ pid }: WorkerProcess): boolean {
    return this.#stage.ledger.lines.findLast((line) => line.pid === pid)?.event === 'started';
  }
}
