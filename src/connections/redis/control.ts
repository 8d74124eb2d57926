/** Orders to the workers of a Redis, kept in hashes and a sorted set; in a cluster each queue has its own. */
import type { Seconds } from '../../base/clock';
import { groupsOf, pagesOf } from '../../base/collections';
import { readId } from '../../payload/counters';
import { uuidv7 } from '../../payload/uuid';
import {
  pauseOf,
  WAITING_STATES,
  type Entry,
  type RescheduleResult,
  type Reservation,
  type CancelResult,
  type Control,
  type Pause,
  type RunningLimit,
} from '../contract';
import { TIES, type QueueKeys } from './keys';
import { whenOf } from './lane';
import { findJob, MOST_SEARCHES } from './queues';
import { RedisPart } from './store';

/**
 * How a queue is looked at: `look` at its ends; `mark` the same, and leave a mark if the job is not found; `search` deeper
 * among its ready jobs.
 */
type Way = 'look' | 'mark' | 'search';

/** The result of a look, and how many of the last ready jobs it has seen; -1: there are others that it has not seen. */
interface Look {
  readonly result: CancelResult | 'unseen';
  readonly seen: number;
}

/** A job to cancel. */
interface Sought {
  readonly id: string;
  readonly queue: string;
  readonly left: ((queue: string, payload: Buffer) => void) | undefined;
}

/** The same among its delayed jobs, where a job may wait that somebody has just seen in a list. */
const MOST_DELAYED_SEARCHES = 1000;
/** A job may go back to the delayed ones after they were searched. */
const MOST_MOVES = 3;

/** What the field of a limit begins with. */
const RUNNING = 'running:';

type Order = readonly [key: string, field: string, value: Buffer, orders: Readonly<Record<string, Buffer>>];

export class RedisControl extends RedisPart implements Control {
  async cancel(
    id: string,
    queue?: string,
    reason = '',
    left?: (queue: string, payload: Buffer) => void,
  ): Promise<CancelResult> {
    const unseen: string[] = [];
    for (const name of queue === undefined ? await this.store.names.all() : [queue]) {
      const { result } = await this.#look({ id, queue: name, left }, 'look', reason);
      if (result === 'unseen') unseen.push(name);
      else if (result !== 'unknown') return result;
    }
    // Marked before they are searched: a job that leaves a queue meanwhile meets its mark.
    const marked = new Map<string, number>();
    for (const name of unseen) {
      const { result, seen } = await this.#look({ id, queue: name, left }, 'mark', reason);
      if (result === 'marked') marked.set(name, seen);
      if (result !== 'removed' && result !== 'signalled') continue;
      // The job came into sight meanwhile. The marks left on the way would end a later job with its id.
      const meant = result === 'signalled' ? this.store.keys.queue(name).cancelled : undefined;
      await this.#takeBack(id, [...marked.keys()], meant);
      return result;
    }
    let isSure = true;
    for (const [name, seen] of marked) {
      const result = seen < 0 ? 'unseen' : await this.#search({ id, queue: name, left }, seen);
      if (result === 'removed') {
        await this.#takeBack(id, [...marked.keys()]);
        return result;
      }
      isSure &&= result === 'unknown';
    }
    if (marked.size > 0 && !isSure) return 'marked';
    // A missing mark was met by a worker.
    return (await this.#takeBack(id, [...marked.keys()])) ? 'unknown' : 'marked';
  }

  /** Page by page from the tail: jobs taken from the head or pushed meanwhile hide nothing. */
  async #search(sought: Sought, from: number): Promise<Look['result']> {
    let seen = from;
    for (let call = 0; call < MOST_SEARCHES; call += 1) {
      const look = await this.#look(sought, 'search', '', seen);
      if (look.result !== 'unseen' || look.seen === seen) return look.result;
      seen = look.seen;
    }
    return 'unseen';
  }

  /** Removes marks. Whether all were still there. @param kept the key whose mark stays */
  async #takeBack(id: string, queues: readonly string[], kept?: string): Promise<boolean> {
    const keys = new Map(
      queues.map((queue) => [this.store.keys.queue(queue).cancelled, this.store.keys.queue(queue).reasons]),
    );
    let wereThere = true;
    for (const [cancelled, reasons] of keys) {
      if (cancelled === kept) continue;
      const consequence = `the mark of job ${id} was not removed`;
      wereThere = (await this.store.caller.command('zrem', [cancelled, id], consequence)) === 1 && wereThere;
      await this.store.caller.command('hdel', [reasons, id], consequence);
    }
    return wereThere;
  }

  async cancelled(reservations: readonly Reservation[]): Promise<readonly (boolean | string)[]> {
    const { keys, cluster } = this.store;
    const keysOf = (place: number): QueueKeys => keys.queue(reservations[place]!.queue);
    const places = groupsOf(reservations.keys(), (place) => keysOf(place).cancelled);
    const answers = reservations.map((): boolean | string => false);
    await Promise.all(
      Array.from(places, async ([key, of]) => {
        if (cluster?.masters.has(key) === true) return;
        const ids = of.map((place) => readId(reservations[place]!.payload) ?? '');
        const told = await this.#reasonsOf(keysOf(of[0]!), ids).catch((error: unknown) => {
          // One silent master must not keep us from hearing of the others' jobs.
          if (cluster === undefined) throw error;
          return [];
        });
        of.forEach((place, index) => (answers[place] = told[index] ?? false));
      }),
    );
    return answers;
  }

  async #reasonsOf({ cancelled, reasons }: QueueKeys, ids: readonly string[]): Promise<readonly (boolean | string)[]> {
    const { caller } = this.store;
    const consequence = 'no job learned that it was cancelled';
    const scores = (await caller.glance('zmscore', [cancelled, ...ids], consequence)) as readonly unknown[];
    if (scores.every((score) => score === null)) return [];
    const told = (await caller.glance('hmget', [reasons, ...ids], consequence)) as readonly (Buffer | null)[];
    return scores.map((score, at) => score !== null && (String(told[at] ?? '') || true));
  }

  async reschedule(
    id: string,
    { delay = 0, dueAt }: Pick<Entry, 'delay' | 'dueAt'>,
    queue?: string,
  ): Promise<RescheduleResult | 'debounced'> {
    for (let move = 0; move < MOST_MOVES; move += 1) {
      for (const name of queue === undefined ? await this.store.names.all() : [queue]) {
        const result = await this.#move(id, name, whenOf(delay, dueAt));
        if (result !== 'unknown') return result;
      }
      const found = await findJob(this.store, id, queue);
      if (found === undefined || found === 'unseen') return 'unknown';
      if (found.state !== 'delayed') return found.state === 'ready' ? 'ready' : 'running';
    }
    return 'unknown';
  }

  /** Page by page from the last one: jobs that become ready or are pushed meanwhile hide nothing. */
  async #move(id: string, queue: string, when: string | number): Promise<RescheduleResult | 'debounced'> {
    const keys = ['ready', 'delayed', 'notify', 'lanes', 'held'] as const;
    const consequence = `job ${id} was not rescheduled`;
    let from = 0;
    for (let call = 0; call < MOST_DELAYED_SEARCHES; call += 1) {
      const [word, seen] = await this.store.recorded.ask('reschedule', queue, keys, [id, when, from], consequence);
      const result = String(word);
      if (result !== 'unseen') return result as RescheduleResult | 'debounced';
      from = Number(seen);
    }
    return 'unknown';
  }

  async pause(queue: string, seconds?: Seconds): Promise<boolean> {
    // Otherwise nobody would find its hash again.
    await this.store.cluster?.ordered.add(queue);
    const args = [queue, seconds ?? 'ever'];
    const consequence = `queue '${queue}' was not paused`;
    const [word] = await this.store.recorded.ask('pause', queue, ['control', 'ready'], args, consequence);
    return String(word) === 'paused';
  }

  async resume(queue: string): Promise<boolean> {
    const keys = ['control', 'ready', 'delayed', 'notify'] as const;
    const [word] = await this.store.recorded.ask('resume', queue, keys, [], `queue '${queue}' was not resumed`);
    return String(word) === 'resumed';
  }

  async limit(queue: string, running = 0): Promise<void> {
    await this.store.cluster?.ordered.add(queue);
    const consequence = `the limit of queue '${queue}' was not changed`;
    await this.store.recorded.ask('limit', queue, ['control', 'ready', 'notify'], [running], consequence);
  }

  async limits(): Promise<readonly RunningLimit[]> {
    const limits: RunningLimit[] = [];
    for (const [, field, running] of await this.#orders('the limits of queues were not read')) {
      if (!field.startsWith(RUNNING)) continue;
      limits.push({ queue: this.store.keys.queueOf(field.slice(RUNNING.length)), running: Number(running) });
    }
    return limits.toSorted((a, b) => (a.queue < b.queue ? -1 : 1));
  }

  async paused(): Promise<readonly Pause[]> {
    const pauses: Pause[] = [];
    const controlOf = new Map<string, string>();
    for (const [key, field, name, orders] of await this.#orders('the paused queues were not read')) {
      if (!field.startsWith('paused:')) continue;
      const end = orders[field.replace('paused:', 'until:')];
      pauses.push(pauseOf(String(name), end === undefined ? Infinity : Number(end) * 1000));
      controlOf.set(String(name), key);
    }
    // Usually no pause has an end, and no further call is needed.
    const now = pauses.some(({ until }) => until !== undefined) ? await this.store.caller.time() : 0;
    const lasting = pauses.filter(({ until = Infinity }) => until > now);
    const over = pauses.filter(({ until = Infinity }) => until <= now).map(({ queue }) => queue);
    for (const [control, queues] of groupsOf(over, (queue) => controlOf.get(queue)!)) this.#tidy(control, queues);
    return lasting.toSorted((a, b) => (a.queue < b.queue ? -1 : 1));
  }

  /** Removes what is left of pauses that are over, so that it does not pile up. */
  #tidy(control: string, queues: readonly string[]): void {
    const { caller, keys } = this.store;
    for (const page of pagesOf(queues, () => 0)) {
      const readies = page.map((queue) => keys.queue(queue).ready);
      const consequence = 'pauses that are over were not removed';
      caller.script('tidy-pauses', [control], readies, consequence).catch(() => undefined);
    }
  }

  async restart(): Promise<void> {
    const token = uuidv7();
    for (const key of await this.#controls()) {
      await this.store.caller.command('hset', [key, 'restart', token], 'not all workers were told to restart');
    }
  }

  /** The fields of all hashes of orders, each with its hash. */
  async #orders(consequence: string): Promise<readonly Order[]> {
    const all: Order[] = [];
    for (const key of await this.#controls()) {
      // ioredis returns an object for this command only.
      const orders = (await this.store.caller.command('hgetall', [key], consequence)) as Readonly<
        Record<string, Buffer>
      >;
      for (const [field, value] of Object.entries(orders)) all.push([key, field, value, orders]);
    }
    return all;
  }

  async #controls(): Promise<readonly string[]> {
    const { cluster, keys } = this.store;
    if (cluster === undefined) return [keys.control];
    return (await cluster.ordered.all()).map((queue) => keys.queue(queue).control);
  }

  async #look({ id, queue, left }: Sought, way: Way, reason: string, from = 0): Promise<Look> {
    const keys = [...WAITING_STATES, ...TIES, 'notify'] as const;
    const args = [id, way, reason, from];
    const [word, told] = await this.store.recorded.ask('cancel', queue, keys, args, `job ${id} was not cancelled`);
    if (Buffer.isBuffer(told)) left?.(queue, told);
    return { result: String(word) as Look['result'], seen: Number(told ?? 0) };
  }
}
