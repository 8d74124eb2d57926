/** The capabilities of a store that lacks nothing, and of one that keeps no jobs. Drivers state how theirs differ. */
import type { Capabilities } from '../contract';

export const ALL_CAPABLE: Capabilities = {
  delay: true,
  moments: true,
  reserve: true,
  renew: true,
  counts: true,
  exactCounts: true,
  order: true,
  requeue: true,
  clear: true,
  peek: true,
  wake: true,
  failed: true,
  locks: true,
  follows: true,
  ties: true,
  batches: true,
  control: true,
  operations: true,
  recordWake: true,
};

export const STORELESS: Capabilities = {
  delay: false,
  reserve: false,
  renew: false,
  counts: true,
  exactCounts: true,
  order: false,
  requeue: false,
  clear: false,
  peek: false,
  wake: false,
  failed: false,
  locks: false,
  control: false,
};
