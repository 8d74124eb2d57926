/** The capabilities of a store that lacks nothing. Drivers say which of them theirs lacks. */
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
  control: true,
};
