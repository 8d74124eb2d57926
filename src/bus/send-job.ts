/** Sends one job: by the push of its own, where it has one, otherwise to the driver of its connection. */
import type { Seconds } from '../clock/clock';
import { chosenOf } from '../job/chosen';
import type { InstanceChoice } from '../job/chosen';
import type { Route } from '../job/options';
import { momentOf } from '../job/resolve-options';
import type { QueueConnection } from '../queue/queue-connection';
import type { QueueManager } from '../queue/queue-manager';
import { send } from '../queue/send';
import type { Keep } from '../queue/transaction/transaction';

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

/**
 * @param keep of a transaction: takes the job in place of its connection
 * @throws what is wrong with the job, or what its driver throws
 */
export async function sendJob(
  manager: QueueManager,
  job: object,
  choice: InstanceChoice,
  keep?: Keep,
): Promise<string> {
  if (pushesItself(job)) {
    const { name, connection, queue, delay, push } = ownPush(manager, job, choice);
    if (keep === undefined) return push(delay);
    keep({
      manager,
      job: { id: '', name, connection, queue },
      delay: delayOf(manager, job, choice, delay),
      send: push,
    });
    return '';
  }
  const encoded = manager.encoder.encode(job, choice);
  if (keep === undefined) {
    await send(manager.driver(encoded.connection), encoded);
  } else {
    const { payload, delay = 0 } = encoded.entry;
    keep({ manager, job: encoded, delay: delayOf(manager, job, choice, delay), send: payload });
  }
  return encoded.id;
}

/** @throws what is wrong with the job, or with where it goes; nothing was called yet */
export function ownPush(
  manager: QueueManager,
  job: PushesItself,
  choice: InstanceChoice,
): Route & { readonly name: string; readonly push: (delay?: Seconds) => Promise<string> } {
  const { name } = manager.encoder.definitionOf(job);
  const route = manager.encoder.route(job, choice);
  const target = manager.connection(route.connection);
  const { queue } = route;
  return { ...route, name, push: async (delay = route.delay) => (await job.queue(target, { queue, delay })) ?? '' };
}

/** A duration counts from when this is called; a moment stays where it is. */
function delayOf(manager: QueueManager, job: object, dispatch: InstanceChoice, delay: Seconds): () => Seconds {
  const definition = manager.encoder.definitionOf(job);
  const due = momentOf({ dispatch, instance: chosenOf(job), definition })?.getTime();
  return () => (due === undefined ? delay : Math.max((due - manager.clock.now()) / 1000, 0));
}

// An own property of that name is a mistake, which encoding explains.
export function pushesItself(job: object): job is PushesItself {
  if (typeof job !== 'object' || job === null) return false; // a class, say: its static queue() is none of ours
  return !Object.hasOwn(job, 'queue') && 'queue' in job && typeof job.queue === 'function';
}
