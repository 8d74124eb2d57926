/** The module that another thread opens the same PostgreSQL with; see `ThreadAccess`. */
import type { Seconds } from '../../../base/clock';
import type { StoreThread } from '../../contract';
import { openInThread, type ThreadData } from '../server/server-thread';
import { connectPostgres } from './postgres-connection';

export const open = (data: ThreadData, deadline: Seconds): StoreThread =>
  openInThread(connectPostgres, 'max', data, deadline);
