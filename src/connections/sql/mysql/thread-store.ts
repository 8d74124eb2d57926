/** The module that another thread opens the same MySQL with; see `ThreadAccess`. */
import type { Seconds } from '../../../base/clock';
import type { StoreThread } from '../../contract';
import { openInThread, type ThreadData } from '../server/server-thread';
import { connectMysql } from './mysql-connection';

export const open = (data: ThreadData, deadline: Seconds): StoreThread =>
  openInThread(connectMysql, 'connectionLimit', data, deadline);
