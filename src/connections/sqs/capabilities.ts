/** What Amazon SQS can do. */
import type { Capabilities } from '../contract';
import { ALL_CAPABLE } from '../kit/capabilities';

export const SQS: Capabilities = {
  ...ALL_CAPABLE,
  moments: false,
  exactCounts: false,
  // FIFO queues keep an order within each group.
  order: false,
  requeue: false,
  peek: false,
  failed: false,
  locks: false,
  follows: false,
  ties: false,
  batches: false,
  control: false,
  operations: false,
  recordWake: false,
};
