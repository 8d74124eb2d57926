/** The `null` driver: takes every job and throws it away, for runs in which nothing may be queued. */
import type { Seconds } from '../../base/clock';
import type { NullConfig } from '../configs';
import type {
  Capabilities,
  Connection,
  Counts,
  Diagnosis,
  Entry,
  PeekedJob,
  Reservation,
  ReserveReply,
  ReserveRequest,
  Settlement,
  SettleResult,
  Waiter,
  WaitingState,
} from '../contract';
import { CapabilityError, ConnectionClosedError } from '../errors';
import type { Capability } from '../errors';

/** What an empty queue can answer truthfully stands; nothing can be handed out or kept. */
const CAPABILITIES: Capabilities = {
  delay: true,
  reserve: false,
  renew: false,
  counts: true,
  exactCounts: true,
  order: false,
  requeue: false,
  clear: true,
  peek: true,
  wake: false,
  failed: false,
  locks: false,
  control: false,
};

export class NullConnection implements Connection {
  readonly name: string;
  readonly driver = 'null';
  readonly address = 'nowhere';
  readonly capabilities = CAPABILITIES;
  #closed = false;

  constructor(name: string) {
    this.name = name;
  }

  async push(_queue: string, _entries: readonly Entry[]): Promise<void> {
    this.#checkOpen('push');
  }

  async reserve(_request: ReserveRequest): Promise<ReserveReply> {
    throw this.#lacks('reserve', 'reserve');
  }

  async settle(_settlements: readonly Settlement[]): Promise<readonly SettleResult[]> {
    throw this.#lacks('settle', 'reserve');
  }

  async renew(_reservations: readonly Reservation[], _lease: Seconds): Promise<readonly ('renewed' | 'lost')[]> {
    throw this.#lacks('renew', 'renew');
  }

  async counts(_queue: string): Promise<Counts> {
    this.#checkOpen('counts');
    return { ready: 0, delayed: 0, reserved: 0 };
  }

  async clear(_queue: string): Promise<number> {
    this.#checkOpen('clear');
    return 0;
  }

  async peek(_queue: string, _state: WaitingState, _limit: number): Promise<readonly PeekedJob[]> {
    this.#checkOpen('peek');
    return [];
  }

  async queues(): Promise<readonly string[]> {
    this.#checkOpen('queues');
    return [];
  }

  waiter(_queues: readonly string[]): Waiter {
    throw this.#lacks('waiter', 'reserve');
  }

  async diagnose(): Promise<readonly Diagnosis[]> {
    this.#checkOpen('diagnose');
    return [{ level: 'warning', subject: 'null', message: 'Every job is thrown away.' }];
  }

  async close(): Promise<void> {
    this.#closed = true;
  }

  /** A closed connection says that first: another driver would not help. */
  #lacks(operation: string, capability: Capability): Error {
    this.#checkOpen(operation);
    return new CapabilityError(this.name, this.driver, capability);
  }

  #checkOpen(operation: string): void {
    if (this.#closed) throw new ConnectionClosedError(this.name, operation);
  }
}

export function connectNull(_config: NullConfig, context: { readonly name: string }): NullConnection {
  return new NullConnection(context.name);
}
