/** The `redis` driver: moves payloads between the keys of a Redis by scripts, in Laravel's layout. */
import { ALL_CAPABLE } from '../driver';
import { StoreConnection } from '../kit/connection';
import { systemClock, StoreClock, type Milliseconds, type Seconds } from '../../base/clock';
import {
  WAITING_STATES,
  type Capabilities,
  type Connection,
  type Counts,
  type Diagnosis,
  type Entry,
  type PeekedJob,
  type Pushed,
  type RenewResult,
  type Reservation,
  type Settled,
  type Settlement,
  type ThreadAccess,
  type WaitingState,
  type Wanted,
  type StoreThread,
  type KeyStore,
  type AtOnce,
  type Queues,
  type LanePage,
} from '../contract';
import type { RedisConfig } from './driver';
import type { NewBatch } from '../batch-store';
import type { LockStore } from '../lock-store';
import { groupsOf, Recent, pagesOf } from '../../base/collections';
import { threadModule } from '../../base/environment';
import { clientSource, threadOptions, sourceOfThread, type ClientSource, type ThreadOptions } from './client';
import { diagnose, recount } from './diagnose';
import { callTooLong } from './refusals';
import { RedisExchange } from './exchange';
import { TIES, clientId } from './keys';
import { PushLane, PUSHES_AT_ONCE, pushOnce } from './push';
import { RedisPart, RedisStore, type RedisContext } from './store';
import { RedisBatchStore } from './batches';
import { findJob, momentOf, RedisControl, RedisLanes } from './control';
import { RedisFailedStore } from './failed';
import { RedisRecordStore } from './records';
import type { ScriptName } from './scripts';
import { silentLogger } from '../../base/logger';

/** Most queues that are pushed to at one time. A queue that returns after this many others starts a new record. */
const MOST_LANES = 1000;
/** Calls that read one page of jobs: each copies 1 MiB, during which Redis serves nobody else. */
const MOST_LOOKS = 8;

const DEFAULT_PREFIX = 'queues:';

/** Before the place of a job that its lane holds. */
const HELD = 'h';

/** In a cluster a script reaches the keys of only one queue. */
const DIVIDED: Capabilities = { ...ALL_CAPABLE, follows: 'queue' };

export class RedisConnection extends StoreConnection implements Connection {
  readonly driver = 'redis';
  readonly address: string;
  readonly capabilities: Capabilities;
  readonly atOnce: AtOnce;
  readonly failed: RedisFailedStore;
  readonly locks: RedisLockStore;
  readonly batches: RedisBatchStore;
  readonly lanes: RedisLanes;
  readonly control: RedisControl;
  readonly records: RedisRecordStore;
  readonly #source: ClientSource;
  readonly #prefix: string;
  readonly #context: RedisContext;
  readonly #store: RedisStore;
  readonly #exchange: RedisExchange;
  readonly #pushes = new Recent<string, PushLane>(MOST_LANES, (lane) => lane.isIdle);
  readonly #storeClock: StoreClock;

  constructor(source: ClientSource, prefix: string, context: RedisContext) {
    super(context.name);
    this.address = source.address;
    this.capabilities = source.cluster ? DIVIDED : ALL_CAPABLE;
    // In a cluster the calls of a queue are sent one after another.
    this.atOnce = { calls: source.cluster ? 1 : 2, pushes: PUSHES_AT_ONCE };
    this.#source = source;
    this.#prefix = prefix;
    this.#context = context;
    this.#storeClock = new StoreClock(context.clock);
    this.#store = new RedisStore(source, prefix, context);
    this.#exchange = new RedisExchange(this.#store);
    this.failed = this.whileOpen('failed', new RedisFailedStore(this.#store));
    this.locks = this.whileOpen('locks', new RedisLockStore(this.#store));
    this.batches = this.whileOpen('batches', new RedisBatchStore(this.#store));
    this.lanes = this.whileOpen('lanes', new RedisLanes(this.#store));
    this.control = this.whileOpen('control', new RedisControl(this.#store));
    const records = new RedisRecordStore(this.#store, (operation) => this.checkOpen(operation));
    this.records = this.whileOpen('records', records);
  }

  get threadAccess(): ThreadAccess | undefined {
    const { name, deadline, origin, offset } = this.#context;
    const options = threadOptions(this.#source.template);
    if (options === undefined || offset !== undefined) return undefined;
    const data: ThreadData = { name, deadline, origin, options, prefix: this.#prefix };
    return { module: threadModule('connections/redis/connection'), data };
  }

  get isAway(): boolean {
    return this.#store.caller.isAway;
  }

  async push(queue: string, entries: readonly Entry[], begins?: NewBatch): Promise<readonly Pushed[] | undefined> {
    this.checkOpen('push');
    const { names } = this.#store;
    const lane = this.#pushes.ensure(queue, () => new PushLane(this.#store, queue));
    names.note(queue);
    // Nobody else pushes to the queues of a batch's callbacks.
    for (const callback of begins?.callbacks ?? []) names.note(callback.queue);
    return lane.push(entries, begins);
  }

  readonly queues: Required<Queues> = this.whileOpen('queues', {
    names: () => this.#store.names.all(),
    counts: (queue) => this.#counts(queue),
    clear: (queue) => this.#clear(queue),
    peek: (queue, state, limit, after) => this.#peek(queue, state, limit, after),
    find: (id, queue) => findJob(this.#store, id, queue),
    forget: (queue) => this.#forget(queue),
  });

  readonly keys: Required<KeyStore> = this.whileOpen('keys', {
    pushOnce: (page, once) => pushOnce(this.#store, page, once),
    recount: (options) => recount(this.#store, options),
  });

  exchange(settlements: readonly Settlement[], wanted?: Wanted): Promise<Settled> {
    this.checkOpen('exchange');
    return this.#exchange.exchange(settlements, wanted);
  }

  async renew(reservations: readonly Reservation[], lease: Seconds): Promise<readonly RenewResult[]> {
    this.checkOpen('renew');
    const results: RenewResult[] = [];
    const groups = groupsOf(reservations.keys(), (at) => reservations[at]!.queue);
    await Promise.all(
      Array.from(groups, async ([queue, places]) => {
        const held = places.map((at) => reservations[at]!);
        const renewed = await this.#renewQueue(queue, held, lease);
        places.forEach((at, index) => (results[at] = renewed[index]!));
      }),
    );
    return results;
  }

  async #renewQueue(queue: string, held: readonly Reservation[], lease: Seconds): Promise<readonly RenewResult[]> {
    const results: RenewResult[] = [];
    for (const page of pagesOf(held, ({ payload }) => payload.length)) {
      const renewed = await this.#renewPage(queue, page, lease).catch(async (error: unknown) => {
        if (!callTooLong.is(error)) throw error;
        // It will not be settled either, so its lease is as good as lost.
        if (page.length === 1) return ['lost' as const];
        return (await Promise.all(page.map((one) => this.#renewQueue(queue, [one], lease)))).flat();
      });
      results.push(...renewed);
    }
    return results;
  }

  async #renewPage(queue: string, page: readonly Reservation[], lease: Seconds): Promise<readonly RenewResult[]> {
    const { reserved, cancelled } = this.#store.keys.queue(queue);
    const texts = page.map(({ payload }) => payload);
    const consequence = `the leases of ${page.length} jobs were not renewed`;
    const answer = await this.#store.caller.script('renew', [reserved, cancelled], [lease, ...texts], consequence);
    const [, lost, ending] = answer as [word: Buffer, lost: readonly number[], ending: readonly number[]];
    const results = page.map((): RenewResult => 'renewed');
    for (const place of ending) results[place - 1] = 'cancelled';
    for (const place of lost) results[place - 1] = 'lost';
    return results;
  }

  async #counts(queue: string): Promise<Counts> {
    const { caller, keys } = this.#store;
    const states = keys.of(queue, [...WAITING_STATES, 'held']);
    const answer = await caller.script('counts', states, [], `queue '${queue}' was not counted`);
    const [ready, delayed, reserved] = answer.slice(1) as [ready: number, delayed: number, reserved: number];
    return { ready, delayed, reserved };
  }

  async #clear(queue: string): Promise<number> {
    const consequence = `queue '${queue}' was not cleared`;
    const keys = [...WAITING_STATES, 'notify', ...TIES] as const;
    let cleared = 0;
    let most: unknown = -1;
    for (;;) {
      const [, count, left] = await this.#store.recorded.ask('clear', queue, keys, [Number(most)], consequence);
      cleared += Number(count);
      if (left === undefined) return cleared;
      most = left;
    }
  }

  /**
   * Returns up to `limit` jobs, in a few calls of 100 jobs or 1 MiB: fewer if they are large. A job's place is the number of jobs up to and including it; after
   * `h`, if its lane holds it: such jobs come behind the ready ones.
   */
  async #peek(queue: string, state: WaitingState, limit: number, after = '0'): Promise<readonly PeekedJob[]> {
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
    const { caller, keys } = this.#store;
    const { [state]: key, ready } = keys.queue(queue);
    let from = start;
    for (let calls = 0; from >= 0 && jobs.length < limit && calls < MOST_LOOKS; calls += 1) {
      const args = [state, from, limit - jobs.length, ready];
      const answer = await caller.script('peek', [key], args, 'the jobs were not read');
      const [next, payloads, scores] = answer.slice(1) as [number, readonly Buffer[], readonly Buffer[]];
      for (const [index, payload] of payloads.entries()) {
        const place = `${state === 'held' ? HELD : ''}${from + index + 1}`;
        jobs.push({ payload, ...momentOf(scores[index]), place });
      }
      from = next;
    }
    return from < 0;
  }

  async #forget(queue: string): Promise<boolean> {
    const { caller, cluster, keys, names } = this.#store;
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
    const { caller, keys } = this.#store;
    const { ready, lanes } = keys.queue(queue);
    const consequence = `the lanes of queue '${queue}' were not forgotten`;
    for (let after: string | undefined = '0'; after !== undefined;) {
      const page: LanePage = await this.lanes.list(queue, after);
      const fields = page.lanes.map(({ lane }) => `${ready}\0${lane}`);
      if (fields.length > 0) await caller.command('hdel', [lanes, ...fields], consequence);
      after = page.next;
    }
  }

  now(): Promise<Milliseconds> {
    this.checkOpen('now');
    return this.#storeClock.current(() => this.#store.caller.time());
  }

  async diagnose(): Promise<readonly Diagnosis[]> {
    this.checkOpen('diagnose');
    return diagnose(this.#store);
  }

  protected async end(): Promise<void> {
    this.#exchange.close();
    this.records.listeners.close();
    const { caller } = this.#store;
    await caller.idle();
    caller.link.close();
  }
}

/** Connects only with the first call. */
export function connectRedis(config: RedisConfig, context: RedisContext): RedisConnection {
  return new RedisConnection(clientSource(config), config.prefix ?? DEFAULT_PREFIX, context);
}

/** Locks in Redis: a key that holds the owner's token, and expires by itself. */
export class RedisLockStore extends RedisPart implements LockStore {
  async acquire(name: string, token: string, ttl: Seconds): Promise<boolean> {
    return (await this.#ask('lock-acquire', name, [token, millisecondsOf(ttl)])) === 'acquired';
  }

  async renew(name: string, token: string, ttl: Seconds): Promise<boolean> {
    return (await this.#ask('lock-renew', name, [token, millisecondsOf(ttl)])) === 'renewed';
  }

  async release(name: string, token: string): Promise<boolean> {
    const mark = this.store.keys.released(name, clientId());
    return (await this.#ask('lock-release', name, [token], mark)) === 'released';
  }

  async #ask(
    verb: ScriptName,
    lock: string,
    args: readonly (string | number)[],
    ...keys: readonly string[]
  ): Promise<string> {
    const consequence = `the state of lock '${lock}' is not known`;
    const [word] = await this.store.caller.script(verb, [this.store.keys.lock(lock), ...keys], args, consequence);
    return String(word);
  }
}

/** Redis takes whole milliseconds, at least one. */
function millisecondsOf(ttl: Seconds): number {
  return Math.max(1, Math.round(ttl * 1000));
}

/** What another thread is given to open the same Redis; see `ThreadAccess`. */
export interface ThreadData {
  readonly name: string;
  readonly options: ThreadOptions;
  readonly prefix: string;
  readonly deadline: Seconds;
  readonly origin: string | undefined;
}

/** Has no logger: it reports problems as errors. */
export function open({ options, prefix, ...data }: ThreadData, deadline: Seconds): StoreThread {
  const context = { ...data, deadline: Math.min(data.deadline, deadline), clock: systemClock, logger: silentLogger };
  return new RedisConnection(sourceOfThread(options), prefix, context);
}
