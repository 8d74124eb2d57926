/** `this.job.batch`: the batch of a running job, and the jobs that it adds to it. */
import type { Application, BatchReference } from '../connections/application';
import type { Onward } from '../connections/entries';
import type { BatchMember, BatchSource } from '../job/batch';
import { invalidBatch } from '../job/errors';
import type { JobBatch } from '../job/job-context';
import type { RunningJob } from './running-job';

export class RunningBatch implements JobBatch {
  readonly id: string;
  readonly connection: string;
  /** The added jobs, sent when the job succeeds. */
  readonly added: Onward[] = [];
  readonly #job: RunningJob;
  readonly #reference: BatchReference;
  readonly #application: Application;

  constructor(job: RunningJob, reference: BatchReference, application: Application) {
    this.id = reference.id;
    this.connection = reference.connection;
    this.#job = job;
    this.#reference = reference;
    this.#application = application;
  }

  // Encoded right away, so that an error's stack shows the caller.
  add(jobs: Iterable<BatchMember>): void {
    // This job's outcome does not count in the batch, so it cannot keep the batch open.
    if (this.#job.tie === undefined)
      throw invalidBatch(jobs, 'a job that the batch has sent adds to it by addNow(): add() is for its members.');
    if (this.#job.closed) return;
    for (const member of this.#application.batchMembers(this.#reference, jobs)) this.added.push(member);
  }

  async addNow(jobs: BatchSource): Promise<number> {
    return this.#application.addToBatch(this.#reference, jobs);
  }

  async cancel(): Promise<boolean> {
    const { id, connection, queue } = this.#reference;
    return (await this.#application.driver(connection).batches?.cancel(id, queue)) ?? false;
  }
}
