/** What can go wrong with failed jobs. */
import { OnqueueError } from '../errors/onqueue-error';

/** No connection of the configuration keeps failed jobs. */
export class NoFailedStoreError extends OnqueueError<{ readonly connections: readonly string[] }> {
  readonly code = 'E_NO_FAILED_STORE';

  constructor(connections: readonly string[]) {
    super(
      `None of the connections ${connections.join(', ')} keeps failed jobs. Name one that does, such as one of driver ` +
        '`redis` or `database`, as `failed` in the configuration.',
      { connections },
    );
  }
}

export interface LeftBehind {
  readonly id: string;
  readonly reason: string;
}

/** `retry('all')` went through all failed jobs, and could not send some of them back. */
export class RetryIncompleteError extends OnqueueError<{
  readonly retried: number;
  readonly left: readonly LeftBehind[];
}> {
  readonly code = 'E_RETRY_INCOMPLETE';

  constructor(retried: number, left: readonly LeftBehind[], options: { cause: unknown }) {
    super(
      `${retried} failed jobs were sent back, ${left.length} could not be and stay as they are. The first of them is ` +
        `${left[0]?.id}: ${left[0]?.reason}`,
      { retried, left },
      options,
    );
  }
}
