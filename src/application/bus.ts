/** `Bus`, `Events` and `dispatch`, which dispatch to the connections of `Queue`. */
import { JobBus } from '../dispatch/bus';
import { EventBus } from '../dispatch/events';
import type { JobInstance } from '../job/definition';
import type { PendingDispatch } from '../job/dispatcher';
import { defaultManager } from './default-manager';

export const Bus = new JobBus(defaultManager);

export const Events = new EventBus(defaultManager);

/** Sends a job that does not extend `Job`: `await dispatch(new Plain(1)).onQueue('x')`. */
export function dispatch(job: JobInstance): PendingDispatch {
  return Bus.dispatchToQueue(job);
}
