/**
 * The connection that keeps nothing: a push runs the job at once, through the worker's own executor, in one attempt.
 *
 * The payload is encoded and decoded as for any store, so that a job cannot work here and break there.
 */
import { noCounters, withCounters } from '../../payload/counters';
import { runFor } from '../application';
import { Executor } from '../../worker/run';
import { tellEnded } from '../../worker/announcer';
import { keepEndOf } from '../../worker/settler';
import type { Outcome } from '../../worker/outcome';
import { RunningJob } from '../../worker/running-job';
import { STORELESS, type ConnectorContext } from '../driver';
import type { Diagnosis, Entry, SyncRunner } from '../contract';
import { StorelessConnection } from '../kit/connection';
import { sendOnward } from '../entries';

export class SyncConnection extends StorelessConnection implements SyncRunner {
  readonly driver = 'sync';
  readonly address = 'sync (in this process, at once)';
  readonly capabilities = STORELESS.capabilities;
  readonly #context: ConnectorContext;
  readonly #executor: Executor;

  constructor(context: ConnectorContext) {
    super(context.name);
    this.#context = context;
    this.#executor = new Executor(context.manager, { defaults: {}, grace: 0, single: true });
  }

  /** Runs each entry in turn; a delay is ignored, as in Laravel. @throws what a job failed with */
  async push(queue: string, entries: readonly Entry[]): Promise<void> {
    for (const { payload } of entries) await this.run(queue, payload);
  }

  run(queue: string, payload: string): Promise<unknown> {
    return runFor(this.#context.manager, () => this.#run(queue, payload));
  }

  async #run(queue: string, payload: string): Promise<unknown> {
    const counters = { ...noCounters, attempts: 1 };
    const reservation = { queue, payload: withCounters(Buffer.from(payload), counters), counters, token: undefined };
    const { manager } = this.#context;
    const job = new RunningJob(reservation, this.name, manager);
    job.isAtOnce = true;
    const outcome = await this.#executor.run(job);
    await this.#keepEnd(job, outcome);
    if (manager.observers.size > 0) tellEnded(manager, this.name, { job, outcome }, 'settled');
    await this.#executor.announcer.announce(job, outcome);
    await this.#follow(job, outcome);
    if (outcome.error !== undefined) throw outcome.error;
    if (outcome.settlement.outcome === 'released') {
      const { length } = job.links;
      const rest = length === 0 ? '' : ` The ${length} jobs that follow it are not run.`;
      this.#context.logger.warn(
        { job: job.name, id: job.id, connection: this.name, queue },
        `${job.name} released itself, which does nothing on the connection '${this.name}': it cannot run later.${rest}`,
      );
    }
    return job.value;
  }

  // The job has run, even if its result cannot be kept.
  async #keepEnd(job: RunningJob, outcome: Outcome): Promise<void> {
    const { manager } = this.#context;
    try {
      await keepEndOf(manager, job, outcome);
    } catch (error) {
      manager.report(error, { job, during: `keeping the result of ${job.name}` });
    }
  }

  /** @throws what the job that follows fails with */
  async #follow(job: RunningJob, { onward = [], error: failure }: Outcome): Promise<void> {
    const { manager } = this.#context;
    try {
      for (const next of onward) {
        const entry = await sendOnward(manager, next);
        await this.#executor.announcer.tellQueued(job, next, entry);
      }
    } catch (error) {
      if (failure === undefined) throw error;
      // The dispatch fails with the job's own error.
      manager.report(error, { job, during: `what the failure of ${job.name} sends` });
    }
  }

  async diagnose(): Promise<readonly Diagnosis[]> {
    return [{ level: 'ok', subject: this.name, message: 'runs jobs at once, in the process that dispatches' }];
  }

  protected async end(): Promise<void> {
    this.#executor.close();
  }
}
