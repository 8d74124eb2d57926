/** What all parts of a connection share. */
import type { RedisCaller } from './caller';
import type { Keys } from './keys';
import type { QueueNames } from './queue-names';
import type { RecordedCalls } from './recorded-calls';
import type { SilentMasters } from './silent-masters';

export interface RedisStore {
  readonly caller: RedisCaller;
  readonly keys: Keys;
  readonly recorded: RecordedCalls;
  /** The names of all queues ever used. */
  readonly names: QueueNames;
  readonly cluster: RedisCluster | undefined;
}

/** A part of a connection: its failed jobs, locks, batches, records or orders. */
export abstract class RedisPart {
  protected readonly store: RedisStore;

  constructor(store: RedisStore) {
    this.store = store;
  }
}

export interface RedisCluster {
  /** The queues whose workers hear of orders. */
  readonly ordered: QueueNames;
  readonly masters: SilentMasters;
}
