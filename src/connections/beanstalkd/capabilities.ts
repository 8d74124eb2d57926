/** What can be done with beanstalkd. */
import type { Capabilities } from '../contract';
import { ALL_CAPABLE } from '../kit/capabilities';

export const BEANSTALKD: Capabilities = {
  ...ALL_CAPABLE,
  moments: false,
  // A job keeps the place of its age, whether it was delayed or given back.
  requeue: false,
  // The server shows the first job of a state, and no others.
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
