/** What beanstalkd can do. */
import type { Capabilities } from '../contract';
import { ALL_CAPABLE } from '../kit/capabilities';

export const BEANSTALKD: Capabilities = {
  ...ALL_CAPABLE,
  moments: false,
  // A job keeps the place of its age, whether it was delayed or released.
  requeue: false,
  // The server shows only the first job of a state.
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
