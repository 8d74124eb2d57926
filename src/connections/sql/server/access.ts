/** How the parts of a connection reach its server: open, migrated, and within the deadline. */
import type { Purpose } from './server-caller';
import type { SqlSession } from './sql-session';

/**
 * @param operation for errors: `failed.list`
 * @throws ConnectionClosedError, and what `ServerCaller.run` throws
 */
export type Access = <T>(operation: string, purpose: Purpose, work: (session: SqlSession) => Promise<T>) => Promise<T>;
