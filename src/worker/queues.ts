/** The queues of a worker: their order, as listed or drawn by weight for each reserve, and whether any job goes to them. */
import type { QueueManager } from '../application/queue-manager';
import type { Random } from '../base/clock';
import { checkQueueName } from '../job/option-kinds';
import type { JobDefinition } from '../job/registry';
import { declaredRoute } from '../job/resolve-options';
import { invalidWorkerOption } from './errors';

export interface WeightedQueue {
  readonly name: string;
  readonly weight: number;
}

/**
 * Reads `high:3,default:1` under `fair`, and plain names otherwise, because a queue name may contain a colon. @throws
 * E_INVALID_WORKER_OPTION, E_INVALID_QUEUE_NAME
 */
export function parseQueues(queue: string | readonly string[], fair: boolean): readonly WeightedQueue[] {
  if (typeof queue !== 'string' && !Array.isArray(queue)) {
    throw invalidWorkerOption('queue', queue, 'give a name, or a list of names');
  }
  const parts = typeof queue === 'string' ? queue.split(',').map((name) => name.trim()) : queue;
  if (parts.length === 0) throw invalidWorkerOption('queue', [], 'name at least one queue');
  const queues = parts.map((part) => (fair ? weighted(part) : { name: part, weight: 1 }));
  for (const { name } of queues) checkQueueName(name, 'the queue of a worker', 'give its queues as separate entries');
  const names = queues.map(({ name }) => name);
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined) throw invalidWorkerOption('queue', twice, 'name each queue once');
  return queues;
}

const WEIGHTED = /^(.*):(\d[\d.]*)$/;

function weighted(part: string): WeightedQueue {
  const match = WEIGHTED.exec(part);
  if (match === null) return { name: part, weight: 1 };
  const weight = Number(match[2]);
  if (!Number.isInteger(weight) || weight < 1)
    throw invalidWorkerOption('queue', part, 'a weight is a whole number from 1');
  return { name: match[1] ?? '', weight };
}

/**
 * Names that look like weights although the worker does not have `fair`. A name may well end in a number, such as a
 * tenant's: then several queues share its beginning, or it is the only one.
 */
export function namesLikeWeights(queues: readonly WeightedQueue[]): readonly string[] {
  const beginnings = queues.map(({ name }) => WEIGHTED.exec(name)?.[1] ?? name);
  if (queues.length === 1 || new Set(beginnings).size < queues.length) return [];
  return queues.filter(({ name }, index) => name !== beginnings[index]).map(({ name }) => name);
}

/** Draws without replacement: each queue comes first as often as its weight says, and none is ever left out. */
export function drawOrder(queues: readonly WeightedQueue[], random: Random): readonly string[] {
  const left = [...queues];
  const order: string[] = [];
  let total = left.reduce((sum, { weight }) => sum + weight, 0);
  while (left.length > 0) {
    let point = random() * total;
    const found = left.findIndex(({ weight }) => (point -= weight) < 0);
    const [drawn] = left.splice(found === -1 ? left.length - 1 : found, 1);
    if (drawn === undefined) break;
    order.push(drawn.name);
    total -= drawn.weight;
  }
  return order;
}

export interface Destination {
  readonly connection: string;
  /** `?` if it is the default of a connection that another application has. */
  readonly queue: string;
}

/** Where the registered jobs go by themselves, and what to say of a worker whose queues are none of theirs. */
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
