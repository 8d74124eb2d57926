/** The module by which another thread reaches the same queues; see `ThreadAccess`. */
import { type Seconds, systemClock } from '../../base/clock';
import type { SqsConfig } from './driver';
import type { StoreThread } from '../contract';
import { SqsConnection, type SqsContext } from './sqs-connection';

export interface ThreadData extends Omit<SqsContext, 'clock' | 'manager'> {
  readonly config: SqsConfig;
}

export function open({ config, ...context }: ThreadData, deadline: Seconds): StoreThread {
  return new SqsConnection(config, { ...context, clock: systemClock, deadline: Math.min(context.deadline, deadline) });
}
