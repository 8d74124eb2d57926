/** What can be done with Amazon SQS. */
import type { Capabilities } from '../contract';
import { ALL_CAPABLE } from '../kit/capabilities';

export const SQS: Capabilities = {
  ...ALL_CAPABLE,
  moments: false,
  exactCounts: false,
  // FIFO queues keep one in each group.
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
