/**
 * The `memory` driver: a whole store in this process. It is the executable model that the scripts of Redis are compared
 * with, and what tests run on; jobs end with the process.
 */
import { ALL_CAPABLE } from '../kit/all-capable';
import type { Clock, Milliseconds, Seconds } from '../../base/clock';
import type { FailedEntry } from '../failed-store';
import type { MemoryConfig } from '../configs';
import type {
  Connection,
  Counts,
  Diagnosis,
  Entry,
  PeekedJob,
  RenewResult,
  Reservation,
  ReserveReply,
  ReserveRequest,
  Settlement,
  SettleResult,
  Waiter,
  WaitingState,
} from '../contract';
import { ConnectionClosedError } from '../errors';
import { OpenWaiters } from '../kit/open-waiters';
import { MemoryControl } from './memory-control';
import { MemoryFailedStore } from './memory-failed-store';
import type { Lock } from './memory-lock-store';
import { MemoryLockStore } from './memory-lock-store';
import type { MemoryQueueState } from './memory-queue';
import { MemoryStore } from './memory-store';
import { MemoryWaiter } from './memory-waiter';

export interface MemoryContext {
  /** The connection's name in the configuration. */
  readonly name: string;
  readonly clock: Clock;
}

/** All of a store, for tests that compare whole states. */
export interface MemorySnapshot {
  readonly queues: ReadonlyMap<string, MemoryQueueState>;
  /** In the order in which they failed. */
  readonly failed: readonly FailedEntry[];
  readonly locks: ReadonlyMap<string, Lock>;
}

export class MemoryConnection implements Connection {
  readonly name: string;
  readonly driver = 'memory';
  readonly address = `memory of process ${process.pid}`;
  readonly capabilities = ALL_CAPABLE;
  readonly failed: MemoryFailedStore;
  readonly locks: MemoryLockStore;
  readonly control: MemoryControl;
  /** It freezes with its worker. */
  readonly threadAccess = null;
  readonly #store: MemoryStore;
  readonly #waiters = new OpenWaiters();
  #closed = false;

  constructor(name: string, store: MemoryStore) {
    this.name = name;
    this.#store = store;
    const checkOpen = (operation: string): void => this.#checkOpen(operation);
    this.failed = new MemoryFailedStore(store, checkOpen);
    this.locks = new MemoryLockStore(store, checkOpen);
    this.control = new MemoryControl(store, checkOpen);
  }

  /** Another connection to the same store, as another process has one to the same Redis. */
  duplicate(): MemoryConnection {
    return new MemoryConnection(this.name, this.#store);
  }

  async push(queue: string, entries: readonly Entry[]): Promise<void> {
    this.#checkOpen('push');
    this.#store.push(
      queue,
      entries.map((entry) => ({ ...entry, payload: Buffer.from(entry.payload) })),
    );
  }

  async reserve(request: ReserveRequest): Promise<ReserveReply> {
    this.#checkOpen('reserve');
    return this.#store.reserve(request);
  }

  async settle(settlements: readonly Settlement[]): Promise<readonly SettleResult[]> {
    this.#checkOpen('settle');
    return this.#store.settle(settlements);
  }

  async settleAndReserve(
    settlements: readonly Settlement[],
    request: ReserveRequest,
  ): Promise<{ readonly results: readonly SettleResult[]; readonly reply: ReserveReply }> {
    this.#checkOpen('settleAndReserve');
    const results = this.#store.settle(settlements);
    return { results, reply: this.#store.reserve(request) };
  }

  async renew(reservations: readonly Reservation[], lease: Seconds): Promise<readonly RenewResult[]> {
    this.#checkOpen('renew');
    return reservations.map((reservation) => this.#store.renew(reservation, lease));
  }

  async counts(queue: string): Promise<Counts> {
    this.#checkOpen('counts');
    return this.#store.queue(queue).counts;
  }

  async clear(queue: string): Promise<number> {
    this.#checkOpen('clear');
    return this.#store.clear(queue);
  }

  async peek(queue: string, state: WaitingState, limit: number): Promise<readonly PeekedJob[]> {
    this.#checkOpen('peek');
    return this.#store.queue(queue).peek(state, limit);
  }

  async queues(): Promise<readonly string[]> {
    this.#checkOpen('queues');
    return this.#store.queueNames;
  }

  async now(): Promise<Milliseconds> {
    return this.#store.clock.now();
  }

  waiter(queues: readonly string[]): Waiter {
    this.#checkOpen('waiter');
    const waiter = new MemoryWaiter(this.name, this.#store, queues);
    return this.#waiters.add(waiter);
  }

  async diagnose(): Promise<readonly Diagnosis[]> {
    this.#checkOpen('diagnose');
    return [{ level: 'warning', subject: 'memory', message: 'Jobs are lost when the process ends.' }];
  }

  async close(): Promise<void> {
    this.#closed = true;
    await this.#waiters.close();
  }

  snapshot(): MemorySnapshot {
    const names = this.#store.queueNames;
    const queues = new Map(names.map((name) => [name, this.#store.queue(name).snapshot()]));
    return { queues, failed: [...this.#store.failed.values()], locks: new Map(this.#store.locks) };
  }

  #checkOpen(operation: string): void {
    if (this.#closed) throw new ConnectionClosedError(this.name, operation);
  }
}

/** Each call makes a store of its own. */
export function connectMemory(_config: MemoryConfig, context: MemoryContext): MemoryConnection {
  return new MemoryConnection(context.name, new MemoryStore(context.name, context.clock));
}
