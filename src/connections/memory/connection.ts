/**
 * The `memory` driver: a whole store in this process. It is the executable model that the Redis scripts are compared with,
 * and the store that tests run on; its jobs end with the process.
 */
import type { MemoryConfig } from './driver';
import type { Clock, Milliseconds, Seconds, Timer } from '../../base/clock';
import type { BatchStore, NewBatch } from '../batch-store';
import type {
  Connection,
  Diagnosis,
  Entry,
  Pushed,
  RenewResult,
  Reservation,
  Settled,
  Settlement,
  Wanted,
  Control,
  Queues,
  KeyStore,
  LaneStore,
} from '../contract';
import type { FailedEntry } from '../failed-store';
import type { KeptBatch } from '../kit/batch-counts';
import type { RecordStore } from '../record-store';
import { ALL_CAPABLE } from '../driver';
import { StoreConnection, NOTHING, Waits, type Wake } from '../kit/connection';
import { MemoryFailedStore, MemoryRecordWake, type Lock, type MemoryLockStore } from './kept';
import type { Holder } from './ties';
import type { MemoryQueueState } from './queue';
import type { Text } from './texts';
import { entryOf, MemoryStore } from './store';

/** The whole store, for tests that compare states. */
export interface MemorySnapshot {
  readonly queues: ReadonlyMap<string, MemoryQueueState>;
  /** In the order in which they failed. */
  readonly failed: readonly FailedEntry[];
  readonly locks: ReadonlyMap<string, Lock>;
  /** The holders of unique keys, by key. */
  readonly unique: ReadonlyMap<string, Holder>;
  readonly batches: ReadonlyMap<string, KeptBatch>;
}

export class MemoryConnection extends StoreConnection implements Connection {
  readonly driver = 'memory';
  readonly address = `memory of process ${process.pid}`;
  readonly capabilities = ALL_CAPABLE;
  readonly failed: MemoryFailedStore;
  readonly locks: MemoryLockStore;
  readonly batches: BatchStore;
  readonly records: RecordStore;
  /** It freezes together with its worker. */
  readonly threadAccess = null;
  readonly #store: MemoryStore;
  readonly #recordWake: MemoryRecordWake;
  readonly #waits: Waits;

  constructor(name: string, store: MemoryStore) {
    super(name);
    this.#store = store;
    this.#waits = new Waits(store.clock);
    this.failed = this.whileOpen('failed', new MemoryFailedStore(store));
    this.locks = this.whileOpen('locks', store.locks);
    this.#recordWake = new MemoryRecordWake(store.records, (operation) => this.checkOpen(operation));
    this.records = Object.assign(this.whileOpen('records', store.records), { wake: this.#recordWake });
    this.batches = this.whileOpen(
      'batches',
      store.batches.store(() => store.changed()),
    );
  }

  /** Another connection to the same store, like a second process on the same Redis. */
  duplicate(): MemoryConnection {
    return new MemoryConnection(this.name, this.#store);
  }

  async push(queue: string, entries: readonly Entry[], begins?: NewBatch): Promise<readonly Pushed[] | void> {
    this.checkOpen('push');
    return this.#store.push(queue, entries.map(entryOf), begins);
  }

  async exchange(settlements: readonly Settlement[], wanted?: Wanted): Promise<Settled> {
    this.checkOpen('exchange');
    const results = this.#store.settle(settlements);
    if (wanted === undefined) return { ...NOTHING, results };
    const listening = { listen: (wake: Wake) => this.#listen(wanted.queues, wake) };
    return { results, reply: await this.#waits.reserve(wanted, listening, async () => this.#store.reserve(wanted)) };
  }

  async renew(reservations: readonly Reservation[], lease: Seconds): Promise<readonly RenewResult[]> {
    this.checkOpen('renew');
    return reservations.map((reservation) => this.#store.renew(reservation, lease));
  }

  readonly queues: Required<Queues> = this.whileOpen('queues', {
    names: async () => this.#store.queueNames,
    counts: async (queue) => this.#store.queue(queue).counts,
    clear: async (queue) => this.#store.clear(queue),
    peek: async (queue, state, limit, after) =>
      this.#store.queue(queue).peek(state, limit, after === undefined ? undefined : Number(after)),
    find: async (id, queue) => this.#store.find(id, queue === undefined ? this.#store.queueNames : [queue]),
    forget: async (queue) => this.#store.forget(queue),
  });

  readonly keys: KeyStore = this.whileOpen('keys', {
    pushOnce: async (page, once) => this.#store.pushOnce(page, once),
  });

  readonly lanes: LaneStore = this.whileOpen('lanes', {
    list: async (queue, after) => this.#store.queue(queue).lanes.list(after),
    find: async (queue, lane) => this.#store.queue(queue).lanes.find(lane),
    change: async (queue, lane, change) => this.#store.changeLane(queue, lane, change),
  });

  async now(): Promise<Milliseconds> {
    return this.#store.clock.now();
  }

  readonly control: Control = this.whileOpen('control', {
    cancel: async (id, queue, reason, left) =>
      this.#store.cancel(id, queue === undefined ? this.#store.queueNames : [queue], reason, left),
    cancelled: async (reservations) =>
      reservations.map(({ queue, token }) => this.#store.queue(queue).cancelled(token as Text)),
    reschedule: async (id, to, queue) =>
      this.#store.reschedule(id, to, queue === undefined ? this.#store.queueNames : [queue]),
    pause: async (queue, seconds) => this.#store.pause(queue, seconds),
    resume: async (queue) => this.#store.resume(queue),
    paused: async () => this.#store.paused,
    limit: async (queue, running) => this.#store.limit(queue, running),
    limits: async () => this.#store.limits,
    restart: async () => this.#store.restart(),
  });

  async diagnose(): Promise<readonly Diagnosis[]> {
    this.checkOpen('diagnose');
    return [{ level: 'warning', subject: 'memory', message: 'Jobs are lost when the process ends.' }];
  }

  snapshot(): MemorySnapshot {
    const names = this.#store.queueNames;
    const queues = new Map(names.map((name) => [name, this.#store.queue(name).snapshot()]));
    return {
      queues,
      failed: [...this.#store.failed.values()],
      locks: this.#store.locks.snapshot(),
      unique: new Map(this.#store.unique),
      batches: this.#store.batches.snapshot(),
    };
  }

  protected async end(): Promise<void> {
    this.#recordWake.close();
    this.#waits.close();
  }

  // Looks at the state itself: a change before the wait counts as well.
  #listen(queues: readonly string[], wake: Wake): () => void {
    let timer: Timer | undefined;
    const look = (): void => {
      timer?.cancel();
      const left = this.#store.nextIn(queues);
      if (left <= 0) wake();
      else if (left < Infinity) timer = this.#store.clock.after(left * 1000, look, true);
    };
    const unwatch = this.#store.watch(look);
    look();
    return () => {
      timer?.cancel();
      unwatch();
    };
  }
}

/** Each call makes a store of its own. */
export function connectMemory(
  _config: MemoryConfig,
  { name, clock }: { readonly name: string; readonly clock: Clock },
): MemoryConnection {
  return new MemoryConnection(name, new MemoryStore(name, clock));
}
