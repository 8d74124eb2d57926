/** What can go wrong with a lock. */
import { OnqueueError } from '../../base/onqueue-error';

/** The lock was held by somebody else for as long as one wanted to wait. */
export class LockTimeoutError extends OnqueueError<{ readonly lock: string; readonly waited: number }> {
  readonly code = 'E_LOCK_TIMEOUT';

  constructor(lock: string, waited: number) {
    super(
      `The lock '${lock}' was not free within ${waited} s; somebody else holds it. Wait longer, or come back later.`,
      { lock, waited },
    );
  }
}

/** A lock needs a name, and a time after which it is free whatever became of its holder. */
export class InvalidLockError extends OnqueueError<{ readonly lock: unknown; readonly ttl: unknown }> {
  readonly code = 'E_INVALID_LOCK';

  constructor(lock: unknown, ttl: unknown, problem: string) {
    super(`Queue.lock(${JSON.stringify(lock)}, ${JSON.stringify(ttl)}): ${problem}.`, { lock, ttl });
  }
}
