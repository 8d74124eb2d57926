/** Where the registered jobs go by themselves, and what to say of a worker whose queues are none of theirs. */
import type { QueueManager } from '../application/queue-manager';
import type { JobDefinition } from '../job/definition';
import { declaredRoute } from '../job/resolve-options';

export interface Destination {
  readonly connection: string;
  /** `?` if it is the default of a connection that another application has. */
  readonly queue: string;
}

export function destinationOf(manager: QueueManager, definition: JobDefinition): Destination {
  const routed = manager.routes.of(definition.target);
  const { connection = manager.defaultConnection, queue } = declaredRoute(definition, routed);
  const isKnown = manager.connectionNames().includes(connection);
  return { connection, queue: queue ?? (isKnown ? manager.settings(connection).queue : '?') };
}

/**
 * Undefined if some registered job goes to one of the worker's queues, or none is registered.
 *
 * @param remedy how to work on these queues of this connection
 */
export function strangeQueuesRemark(
  manager: QueueManager,
  worker: { readonly connection: string; readonly queues: readonly string[] },
  remedy: (connection: string, queues: readonly string[]) => string,
): string | undefined {
  const all = manager.registry.all().map((definition) => destinationOf(manager, definition));
  const here = all.filter(({ connection }) => connection === worker.connection);
  const [first] = here.length > 0 ? here : all;
  if (first === undefined || here.some(({ queue }) => worker.queues.includes(queue))) return undefined;
  const { connection } = first;
  const queues = [...new Set(all.filter((one) => one.connection === connection).map(({ queue }) => queue))].toSorted();
  const isElsewhere = connection !== worker.connection;
  const [ofThis, ofOther] = isElsewhere
    ? [` of the connection '${worker.connection}'`, ` of '${connection}'`]
    : ['', ''];
  return (
    `No registered job goes to ${worker.queues.join(', ')}${ofThis} on its own; they go to ${queues.join(', ')}${ofOther}. ` +
    `To work on those: ${remedy(connection, queues)}`
  );
}
