/** Tells a job, the hooks and the observers how its run ended. Gives each of them no more time than the job itself may take. */
import { Deadline, type Deadlines, type Milliseconds } from '../base/clock';
import { toError } from '../base/exception-text';
import { callFrom } from '../container/scope';
import type { HookEvents, HookName } from '../job/hooks';
import { NOTHING_CHOSEN, type WorkerDefaults } from '../job/options';
import { resolveRun } from '../job/resolve-options';
import type { EntityHolder } from '../payload/entities';
import { decodeJob } from '../payload/envelope';
import { tellObservers, type Application, type EndedRun } from '../connections/application';
import type { Entry, FollowUp, SettleResult } from '../connections/contract';
import { followUpEvent, type FollowUpPlace } from '../connections/entries';
import { readyAtOf } from '../payload/uuid';
import { keptCheckpoints } from '../job/resolve-options';
import { dropCheckpoints, type Checkpoints } from '../operations/checkpoints';
import { isOver, storeNow, type Finished, type Outcome } from './outcome';
import { callbackTimedOut } from './errors';
import { callFailed } from './handler';
import type { RunningJob } from './running-job';

export class Announcer {
  readonly #application: Application;
  readonly #defaults: WorkerDefaults;
  readonly #caller: object | undefined;
  readonly #deadlines: Deadlines;

  /** @param caller the worker, which waits for the hooks; undefined: only whoever waits for the run does */
  constructor(application: Application, defaults: WorkerDefaults, deadlines: Deadlines, caller?: object) {
    this.#application = application;
    this.#defaults = defaults;
    this.#caller = caller;
    this.#deadlines = deadlines;
  }

  /**
   * To be called once the store has confirmed the outcome. Tells of the jobs that follow, then calls `failed()`, then the
   * hooks. Never throws or rejects.
   *
   * Undefined if everybody has been told already.
   */
  announce(job: RunningJob, outcome: Outcome): Promise<void> | undefined {
    const { settlement } = outcome;
    const queued =
      'next' in settlement && settlement.next !== undefined ? this.#tellNext(job, settlement.next) : undefined;
    const forgotten = (job.kept !== undefined || job.fence > 1) && isOver(outcome) ? this.#forgotten(job) : undefined;
    const first =
      queued === undefined ? forgotten : forgotten === undefined ? queued : Promise.all([queued, forgotten]);
    const told = first === undefined ? this.#announce(job, outcome) : first.then(() => this.#announce(job, outcome));
    const isAttempt = job.handler !== 'not-called' && this.#application.hooks.hears.attempted;
    if (!isAttempt) return told;
    const { connectionName } = job;
    const exception = outcome.error ?? outcome.reason;
    const tell = (): Promise<void> | undefined => this.tell(job, 'attempted', { connectionName, job, exception });
    return told === undefined ? tell() : told.then(tell);
  }

  /** The job that follows is in its queue. */
  tellQueued(job: RunningJob, to: FollowUpPlace, entry: Entry): Promise<void> | undefined {
    const event = this.#application.hooks.hears.queued ? followUpEvent(to, entry) : undefined;
    return event && this.tell(job, 'queued', event);
  }

  /** The store refused the outcome: somebody else has the job, or it is gone. */
  announceLost(job: RunningJob, { settlement }: Outcome): Promise<void> | undefined {
    return this.tell(job, 'lost', { connectionName: job.connectionName, job, outcome: settlement.outcome });
  }

  /** Undefined if the hook has no listeners or none of them is async: then there is nothing to wait for. */
  tell<Name extends HookName>(job: RunningJob, hook: Name, event: HookEvents[Name]): Promise<void> | undefined {
    const { hooks } = this.#application;
    if (!hooks.hears[hook]) return undefined;
    const told = this.#call(() => hooks.emit(hook, event));
    return told && this.#within(job, `the hook ${hook}`, told);
  }

  /** Undefined if the job keeps no steps. */
  #forgotten(job: RunningJob): Promise<void> | undefined {
    if (job.kept !== undefined) return this.#forget(job, job.kept);
    // It ended without a run, but an earlier one may have kept some.
    if (keptCheckpoints(job.definition) === undefined) return undefined;
    return dropCheckpoints(this.#application, job.connectionName, [job.id]);
  }

  async #forget(job: RunningJob, kept: Checkpoints): Promise<void> {
    try {
      await kept.forget();
    } catch (error) {
      this.#application.report(error, { job, during: `removing the steps of ${job.name}` });
    }
  }

  #tellNext(job: RunningJob, next: readonly FollowUp[]): Promise<void> | undefined {
    const { connectionName: connection } = job;
    let told: Promise<void> | undefined;
    for (const { queue, entry } of next) {
      const tell = (): Promise<void> | undefined => this.tellQueued(job, { connection, queue }, entry);
      told = told === undefined ? tell() : told.then(tell);
    }
    return told;
  }

  #announce(job: RunningJob, { settlement, error, reason, cancelReason }: Outcome): Promise<void> | undefined {
    const { connectionName } = job;
    if (settlement.outcome === 'completed') return this.tell(job, 'after', { connectionName, job });
    if (settlement.outcome === 'failed') return error === undefined ? undefined : this.#failed(job, error);
    if (settlement.outcome === 'cancelled') {
      return this.tell(job, 'cancelled', { connectionName, job, reason: cancelReason });
    }
    const { delay } = settlement;
    return this.tell(job, 'released', { connectionName, job, delay, exception: error ?? reason });
  }

  async #failed(job: RunningJob, error: Error): Promise<void> {
    await this.#within(job, 'failed()', this.#callFailed(job, error));
    await this.tell(job, 'failing', { connectionName: job.connectionName, job, exception: error });
  }

  #call<Result>(call: () => Result): Result {
    return this.#caller === undefined ? call() : callFrom(this.#caller, call);
  }

  // On a fresh instance: the failed run may have changed the old one, so that it is no longer what was dispatched.
  async #callFailed(job: RunningJob, error: Error): Promise<void> {
    const { envelope, definition } = job;
    if (envelope === undefined || definition === undefined) return;
    const { registry, vault } = this.#application;
    try {
      const decode = (holder: EntityHolder): object | undefined =>
        freshInstance(() => decodeJob(envelope, definition, registry, vault, holder), error);
      await this.#call(() => callFailed(job, definition, decode, error));
    } catch (thrown) {
      this.#application.report(thrown, { job, during: `failed() of ${job.name}` });
    }
  }

  /**
   * Resolves when `call` is done, or has taken so long that it was reported: a callback that never returns must not keep a
   * slot.
   *
   * @param callback the callback's name in the report: `the hook after`
   * @param call never rejects: it reports its own errors, however late
   */
  async #within(job: RunningJob, callback: string, call: Promise<void>): Promise<void> {
    const { envelope, definition } = job;
    const payload = envelope?.chosen ?? NOTHING_CHOSEN;
    // A callback may take as long as the job itself. 0: no limit.
    const { timeout: limit } = resolveRun({ payload, definition, worker: this.#defaults });
    if (limit === 0) return call;
    let deadline!: Deadline;
    const late = new Promise<void>((resolve) => {
      deadline = new Deadline(() => {
        const error = callbackTimedOut(callback, job.name, job.id, limit);
        this.#application.report(error, { job, during: callback });
        resolve();
      });
    });
    this.#deadlines.set(deadline, limit * 1000);
    await Promise.race([call, late]);
    this.#deadlines.remove(deadline);
  }
}

/** Shows the observers how a run ended, once the store has confirmed it. @param worker the worker's name */
export function tellEnded(
  application: Application,
  worker: string,
  { job, outcome }: Finished,
  result: SettleResult,
): void {
  const { settlement, error, reason } = outcome;
  const startedAt = storeNow(job, application) - (application.clock.monotonic() - job.startedAt);
  const run: EndedRun = {
    job,
    worker,
    reservation: job.reservation,
    outcome: result === 'lost' ? 'lost' : settlement.outcome,
    error: error ?? reason,
    exception: settlement.outcome === 'failed' ? settlement.failure.exception : undefined,
    isAttempt: job.handler !== 'not-called',
    startedAt,
    took: job.took,
    waited: waitOf(job, startedAt),
  };
  tellObservers(application, job, (observer) => observer.ended?.(run));
}

/** The payload does not tell when a later attempt became ready. */
function waitOf(job: RunningJob, startedAt: Milliseconds): Milliseconds | undefined {
  if (job.fence !== 1 || job.envelope === undefined) return undefined;
  const readyAt = readyAtOf(job.id, job.envelope.readyAt);
  return readyAt === undefined ? undefined : Math.max(0, startedAt - readyAt);
}

// Undefined if decoding fails with the very error that failed the job: everybody knows of it already.
function freshInstance(decode: () => object, failedOf: Error): object | undefined {
  try {
    return decode();
  } catch (thrown) {
    if (toError(thrown).message === failedOf.message) return undefined;
    throw thrown;
  }
}
