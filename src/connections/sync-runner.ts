/** What the `sync` driver can do beside a connection's duties: give the value of `handle`. */
import type { Connection } from './contract';

export interface SyncRunner {
  /** Runs the payload at once, in one attempt; gives `handle`'s value, or rejects with what the job failed with. */
  run(queue: string, payload: string): Promise<unknown>;
}

export function isSyncRunner(connection: Connection): connection is Connection & SyncRunner {
  return 'run' in connection && typeof connection.run === 'function';
}
