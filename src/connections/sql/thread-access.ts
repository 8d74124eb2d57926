/** What another thread needs to open the same tables; see `ThreadAccess`. */
import type { DatabaseConfig } from './driver';
import { threadModule } from '../../base/environment';
import type { ThreadAccess } from '../contract';
import type { OpenContext } from './database-connection';

export interface ThreadData
  extends Pick<DatabaseConfig, 'url' | 'options'>, Pick<OpenContext, 'name' | 'table' | 'deadline' | 'origin'> {}

/** Undefined if it cannot be copied to another thread. */
export function threadAccessOf(
  { url, options, pool }: DatabaseConfig,
  { name, table, deadline, origin, offset }: OpenContext,
): ThreadAccess | undefined {
  if (pool !== undefined || offset !== undefined) return undefined;
  try {
    const data: ThreadData = { name, table, deadline, origin, url, options: structuredClone(options) };
    return { module: threadModule('connections/sql/thread-store'), data };
  } catch {
    return undefined;
  }
}
