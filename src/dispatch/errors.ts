/** What can go wrong with a dispatch. */
import { defineError, errorClass } from '../base/define-error';

/** A builder call came after the job was sent; it would have changed nothing. */
export class AlreadyDispatchedError extends errorClass(
  'E_ALREADY_DISPATCHED',
  (job: string, call: string, awaited: boolean) => ({
    message: `This ${job} was already sent${awaited ? '' : ' (it was not awaited)'}; call ${call}() before the first await.`,
    facts: { job, call },
  }),
) {}

/** Becomes an unhandled rejection. */
export const unawaitedDispatch = defineError('E_UNAWAITED_DISPATCH', (job: string, cause: unknown) => ({
  message:
    `${job} could not be dispatched, and nobody awaited it: ${cause instanceof Error ? cause.message : String(cause)} ` +
    '— await it, or set Queue.onError.',
  facts: { job },
  cause,
}));

export const unmappedCommand = defineError('E_UNMAPPED_COMMAND', (command: string) => ({
  message:
    `${command} is no job, and no handler is mapped to it. Decorate the class with @Job(), or call ` +
    `Bus.map([[${command}, ItsHandler]]) first.`,
  facts: { command },
}));

/** `this.release()` under `dispatchNow`. */
export const notQueued = defineError('E_NOT_QUEUED', (job: string) => ({
  message: `${job} runs in place (dispatchNow) and came from no queue, so it cannot be released. Dispatch it to a queue.`,
  facts: { job },
}));

/** `this.fail('…')` under `dispatchNow`. */
export const failedInPlace = defineError('E_FAILED_IN_PLACE', (job: string, message: string | undefined) => ({
  message: message ?? `${job} failed itself, by fail() without an error.`,
  facts: { job },
}));

/** `dispatchNow` of an instance that runs already: each run would take `this.job` from the other. */
export const alreadyRunning = defineError('E_ALREADY_RUNNING', (job: string) => ({
  message: `This ${job} is already running, and its this.job can belong to one run only. Make a new ${job} for each run.`,
  facts: { job },
}));
