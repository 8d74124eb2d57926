/** What the `sync` driver can do besides a connection's duties: return the value of `handle`. */
import type { Connection } from './contract';

export interface SyncRunner {
  /** Runs the payload at once, in one attempt. Resolves with `handle`'s value, or rejects with the job's error. */
  run(queue: string, payload: string): Promise<unknown>;
}

export function isSyncRunner(connection: Connection): connection is Connection & SyncRunner {
  return 'run' in connection && typeof connection.run === 'function';
}
