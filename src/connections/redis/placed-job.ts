/** Looks for a job by its id in the queues, as far as bounded calls of a script look. */
import { WAITING_STATES, type PeekedJob, type PlacedJob, type WaitingState } from '../contract';
import { MOST_SEARCHES } from './redis-control';
import type { RedisStore } from './store';

/** The job was not found, but not all jobs were looked at. */
interface Unseen {
  /** How many of the last ready jobs were looked at. */
  readonly seen: number;
  /** Whether some delayed or reserved jobs were not looked at. */
  readonly others: boolean;
}

type Look = PlacedJob | Unseen | undefined;

/** @param queue the queue that it must be in, which is searched more deeply */
export async function findJob(
  store: RedisStore,
  id: string,
  queue: string | undefined,
): Promise<PlacedJob | 'unseen' | undefined> {
  if (queue !== undefined) return search(store, queue, id);
  let isAll = true;
  for (const name of await store.names.all()) {
    const found = await look(store, name, id);
    if (found !== undefined && !isUnseen(found)) return found;
    isAll &&= found === undefined;
  }
  return isAll ? undefined : 'unseen';
}

/**
 * Between the two ends of the ready list, page by page from the tail: jobs taken from the head or pushed meanwhile hide
 * nothing.
 */
async function search(store: RedisStore, queue: string, id: string): Promise<PlacedJob | 'unseen' | undefined> {
  let found = await look(store, queue, id);
  if (found === undefined) return undefined;
  for (let call = 1; call < MOST_SEARCHES && isUnseen(found); call += 1) {
    const deeper: Look = await look(store, queue, id, found.seen);
    // A page with a single large text that was looked at before leads no further.
    if (isUnseen(deeper) && deeper.seen === found.seen) return 'unseen';
    found = deeper;
  }
  if (found !== undefined) return isUnseen(found) ? 'unseen' : found;
  // A worker may have taken it from the head before the search got there.
  const last = await look(store, queue, id);
  if (!isUnseen(last)) return last;
  return last.others ? 'unseen' : undefined;
}

async function look({ caller, keys }: RedisStore, queue: string, id: string, from = 0): Promise<Look> {
  const [word, ...rest] = (await caller.script('find', keys.of(queue, WAITING_STATES), [id, from], {
    consequence: `job ${id} was not looked for`,
  })) as [word: Buffer, ...rest: unknown[]];
  if (String(word) === 'unseen') return { seen: Number(rest[0]), others: rest[1] === 1 };
  if (String(word) !== 'found') return undefined;
  const [state, payload, score] = rest as [state: Buffer, payload: Buffer, score?: Buffer];
  return { queue, state: String(state) as WaitingState, payload, ...momentOf(score) };
}

function isUnseen(found: Look): found is Unseen {
  return found !== undefined && 'seen' in found;
}

/** When a job becomes ready, or its lease ends. */
export function momentOf(score: Buffer | undefined): Pick<PeekedJob, 'at'> {
  return score === undefined ? {} : { at: Math.round(Number(String(score)) * 1000) };
}
