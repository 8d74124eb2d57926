/** The queues of a Redis: what waits in them, where a job is, and the lanes of their jobs. */
import { MOST_JOBS } from '../../base/collections';
import {
  WAITING_STATES,
  type Counts,
  type LaneChange,
  type LanePage,
  type LaneState,
  type LaneStore,
  type PeekedJob,
  type PlacedJob,
  type Queues,
  type WaitingState,
} from '../contract';
import { TIES } from './keys';
import { RedisPart, type RedisStore } from './store';

/** Calls that read one page of jobs: each copies 1 MiB, during which Redis serves nobody else. */
const MOST_LOOKS = 8;

/** Before the place of a job that its lane holds. */
const HELD = 'h';

/** Most calls to search one queue, of 100 jobs or 1 MiB of text each. */
export const MOST_SEARCHES = 100;

export class RedisQueues extends RedisPart implements Required<Queues> {
  names(): Promise<readonly string[]> {
    return this.store.names.all();
  }

  find(id: string, queue?: string): Promise<PlacedJob | 'unseen' | undefined> {
    return findJob(this.store, id, queue);
  }

  async counts(queue: string): Promise<Counts> {
    const { caller, keys } = this.store;
    const states = keys.of(queue, [...WAITING_STATES, 'held']);
    const answer = await caller.script('counts', states, [], `queue '${queue}' was not counted`);
    const [ready, delayed, reserved] = answer.slice(1) as [ready: number, delayed: number, reserved: number];
    return { ready, delayed, reserved };
  }

  async clear(queue: string): Promise<number> {
    const consequence = `queue '${queue}' was not cleared`;
    const keys = [...WAITING_STATES, 'notify', ...TIES] as const;
    let cleared = 0;
    let most: unknown = -1;
    for (;;) {
      const [, count, left] = await this.store.recorded.ask('clear', queue, keys, [Number(most)], consequence);
      cleared += Number(count);
      if (left === undefined) return cleared;
      most = left;
    }
  }

  /**
   * Returns up to `limit` jobs, in a few calls of 100 jobs or 1 MiB: fewer if they are large. A job's place is the number of jobs up to and including it; after
   * `h`, if its lane holds it: such jobs come behind the ready ones.
   */
  async peek(queue: string, state: WaitingState, limit: number, after = '0'): Promise<readonly PeekedJob[]> {
    const jobs: PeekedJob[] = [];
    const isHeld = after.startsWith(HELD);
    const isEnd = isHeld || (await this.#look(jobs, queue, state, limit, Number(after)));
    if (state === 'ready' && isEnd) await this.#look(jobs, queue, 'held', limit, isHeld ? Number(after.slice(1)) : 0);
    return jobs;
  }

  /** Whether there are no more behind them. */
  async #look(
    jobs: PeekedJob[],
    queue: string,
    state: WaitingState | 'held',
    limit: number,
    start: number,
  ): Promise<boolean> {
    const { caller, keys } = this.store;
    const { [state]: key, ready } = keys.queue(queue);
    let from = start;
    for (let calls = 0; from >= 0 && jobs.length < limit && calls < MOST_LOOKS; calls += 1) {
      const args = [state, from, limit - jobs.length, ready];
      const answer = await caller.script('peek', [key], args, 'the jobs were not read');
      const [next, payloads, scores] = answer.slice(1) as [number, readonly Buffer[], readonly Buffer[]];
      for (const [index, payload] of payloads.entries()) {
        const place = `${state === 'held' ? HELD : ''}${from + index + 1}`;
        jobs.push({ payload, ...placedAt(scores[index]), place });
      }
      from = next;
    }
    return from < 0;
  }

  async forget(queue: string): Promise<boolean> {
    const { caller, cluster, keys, names } = this.store;
    const { ready, delayed, reserved, failed, notify, control, lanes, held } = keys.queue(queue);
    const ask = (command: string, ...args: readonly string[]): Promise<unknown> =>
      caller.command(command, args, `queue '${queue}' was not forgotten`);
    const isEmpty = async () =>
      (await ask('exists', ready, delayed, reserved, failed)) === 0 &&
      (await ask('zlexcount', held, `[${ready}\0`, `(${ready}\u0001`)) === 0;
    if (!(await names.remove(queue, isEmpty))) return false;
    await ask('hdel', control, `paused:${ready}`, `until:${ready}`);
    if ((await ask('hdel', lanes, `#${ready}`)) === 1) await this.#forgetLanes(queue);
    await ask('unlink', notify);
    const isLimited = async () => (await ask('hget', control, `running:${ready}`)) !== null;
    await cluster?.ordered.remove(queue, async () => !(await isLimited()));
    return true;
  }

  /** Those that were changed by hand; the others are gone with their jobs. */
  async #forgetLanes(queue: string): Promise<void> {
    const { caller, keys } = this.store;
    const { ready, lanes } = keys.queue(queue);
    const consequence = `the lanes of queue '${queue}' were not forgotten`;
    for (let after: string | undefined = '0'; after !== undefined;) {
      const page: LanePage = await lanesOf(this.store, queue, after);
      const fields = page.lanes.map(({ lane }) => `${ready}\0${lane}`);
      if (fields.length > 0) await caller.command('hdel', [lanes, ...fields], consequence);
      after = page.next;
    }
  }
}

/** The lanes of a Redis: all in one hash; in a cluster, in one hash per queue. */
export class RedisLanes extends RedisPart implements LaneStore {
  list(queue: string, after = '0'): Promise<LanePage> {
    return lanesOf(this.store, queue, after);
  }

  async find(queue: string, lane: string): Promise<LaneState | undefined> {
    return (await lanesOf(this.store, queue, '0', lane)).lanes[0];
  }

  async change(queue: string, lane: string, change: LaneChange): Promise<void> {
    const given = 'limit' in change ? ['limit', change.limit ?? ''] : [change.paused ? 'pause' : 'resume', ''];
    const keys = ['lanes', 'held', 'ready', 'notify'] as const;
    const consequence = `lane '${lane}' of queue '${queue}' was not changed`;
    for (let args = given; ; args = ['let in', '']) {
      const [, count] = await this.store.recorded.ask('lane', queue, keys, [lane, ...args], consequence);
      if (Number(count) < MOST_JOBS) return;
    }
  }
}

async function lanesOf({ caller, keys }: RedisStore, queue: string, after: string, only = ''): Promise<LanePage> {
  const names = keys.of(queue, ['lanes', 'held', 'ready']);
  const consequence = `the lanes of queue '${queue}' were not read`;
  const answer = await caller.script('lanes', names, [after, only], consequence);
  const [, cursor, facts] = answer as [word: Buffer, cursor: Buffer, facts: readonly (Buffer | number)[]];
  // A hash that changes may show one twice.
  const lanes = new Map<string, LaneState>();
  for (let at = 0; at < facts.length; at += 5) {
    const [inside = 0, held = 0, running = 0, paused] = facts.slice(at + 1, at + 5).map(Number);
    const lane = String(facts[at]);
    lanes.set(lane, { lane, inside, held, running, paused: paused === 1 });
  }
  const next = String(cursor);
  return { lanes: [...lanes.values()], ...(next !== '0' && { next }) };
}

/** The job was not found, but not all jobs were looked at. */
interface Unseen {
  /** How many of the last ready jobs were looked at. */
  readonly seen: number;
  /** Whether some delayed or reserved jobs were not looked at. */
  readonly others: boolean;
}

type Sight = PlacedJob | Unseen | undefined;

/**
 * Looks for a job by its id in the queues, as far as bounded calls of a script look.
 *
 * @param queue the queue that it must be in, which is searched more deeply
 */
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
    const deeper: Sight = await look(store, queue, id, found.seen);
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

async function look({ caller, keys }: RedisStore, queue: string, id: string, from = 0): Promise<Sight> {
  const states = keys.of(queue, [...WAITING_STATES, 'held']);
  const [word, ...rest] = await caller.script('find', states, [id, from], `job ${id} was not looked for`);
  if (String(word) === 'unseen') return { seen: Number(rest[0]), others: rest[1] === 1 };
  if (String(word) !== 'found') return undefined;
  const [state, payload, score] = rest as [state: Buffer, payload: Buffer, score?: Buffer];
  return { queue, state: String(state) as WaitingState, payload, ...placedAt(score) };
}

function isUnseen(found: Sight): found is Unseen {
  return found !== undefined && 'seen' in found;
}

/** When a job becomes ready, or its lease ends. */
function placedAt(score: Buffer | undefined): Pick<PeekedJob, 'at'> {
  return score === undefined ? {} : { at: Math.round(Number(String(score)) * 1000) };
}
