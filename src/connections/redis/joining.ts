/**
 * The arguments of `lua/push.lua` about the batch that entries join: its keys, and the arguments after those of the entries.
 */
import type { NewBatch } from '../batch-store';
import type { Entry } from '../contract';
import { isReady } from './entries';
import type { Keys } from './keys';
import { whenOf } from './lane';

export interface Joining {
  readonly id: string;
  /** The call begins the batch. Otherwise the call is refused if the batch has ended. */
  readonly isNew: boolean;
  readonly keys: readonly string[];
  readonly args: readonly (string | number)[];
}

/** Undefined if the entries join no batch. */
export function joiningOf(
  keys: Keys,
  queue: string,
  entries: readonly Entry[],
  begins: NewBatch | undefined,
): Joining | undefined {
  const id = begins?.id ?? entries[0]?.ties?.batch?.id;
  if (id === undefined) return undefined;
  // In the order in which the script numbers the entries.
  const numbered = [...entries.filter(isReady), ...entries.filter((entry) => !isReady(entry))];
  const weights = numbered.map(({ ties }) => (ties?.batch?.id === id ? ties.batch.weight : 0));
  const args = [id, weights.reduce((sum, weight) => sum + weight, 0), weights.join(' '), ...beginningOf(begins)];
  const own = keys.of(queue, ['batches', 'begunBatches', 'cancelledBatches']);
  const callbackKeys = begins?.callbacks.flatMap((sent) => keys.of(sent.queue, ['ready', 'delayed', 'notify'])) ?? [];
  return {
    id,
    isNew: begins !== undefined,
    keys: [...own, ...callbackKeys],
    args: [...args, args.length],
  };
}

function beginningOf(begins: NewBatch | undefined): readonly (string | number)[] {
  if (begins === undefined) return [];
  const { name, allowsFailures, openFor = 0, every = 0, callbacks } = begins;
  const sent = callbacks.flatMap(({ on, delay = 0, dueAt, head, id }) => [on, whenOf(delay, dueAt), head, id]);
  return [name, allowsFailures ? 1 : 0, openFor, every, ...sent];
}
