/** The capabilities that stores share. Drivers state how theirs differ. */
import type { Capabilities } from '../contract';

/** Lacks nothing. */
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
  failed: true,
  locks: true,
  follows: true,
  ties: true,
  batches: true,
  control: true,
  operations: true,
  recordWake: true,
};

/** Hands out jobs, and keeps nothing else. */
export const JOBS_ALONE: Capabilities = {
  ...ALL_CAPABLE,
  moments: false,
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

/** Keeps no jobs. */
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
  failed: false,
  locks: false,
  control: false,
};
