/** Compares what a server says of its version with the oldest one that a driver was made for. */

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
