/** What a server says of its version, beside the oldest one that a driver was made for. */

export interface OldVersion {
  /** The connection's name in the configuration. */
  readonly connection: string;
  /** `Connection.address`: without a password. */
  readonly address: string;
  /** Product and version, as `needed` is. */
  readonly found: string;
  readonly needed: string;
  /** What was not done for it, as a clause: `SendEmail was not queued`. */
  readonly consequence: string;
}

/** By major and minor number. One that says none is taken for new enough. */
export function isOlder(version: string, needed: string): boolean {
  const [major, minor] = numbersOf(version);
  const [neededMajor, neededMinor] = numbersOf(needed);
  return major < neededMajor || (major === neededMajor && minor < neededMinor);
}

function numbersOf(version: string): [major: number, minor: number] {
  const [major = '', minor = ''] = version.split('.');
  return [Number.parseInt(major, 10), Number.parseInt(minor, 10)];
}
