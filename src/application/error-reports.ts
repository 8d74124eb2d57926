/** Where errors go that nobody awaits: to the callbacks of `Queue.onError`, or to the log if there are none. */
import { AsyncLocalStorage } from 'node:async_hooks';
import { checkHook } from '../job/hooks';
import { errorRecord, errorMessage, toError } from '../base/exception-text';
import type { Logger } from '../base/logger';
import type { ErrorContext } from '../connections/application';

/** May be async. Its own errors are logged. */
export type ErrorCallback = (error: unknown, context: ErrorContext) => unknown;

/** The reports whose callbacks the current code runs in. */
const telling = new AsyncLocalStorage<ReadonlySet<ErrorReports>>();

export class ErrorReports {
  readonly #callbacks = new Set<ErrorCallback>();
  readonly #logger: Logger;

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  get areHeard(): boolean {
    return this.#callbacks.size > 0;
  }

  /** Returns the function that removes the callback. @throws E_INVALID_HOOK */
  on(callback: ErrorCallback): () => void {
    checkHook('onError', callback);
    this.#callbacks.add(callback);
    return () => void this.#callbacks.delete(callback);
  }

  /** Never throws. */
  report(error: unknown, context: ErrorContext): void {
    const told = telling.getStore() ?? new Set();
    // A callback may dispatch, and that may fail too: if it were told, it might dispatch again, for ever.
    if (!this.areHeard || told.has(this)) return this.#log(error, context);
    telling.run(new Set(told).add(this), () => {
      for (const callback of this.#callbacks) void this.#tell(callback, error, context);
    });
  }

  async #tell(callback: ErrorCallback, error: unknown, context: ErrorContext): Promise<void> {
    try {
      await callback(error, context);
    } catch (thrown) {
      this.#log(error, context);
      this.#log(thrown, { during: 'Queue.onError' });
    }
  }

  // Does not log the error itself: its fields may be a request with its headers, or have cycles that no logger can print.
  #log(thrown: unknown, { during, job, ...rest }: ErrorContext): void {
    const error = toError(thrown);
    const message = errorMessage(error);
    const err = errorRecord(error);
    this.#logger.error(
      { err, ...rest, ...(job !== undefined && { job: job.name, id: job.id }) },
      `${during}: ${message}`,
    );
  }
}
