/** The module that another thread opens the same file with; see `ThreadAccess`. */
import { type Seconds, systemClock } from '../../../base/clock';
import { silentLogger } from '../../../base/console-logger';
import type { StoreThread } from '../../contract';
import { SqliteConnection, type SqliteOptions } from './sqlite-connection';

export type ThreadData = Omit<SqliteOptions, 'clock' | 'logger'>;

/** What it has to say, it says by errors. */
export function open(data: ThreadData, deadline: Seconds): StoreThread {
  const least = Math.min(data.deadline, deadline);
  return new SqliteConnection({ ...data, deadline: least, clock: systemClock, logger: silentLogger });
}
