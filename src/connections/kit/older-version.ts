/** A server's version, and the oldest one that a driver supports. */
import type { Unserved } from '../errors';

export interface OldVersion extends Unserved {
  /** Product and version, in the form of `needed`. */
  readonly found: string;
  readonly needed: string;
}

/** Compares two versions number by number. A server without a version counts as new enough. */
export function isOlder(version: string, needed: string): boolean {
  return version !== '' && version.localeCompare(needed, 'en', { numeric: true }) < 0;
}
