/** A server's version, and the oldest one that a driver supports. */

export interface OldVersion {
  /** The connection's name in the configuration. */
  readonly connection: string;
  /** `Connection.address`: without a password. */
  readonly address: string;
  /** Product and version, in the form of `needed`. */
  readonly found: string;
  readonly needed: string;
  /** What was not done because of it, as a clause: `SendEmail was not queued`. */
  readonly consequence: string;
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
