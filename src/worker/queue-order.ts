/** The order in which a worker empties its queues: as listed, or drawn by weight for each reserve. */
import type { Random } from '../base/random';
import { checkQueueName } from '../job/queue-name';
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
