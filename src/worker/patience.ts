/** Waits for hooks and `failed()`, but not for ever: one that never comes back must not keep a slot of the worker. */
import type { Seconds } from '../base/clock';
import type { Application } from '../application/application';
import { Deadline, Deadlines } from './deadlines';
import { CallbackTimedOutError } from './errors';
import type { RunningJob } from './running-job';

export class Patience {
  readonly #application: Application;
  readonly #deadlines: Deadlines;

  constructor(application: Application) {
    this.#application = application;
    this.#deadlines = new Deadlines(application.clock);
  }

  /**
   * Resolves when `call` is done, or has taken so long that it was reported.
   *
   * @param callback what is called, as the report says it: `the hook after`
   * @param call never rejects; what it throws, however late, it has reported itself
   * @param limit 0: none
   */
  async while(job: RunningJob, callback: string, call: Promise<void>, limit: Seconds): Promise<void> {
    if (limit === 0) return call;
    const deadline = new Deadline();
    const late = new Promise<void>((resolve) => {
      this.#deadlines.set(deadline, limit * 1000, () => {
        const error = new CallbackTimedOutError(callback, job.name, job.id, limit);
        this.#application.report(error, { job, during: callback });
        resolve();
      });
    });
    await Promise.race([call, late]);
    this.#deadlines.remove(deadline);
  }

  /** Leaves no timer behind. */
  close(): void {
    this.#deadlines.close();
  }
}
