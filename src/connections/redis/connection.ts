/** The `redis` driver: moves payloads between the keys of a Redis by scripts, in Laravel's layout. */
import { ALL_CAPABLE } from '../driver';
import { StoreConnection } from '../kit/connection';
import { systemClock, StoreClock, type Milliseconds, type Seconds } from '../../base/clock';
import {
  type Capabilities,
  type Connection,
  type Diagnosis,
  type Entry,
  type Pushed,
  type RenewResult,
  type Reservation,
  type Settled,
  type Settlement,
  type ThreadAccess,
  type Wanted,
  type StoreThread,
  type KeyStore,
  type AtOnce,
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
import { clientId } from './keys';
import { PushLane, PUSHES_AT_ONCE, pushOnce } from './push';
import { RedisPart, RedisStore, type RedisContext } from './store';
import { RedisBatchStore } from './batches';
import { RedisControl } from './control';
import { RedisLanes, RedisQueues } from './queues';
import { RedisFailedStore } from './failed';
import { RedisRecordStore } from './records';
import type { ScriptName } from './scripts';
import { silentLogger } from '../../base/logger';

/** Most queues that are pushed to at one time. A queue that returns after this many others starts a new record. */
const MOST_LANES = 1000;
const DEFAULT_PREFIX = 'queues:';

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
  readonly queues: RedisQueues;
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
    this.queues = this.whileOpen('queues', new RedisQueues(this.#store));
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
