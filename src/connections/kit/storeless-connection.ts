/** A connection that keeps no jobs: it answers like an empty store, and hands out nothing. */
import type { Capabilities, Connection, Counts, Diagnosis, Entry, PeekedJob, RenewResult, Settled } from '../contract';
import { StoreConnection } from './store-connection';

export abstract class StorelessConnection extends StoreConnection implements Connection {
  abstract override readonly driver: string;
  abstract readonly address: string;
  abstract readonly capabilities: Capabilities;

  abstract push(queue: string, entries: readonly Entry[]): Promise<void>;

  abstract diagnose(): Promise<readonly Diagnosis[]>;

  async exchange(): Promise<Settled> {
    throw this.lacks('exchange', 'reserve');
  }

  async renew(): Promise<readonly RenewResult[]> {
    throw this.lacks('renew', 'renew');
  }

  async counts(_queue: string): Promise<Counts> {
    this.checkOpen('counts');
    return { ready: 0, delayed: 0, reserved: 0 };
  }

  async clear(_queue: string): Promise<number> {
    this.checkOpen('clear');
    return 0;
  }

  async peek(): Promise<readonly PeekedJob[]> {
    this.checkOpen('peek');
    return [];
  }

  async queues(): Promise<readonly string[]> {
    this.checkOpen('queues');
    return [];
  }
}
