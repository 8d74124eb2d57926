/** A server's version, and the oldest one that a driver supports. */
import type { Unserved } from '../errors';

export interface OldVersion extends Unserved {
  /** Product and version, in the form of `needed`. */
  readonly found: string;
  readonly needed: string;
}

/** Compares major and minor numbers. A server without a version counts as new enough. */
export function isOlder(version: string, needed: string): boolean {
  const [major, minor] = numbersOf(version);
  const [neededMajor, neededMinor] = numbersOf(needed);
  return major < neededMajor || (major === neededMajor && minor < neededMinor);
}

function numbersOf(version: string): [major: number, minor: number] {
  const [major = '', minor = ''] = version.split('.');
  return [Number.parseInt(major, 10), Number.parseInt(minor, 10)];
}
