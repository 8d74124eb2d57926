/** What all parts of a connection work with. */
import type { RedisCaller } from './caller';
import type { Keys } from './keys';
import type { QueueNames } from './queue-names';

export interface RedisStore {
  readonly caller: RedisCaller;
  readonly keys: Keys;
  /** The queues that were ever used. */
  readonly names: QueueNames;
  /** Only in a cluster: the queues whose workers hear of orders. */
  readonly ordered: QueueNames | undefined;
  /** @throws ConnectionClosedError naming the operation */
  readonly checkOpen: (operation: string) => void;
}
