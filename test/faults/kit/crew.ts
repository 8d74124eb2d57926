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

export class Crew {
  readonly #stage: Stage;
  readonly #options: WorkerOptions;
  readonly #workers: WorkerProcess[];

  constructor(stage: Stage, size: number, options: WorkerOptions) {
    this.#stage = stage;
    this.#options = options;
    this.#workers = Array.from({ length: size }, () => stage.hire(options));
  }

  /** Kills one that runs something once so many runs are done, or whichever where `isOver` tells that no more come. */
  async killOne(done: number, isOver = (): boolean => false): Promise<Kill> {
    // Not one in turn: on a busy machine the others may have done all before it is up.
    const running = (): WorkerProcess | undefined => this.#workers.find((worker) => this.#runs(worker));
    const victim = (await eventually(
      () => (isOver() ? this.#workers[0] : this.#stage.ledger.count('done') >= done && running()),
      { of: 'a worker in the middle of a job' },
    )) as WorkerProcess;
    this.#stage.disturbed.add(victim.pid);
    await victim.kill();
    this.#workers.splice(this.#workers.indexOf(victim), 1, this.#stage.hire(this.#options));
    return { pid: victim.pid, at: Date.now() };
  }

  #runs({ pid }: WorkerProcess): boolean {
    return this.#stage.ledger.lines.findLast((line) => line.pid === pid)?.event === 'started';
  }
}
