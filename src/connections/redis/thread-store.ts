/** The module by which another thread opens the same Redis; see `ThreadAccess`. */
import { type Seconds, systemClock } from '../../base/clock';
import { silentLogger } from '../../base/console-logger';
import type { StoreThread } from '../contract';
import { RedisConnection } from './redis-connection';
import { sourceOfThread, type ThreadOptions } from './thread-source';

export interface ThreadData {
  readonly name: string;
  readonly options: ThreadOptions;
  readonly prefix: string;
  readonly deadline: Seconds;
  readonly origin: string | undefined;
}

/** Has no logger: it reports problems as errors. */
export function open({ options, prefix, ...data }: ThreadData, deadline: Seconds): StoreThread {
  const context = { ...data, deadline: Math.min(data.deadline, deadline), clock: systemClock, logger: silentLogger };
  return new RedisConnection(sourceOfThread(options), prefix, context);
}
