/**
 * The batches of a Redis: all in one hash; in a cluster, in one hash per queue. The scripts that move jobs update their
 * numbers.
 */
import type { Milliseconds, Seconds } from '../../base/clock';
import type { FailedLink } from '../../job/job-context';
import type { BatchCallback, BatchCallbacks, BatchEvent, BatchState, BatchStore } from '../batch-store';
import { SHARED, type Keys } from './keys';
import { RedisPart } from './store';

/** The events that happen once. */
const EVENTS = ['then', 'catch', 'finally', 'next'] as const;

const NOT_READ = 'the batches were not read';

interface Listed {
  readonly owner: string;
  readonly id: string;
  readonly begun: number;
}

export class RedisBatchStore extends RedisPart implements BatchStore {
  async find(id: string, queue?: string): Promise<BatchState | undefined> {
    for (const owner of await this.#owners(queue)) {
      const found = await this.#read(owner, id);
      if (found !== undefined) return found;
    }
    return undefined;
  }

  async callbacks(id: string, queue?: string): Promise<BatchCallbacks | undefined> {
    const { caller, keys } = this.store;
    const consequence = `what the batch ${id} sends was not read`;
    for (const owner of await this.#owners(queue)) {
      const { batches } = keys.queue(owner);
      const [word, ...read] = await caller.script('batch-callbacks', [batches], [id], consequence);
      if (String(word) === 'read') return callbacksIn(read, keys);
    }
    return undefined;
  }

  async list({ limit, offset = 0 }: { readonly limit: number; readonly offset?: number | undefined }) {
    const owners = await this.#owners(undefined);
    // Any one of several owners may have all batches of the page.
    const [start, left] = owners.length === 1 ? [offset, 0] : [0, offset];
    const lists = await Promise.all(owners.map((owner) => this.#newestOf(owner, start, left + limit)));
    const listed = lists
      .flat()
      .toSorted((a, b) => b.begun - a.begun)
      .slice(left, left + limit);
    const states = await Promise.all(listed.map(({ owner, id }) => this.#read(owner, id)));
    // A batch that was forgotten meanwhile is left out.
    return states.filter((state) => state !== undefined);
  }

  async hold(id: string, queue?: string): Promise<boolean> {
    return this.#change('batch-hold', 'held', id, queue, []);
  }

  async seal(id: string, queue?: string, abandoned?: FailedLink): Promise<boolean> {
    const cause = abandoned === undefined ? '' : JSON.stringify(abandoned);
    return this.#change('batch-seal', 'sealed', id, queue, [cause]);
  }

  async cancel(id: string, queue?: string): Promise<boolean> {
    return this.#change('batch-cancel', 'cancelled', id, queue, []);
  }

  async prune(options: { readonly olderThan: Seconds; readonly unfinished?: boolean | undefined }): Promise<number> {
    const keys = ['batches', 'begunBatches', 'cancelledBatches'] as const;
    const which = [options.olderThan, options.unfinished === true ? 'also' : 'not'];
    const consequence = 'old batches were not forgotten';
    let pruned = 0;
    for (const owner of await this.#owners(undefined)) {
      for (let from = 0; from >= 0;) {
        const [, count, next] = await this.store.recorded.ask(
          'batch-prune',
          owner,
          keys,
          [...which, from],
          consequence,
        );
        pruned += Number(count);
        from = Number(next);
      }
    }
    return pruned;
  }

  async #change(
    script: 'batch-hold' | 'batch-seal' | 'batch-cancel',
    done: 'held' | 'sealed' | 'cancelled',
    id: string,
    queue: string | undefined,
    args: readonly string[],
  ): Promise<boolean> {
    const consequence = `the batch ${id} was not ${done}`;
    for (const owner of await this.#owners(queue)) {
      const keys = ['batches', 'cancelledBatches'] as const;
      const [word] = await this.store.recorded.ask(script, owner, keys, [id, ...args], consequence);
      if (String(word) === done) return true;
    }
    return false;
  }

  /** The owners of the hashes that may hold it. */
  async #owners(queue: string | undefined): Promise<readonly string[]> {
    const { cluster, names } = this.store;
    if (cluster === undefined) return [SHARED];
    return queue === undefined ? names.all() : [queue];
  }

  async #newestOf(owner: string, start: number, limit: number): Promise<readonly Listed[]> {
    const { caller, keys } = this.store;
    const newest = await caller.highest(keys.queue(owner).begunBatches, start, limit, NOT_READ);
    return newest.map(([id, begun]) => ({ owner, id, begun }));
  }

  async #read(owner: string, id: string): Promise<BatchState | undefined> {
    const { caller, keys } = this.store;
    const fields = [keys.queue(owner).batches, id, `${id}:name`];
    const [kept, name] = (await caller.command('hmget', fields, NOT_READ)) as readonly (Buffer | null)[];
    const state = stateOf(id, String(kept ?? ''), String(name ?? ''));
    return state && (owner === SHARED ? state : { ...state, queue: owner });
  }
}

/** Reads the form that `lua/parts/batches.lua` writes. */
function stateOf(id: string, kept: string, name: string): BatchState | undefined {
  const numbers = kept.split(' ').map(Number);
  const [pending, completed, failed, skipped, begun, cancelled, finished, open, , , allows] = numbers;
  if (allows === undefined) return undefined;
  return {
    id,
    name,
    allowsFailures: allows === 1,
    pending: pending!,
    completed: completed!,
    failed: failed!,
    skipped: skipped!,
    createdAt: momentOf(begun!)!,
    cancelledAt: momentOf(cancelled!),
    finishedAt: momentOf(finished!),
    openUntil: momentOf(open!),
  };
}

/** Reads the answer of `batch-callbacks.lua`. */
function callbacksIn([told, every, ...callbacks]: readonly unknown[], keys: Keys): BatchCallbacks {
  return {
    every: Number(every) || undefined,
    sent: EVENTS.filter((event) => String(told).includes(event[0]!)),
    callbacks: (callbacks as readonly (readonly unknown[])[]).map((callback): BatchCallback => {
      const [on, ready, , , , head, id] = callback.map(String);
      return { on: on as BatchEvent, queue: keys.queueOf(ready!), head: head!, id: id! };
    }),
  };
}

/** @param microseconds 0 means never */
function momentOf(microseconds: number): Milliseconds | undefined {
  return microseconds === 0 ? undefined : Math.floor(microseconds / 1000);
}
