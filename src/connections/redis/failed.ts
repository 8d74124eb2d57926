/** The failed jobs of a Redis: each queue keeps its own, next to its other keys. */
import type { Milliseconds, Seconds } from '../../base/clock';
import {
  withoutPlace,
  type FailedEntry,
  type FailedSearch,
  type FailedStore,
  type Forgotten,
  type ListedEntry,
} from '../failed-store';
import { uuidv7 } from '../../payload/uuid';
import { TIES } from './keys';
import { scoredIn } from './caller';
import { RedisPart } from './store';
import { countersIn, UNREADABLE_NAME } from '../../payload/counters';
import { fieldsIn } from '../../payload/values';

/** An entry without its texts. */
interface Listed {
  readonly queue: string;
  readonly id: string;
  /** When it failed, in seconds; with a fraction, because several may fail in one millisecond. */
  readonly score: number;
}

/** Several that failed at once come by their queues, and in a queue as Redis has them. */
function newestFirst(one: Listed, other: Listed): number {
  if (one.score !== other.score) return other.score - one.score;
  if (one.queue !== other.queue) return one.queue < other.queue ? -1 : 1;
  return Buffer.compare(Buffer.from(other.id), Buffer.from(one.id));
}

const placeOf = ({ score, queue, id }: Listed): string => JSON.stringify([score, queue, id]);

function listedAt(place: string): Listed {
  const [score, queue, id] = JSON.parse(place) as [number, string, string];
  return { score, queue, id };
}

/** The place before all that failed at this moment, in milliseconds, or earlier; perhaps before some that failed right after it. */
const placeBefore = (until: Milliseconds | undefined): string | undefined =>
  until === undefined ? undefined : placeOf({ score: (Math.ceil(until) + 1) / 1000, queue: '', id: '' });

/** Of the connection, the name, the error and the batch. */
type Texts = readonly [string, string, string, string];

const ANY: Texts = ['', '', '', ''];

/**
 * The longest part of a text that every program writes alike in JSON, and that does not belong to a masked secret, whose stars are
 * not in the stored text. Empty if there is none.
 */
function spelledAlike(text = ''): string {
  const parts = text.match(/[\w .,:;=!?#$%@^~|(){}[\]+-]+/g) ?? [''];
  return parts.reduce((longest, part) => (part.length > longest.length ? part : longest));
}

/** What one call of `prune` removes. */
interface Pruning {
  readonly olderThan: Seconds | 'any';
  readonly keep: number;
}

const NOT_READ = 'the failed jobs were not read';

/** How many entries are skipped one by one, and the most that one call looks at. */
const PAGE = 100;
/** Most jobs of a queue that fail in one microsecond: one call settles no more. */
const MOST_AT_ONCE = 1000;
/** Most halvings of the time span in which jobs failed: after these it is narrowed down to a microsecond. */
const MOST_STEPS = 50;

export class RedisFailedStore extends RedisPart implements FailedStore {
  async put(entry: Omit<FailedEntry, 'failedAt'>): Promise<string> {
    await this.store.names.tell(entry.queue);
    const { caller, keys } = this.store;
    const values = [entry.id, metaLine(entry), entry.payload, uuidv7()];
    const own = keys.of(entry.queue, ['failed', 'failedJobs']);
    const [, id] = await caller.script('keep', own, values, `the failure of ${entry.name} was not kept`);
    return String(id);
  }

  async list({ queue, limit, offset = 0, after, search }: Parameters<FailedStore['list']>[0]) {
    const queues = await this.#queues(queue);
    const texts = this.#textsOf(search);
    const isSearch = texts.some((text) => text !== '');
    const found: ListedEntry[] = [];
    let place = after ?? (offset === 0 ? placeBefore(search?.until) : undefined);
    for (let isEnd = false; !isEnd && found.length < limit;) {
      const most = isSearch ? Math.max(limit, PAGE) : limit - found.length;
      const listed = await this.#listed(queues, most, offset, place);
      found.push(...(await this.#read(listed, texts)));
      isEnd = listed.length < most;
      place = listed.at(-1) && placeOf(listed.at(-1)!);
    }
    return found.slice(0, limit);
  }

  async find(id: string): Promise<readonly FailedEntry[]> {
    const found: FailedEntry[] = [];
    for (const queue of await this.store.names.all()) {
      const score = (await this.#ask('zscore', [this.store.keys.queue(queue).failed, id])) as Buffer | null;
      if (score === null) continue;
      found.push(...(await this.#read([{ queue, id, score: Number(String(score)) }], ANY)).map(withoutPlace));
    }
    return found;
  }

  async count(queue?: string): Promise<number> {
    const queues = await this.#queues(queue);
    const counts = await Promise.all(queues.map((name) => this.#ask('zcard', [this.store.keys.queue(name).failed])));
    return counts.reduce<number>((sum, count) => sum + (count as number), 0);
  }

  async retry(entry: FailedEntry, payload: Buffer): Promise<boolean | { readonly held: string }> {
    const keys = ['failed', 'failedJobs', 'ready', 'notify', ...TIES] as const;
    const consequence = `the failed job ${entry.id} was not sent back`;
    const args = [entry.id, entry.payload, payload];
    const [word, holder] = await this.store.recorded.ask('retry', entry.queue, keys, args, consequence);
    return String(word) === 'held' ? { held: String(holder) } : String(word) === 'retried';
  }

  async forget({ id, queue, payload }: Forgotten): Promise<boolean> {
    const args = payload === undefined ? [id] : [id, payload];
    const consequence = `the failed job ${id} was not forgotten`;
    const [word] = await this.store.recorded.ask('forget', queue, ['failed', 'failedJobs'], args, consequence);
    return String(word) === 'forgotten';
  }

  async flush(queue?: string): Promise<number> {
    let flushed = 0;
    for (const name of await this.#queues(queue)) flushed += await this.#remove(name, { olderThan: 'any', keep: 0 });
    return flushed;
  }

  async prune(options: Parameters<FailedStore['prune']>[0]): Promise<number> {
    const { olderThan, keep } = options;
    const queues = await this.#queues(options.queue);
    let pruned = 0;
    if (olderThan !== undefined) {
      for (const queue of queues) pruned += await this.#remove(queue, { olderThan, keep: 0 });
    }
    if (keep !== undefined) {
      const { starts, left } = await this.#skip(queues, keep);
      const others = await this.#newest(queues, starts, left);
      for (const [at, queue] of queues.entries()) {
        const own = starts[at]! + others.filter((one) => one.queue === queue).length;
        pruned += await this.#remove(queue, { olderThan: 'any', keep: own });
      }
    }
    return pruned;
  }

  async #queues(queue: string | undefined): Promise<readonly string[]> {
    return queue === undefined ? this.store.names.all() : [queue];
  }

  async #listed(queues: readonly string[], limit: number, offset: number, after?: string): Promise<readonly Listed[]> {
    if (after === undefined) {
      const { starts, left } = await this.#skip(queues, offset);
      return (await this.#newest(queues, starts, left + limit)).slice(left);
    }
    const last = listedAt(after);
    const rest = await Promise.all(queues.map((queue) => this.#olderThan(last, queue, limit)));
    return rest.flat().toSorted(newestFirst).slice(0, limit);
  }

  /** The jobs of a queue behind that one, whether it is still there or not. */
  async #olderThan(last: Listed, queue: string, limit: number): Promise<readonly Listed[]> {
    const { failed } = this.store.keys.queue(queue);
    const highest = (most: number | string, least: number | string, count: number): Promise<unknown> =>
      this.#ask('zrange', [failed, most, least, 'BYSCORE', 'REV', 'LIMIT', 0, count, 'WITHSCORES']);
    const ranges = [highest(`(${last.score}`, '-inf', limit)];
    // Others that failed in the very same microsecond.
    if (queue >= last.queue) ranges.push(highest(last.score, last.score, MOST_AT_ONCE));
    const found = (await Promise.all(ranges)).flatMap(scoredIn).map(([id, score]): Listed => ({ queue, id, score }));
    return found.filter((one) => newestFirst(last, one) < 0);
  }

  /** The newest `limit` failed jobs of all queues together, skipping the first `starts` of each. */
  async #newest(queues: readonly string[], starts: readonly number[], limit: number): Promise<readonly Listed[]> {
    const lists = await Promise.all(queues.map((queue, at) => this.#newestOf(queue, limit, starts[at]!)));
    return lists.flat().toSorted(newestFirst).slice(0, limit);
  }

  /**
   * For each queue, the number of jobs that can be skipped unread because they are newer than the wanted ones; of the jobs
   * after those, `left` more have to be skipped.
   */
  async #skip(queues: readonly string[], offset: number): Promise<{ starts: readonly number[]; left: number }> {
    if (queues.length === 1) return { starts: [offset], left: 0 };
    let skipped = { starts: queues.map(() => 0), left: offset };
    if (offset <= PAGE) return skipped;
    const { caller, keys } = this.store;
    const failed = queues.map((queue) => keys.queue(queue).failed);
    const ends = await Promise.all(failed.flatMap((key) => [0, -1].map((at) => caller.highest(key, at, 1, NOT_READ))));
    const moments = ends.flat().map(([, score]) => score);
    if (moments.length === 0) return skipped;
    let [oldest, newest] = [Math.min(...moments), Math.max(...moments)];
    // Bisect the time: the number of jobs newer than a moment, in all queues, is how far that moment is from the newest.
    for (let step = 0; step < MOST_STEPS && skipped.left > PAGE; step += 1) {
      const middle = (oldest + newest) / 2;
      const newer = await Promise.all(failed.map((key) => this.#ask('zcount', [key, `(${middle}`, '+inf'])));
      const starts = newer.map(Number);
      const left = offset - starts.reduce((sum, count) => sum + count, 0);
      if (left < 0) oldest = middle;
      else [newest, skipped] = [middle, { starts, left }];
    }
    return skipped;
  }

  async #newestOf(queue: string, limit: number, offset: number): Promise<readonly Listed[]> {
    const { caller, keys } = this.store;
    const newest = await caller.highest(keys.queue(queue).failed, offset, limit, NOT_READ);
    return newest.map(([id, score]) => ({ queue, id, score }));
  }

  /** The texts that an entry contains if it matches. The server looks for them, so that it sends no others. */
  #textsOf({ connection, name, error, batch }: FailedSearch = {}): Texts {
    const { name: keeper } = this.store.caller.settings;
    return [
      // What an entry does not say cannot be looked for.
      connection === keeper ? '' : spelledAlike(connection),
      name === UNREADABLE_NAME ? '' : spelledAlike(name),
      error !== undefined && NO_EXCEPTION.includes(error) ? '' : spelledAlike(error),
      spelledAlike(batch),
    ];
  }

  /** Those that contain the texts. Jobs retried or forgotten meanwhile are left out. */
  async #read(listed: readonly Listed[], texts: Texts): Promise<readonly ListedEntry[]> {
    const { caller, keys } = this.store;
    const queues = [...new Set(listed.map(({ queue }) => queue))];
    const kept = new Map<Listed, Buffer>();
    const read = async (queue: string): Promise<void> => {
      const own = listed.filter((one) => one.queue === queue);
      for (let from = 0; from < own.length;) {
        const ids = own.slice(from, from + PAGE).map(({ id }) => id);
        const answer = await caller.script('sift', [keys.queue(queue).failedJobs], [...texts, ...ids], NOT_READ);
        const [, looked, ...found] = answer as readonly [Buffer, number, ...(number | Buffer)[]];
        for (let at = 0; at < found.length; at += 2)
          kept.set(own[from + (found[at] as number) - 1]!, found[at + 1] as Buffer);
        from += looked;
      }
    };
    await Promise.all(queues.map(read));
    return listed.flatMap((one) => {
      const text = kept.get(one);
      if (text === undefined) return [];
      const entry = failedEntry(one.id, one.queue, Math.floor(one.score * 1000), text, caller.settings.name);
      return { ...entry, place: placeOf(one) };
    });
  }

  /** Removes page by page, so that no call blocks the server. */
  async #remove(queue: string, { olderThan, keep }: Pruning): Promise<number> {
    const consequence = `failed jobs of queue '${queue}' were not removed`;
    const keys = ['failed', 'failedJobs'] as const;
    let removed = 0;
    for (;;) {
      const [, count, rest] = await this.store.recorded.ask('prune', queue, keys, [olderThan, keep], consequence);
      removed += Number(count);
      if (String(rest) === 'done') return removed;
    }
  }

  #ask(command: string, args: readonly (string | number)[]): Promise<unknown> {
    return this.store.caller.command(command, args, NOT_READ);
  }
}

interface Meta {
  readonly name: string;
  readonly exception: string;
  /** Absent: the connection that keeps it. */
  readonly connection?: string | undefined;
  /** Absent: the payload's counters say it. */
  readonly attempts?: number | undefined;
}

/** The stored form of a failed job: one line of JSON that says why it failed, then the payload as it was. */
export function metaLine({ name, exception, connection, attempts }: Meta): string {
  return JSON.stringify({ name, exception, connection, attempts });
}

/**
 * If somebody else wrote the entry and parts of it cannot be read, it still hides no other failed job and can be removed.
 *
 * @param keeper the name of the connection that keeps it
 */
export function failedEntry(id: string, queue: string, failedAt: number, kept: Buffer, keeper: string): FailedEntry {
  const end = kept.indexOf('\n');
  const meta = fieldsIn(kept.toString('utf8', 0, Math.max(end, 0))) ?? {};
  const payload = kept.subarray(end + 1);
  return {
    id,
    queue,
    failedAt,
    payload,
    name: textOf(meta['name']) ?? UNREADABLE_NAME,
    exception: textOf(meta['exception']) ?? NO_EXCEPTION,
    connection: textOf(meta['connection']) ?? keeper,
    attempts: typeof meta['attempts'] === 'number' ? meta['attempts'] : (countersIn(payload)?.attempts ?? 0),
  };
}

const NO_EXCEPTION = 'Why it failed cannot be read: the entry was not written by Onqueue, or was changed since.';

const textOf = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined);
