/** What can go wrong with what was to follow a commit. */
import { OnqueueError } from '../../errors/onqueue-error';

/** A job that was dispatched with `afterCommit()`. */
export interface CommittedJob {
  /** Empty where the job pushes itself. */
  readonly id: string;
  readonly name: string;
  readonly connection: string;
  readonly queue: string;
}

const MOST_NAMED = 5;

/** The function of `Queue.transaction()` is done, but not all jobs that were to follow it are queued. */
export class AfterCommitError extends OnqueueError<{
  readonly sent: readonly CommittedJob[];
  /** One whose answer was lost may be queued all the same: the causes say so. */
  readonly unsent: readonly CommittedJob[];
}> {
  readonly code = 'E_AFTER_COMMIT';
  readonly #result: unknown;
  readonly #send: () => Promise<void>;
  #resending: Promise<void> | undefined;

  constructor(
    facts: { readonly sent: readonly CommittedJob[]; readonly unsent: readonly CommittedJob[] },
    errors: readonly unknown[],
    result: unknown,
    send: () => Promise<void>,
  ) {
    const { sent, unsent } = facts;
    const names = unsent.slice(0, MOST_NAMED).map(({ name, id }) => (id === '' ? name : `${name} ${id}`));
    const rest = unsent.length > MOST_NAMED ? `, and ${unsent.length - MOST_NAMED} more` : '';
    const messages = new Set(errors.map((error) => (error instanceof Error ? error.message : String(error))));
    super(
      `The function of Queue.transaction() is done, and stays so; of the ${sent.length + unsent.length} jobs that were to ` +
        `follow it, ${unsent.length} were not queued (${names.join(', ')}${rest}): ${[...messages].join(' ')} ` +
        'error.resend() sends them again, and error.result is what the function gave.',
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
