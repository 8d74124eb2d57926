/** What can go wrong with a dispatch. */
import { OnqueueError } from '../base/onqueue-error';

/** A builder call came after the job was sent; it would have changed nothing. */
export class AlreadyDispatchedError extends OnqueueError<{ readonly job: string; readonly call: string }> {
  readonly code = 'E_ALREADY_DISPATCHED';

  constructor(job: string, call: string, awaited: boolean) {
    super(
      `This ${job} was already sent${awaited ? '' : ' (it was not awaited)'}; call ${call}() before the first await.`,
      { job, call },
    );
  }
}

/** A dispatch that nobody awaited failed; the cause says why. Becomes an unhandled rejection. */
export class UnawaitedDispatchError extends OnqueueError<{ readonly job: string }> {
  readonly code = 'E_UNAWAITED_DISPATCH';

  /** @param callers the lines of a stack that lead to the dispatch, where they are known */
  constructor(job: string, options: { cause: unknown }, callers = '') {
    const { cause } = options;
    super(
      `${job} could not be dispatched, and nobody awaited it: ${cause instanceof Error ? cause.message : String(cause)} ` +
        '— await it, or set Queue.onError.',
      { job },
      options,
    );
    if (callers !== '') this.stack = `${this.name}: ${this.message}\n${callers}`;
  }
}

/** `Bus.dispatch` was given an object that is no job, and knows no handler for it. */
export class UnmappedCommandError extends OnqueueError<{ readonly command: string }> {
  readonly code = 'E_UNMAPPED_COMMAND';

  constructor(command: string) {
    super(
      `${command} is no job, and no handler is mapped to it. Decorate the class with @Job(), or call ` +
        `Bus.map([[${command}, ItsHandler]]) first.`,
      { command },
    );
  }
}

/** `this.release()` in a job that was run by `dispatchNow`: it came from no queue. */
export class NotQueuedError extends OnqueueError<{ readonly job: string }> {
  readonly code = 'E_NOT_QUEUED';

  constructor(job: string) {
    super(
      `${job} runs in place (dispatchNow) and came from no queue, so it cannot be released. Dispatch it to a queue.`,
      { job },
    );
  }
}

/** `this.fail('…')` in a job that was run by `dispatchNow`. */
export class FailedInPlaceError extends OnqueueError<{ readonly job: string }> {
  readonly code = 'E_FAILED_IN_PLACE';

  constructor(job: string, message: string | undefined) {
    super(message ?? `${job} failed itself, by fail() without an error.`, { job });
  }
}

/** `dispatchNow` of an instance that runs already: each run would take `this.job` from the other. */
export class AlreadyRunningError extends OnqueueError<{ readonly job: string }> {
  readonly code = 'E_ALREADY_RUNNING';

  constructor(job: string) {
    super(`This very ${job} runs already, and its this.job can be of one run alone. Make a new ${job} for each run.`, {
      job,
    });
  }
}
