/** What can go wrong with what was to follow a commit. */
import { OnqueueError } from '../../base/onqueue-error';
import { sentence } from '../../base/plain-text';

/** A job that was dispatched with `afterCommit()`. */
export interface CommittedJob {
  /** Empty where the job pushes itself. */
  readonly id: string;
  readonly name: string;
  readonly connection: string;
  readonly queue: string;
}

const MOST_NAMED = 5;

export interface CommitFacts {
  readonly sent: readonly CommittedJob[];
  /** They ran at once, on `sync`, and failed: `resend` leaves them alone. */
  readonly failed: readonly CommittedJob[];
  /** One whose answer was lost may be queued all the same: the causes say so. */
  readonly unsent: readonly CommittedJob[];
}

/** The function of `Queue.transaction()` is done, but not all jobs that were to follow it are queued, or have run on `sync`. */
export class AfterCommitError extends OnqueueError<CommitFacts> {
  readonly code = 'E_AFTER_COMMIT';
  readonly #result: unknown;
  readonly #send: () => Promise<void>;
  #resending: Promise<void> | undefined;

  constructor(facts: CommitFacts, errors: readonly unknown[], result: unknown, send: () => Promise<void>) {
    const { sent, failed, unsent } = facts;
    const problems = [
      ...(unsent.length > 0
        ? [`${unsent.length} ${unsent.length === 1 ? 'was' : 'were'} not queued (${namesOf(unsent)})`]
        : []),
      ...(failed.length > 0 ? [`${failed.length} ran at once and failed (${namesOf(failed)})`] : []),
    ];
    const messages = new Set(errors.map((error) => sentence(error instanceof Error ? error.message : String(error))));
    const remedy = unsent.length > 0 ? 'error.resend() sends again what was not queued, and ' : '';
    super(
      `The function of Queue.transaction() is done, and stays so; of the ${sent.length + failed.length + unsent.length} jobs ` +
        `that were to follow it, ${problems.join(', and ')}: ${[...messages].join(' ')} ${remedy}error.result is what the ` +
        'function gave.',
      facts,
      { cause: errors.length === 1 ? errors[0] : new AggregateError(errors) },
    );
    this.#result = result;
    this.#send = send;
  }

  /** What the function gave. Not printed with the error. */
  get result(): unknown {
    return this.#result;
  }

  /**
   * Sends what was not sent once more, with the same ids; once, however often it is called.
   *
   * @throws AfterCommitError of what is still not sent, with a `resend` of its own
   */
  resend(): Promise<void> {
    return (this.#resending ??= this.#send());
  }
}

function namesOf(jobs: readonly CommittedJob[]): string {
  const names = jobs.slice(0, MOST_NAMED).map(({ name, id }) => (id === '' ? name : `${name} ${id}`));
  return names.join(', ') + (jobs.length > MOST_NAMED ? `, and ${jobs.length - MOST_NAMED} more` : '');
}

/** A job came with `afterCommit()` when its transaction had been rolled back already. */
export class RolledBackError extends OnqueueError<{ readonly jobs: readonly string[] }> {
  readonly code = 'E_ROLLED_BACK';

  constructor(jobs: readonly string[]) {
    super(
      `${jobs.join(', ')} was to follow a Queue.transaction() that had been rolled back already, and was not sent. Await in ` +
        'its function all that it begins; leave afterCommit() out where a job is to be sent in any case.',
      { jobs },
    );
  }
}
