/** Sends one job: by the push of its own, where it has one, otherwise to the driver of its connection. */
import type { InstanceChoice } from '../job/chosen';
import type { Seconds } from '../clock/clock';
import type { QueueConnection } from '../queue/queue-connection';
import type { QueueManager } from '../queue/queue-manager';
import { send } from '../queue/send';

/**
 * A job's own way into its queue: as a method `queue()`, it is called in place of the push.
 *
 * It may give the id of what it pushed; without one, the dispatch gives an empty text.
 */
export interface PushesItself {
  queue(
    connection: QueueConnection,
    route: { readonly queue: string; readonly delay: Seconds },
  ): Promise<string | void> | string | void;
}

/** @throws what is wrong with the job, or what its driver throws */
export async function sendJob(manager: QueueManager, job: object, choice: InstanceChoice): Promise<string> {
  if (pushesItself(job)) {
    const { connection, queue, delay } = manager.encoder.route(job, choice);
    return (await job.queue(manager.connection(connection), { queue, delay })) ?? '';
  }
  const encoded = manager.encoder.encode(job, choice);
  await send(manager.driver(encoded.connection), encoded);
  return encoded.id;
}

// An own property of that name is a mistake, which encoding explains.
export function pushesItself(job: object): job is PushesItself {
  if (typeof job !== 'object' || job === null) return false; // a class, say: its static queue() is none of ours
  return !Object.hasOwn(job, 'queue') && 'queue' in job && typeof job.queue === 'function';
}
