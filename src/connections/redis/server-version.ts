/** Which server it is, by what it says of itself, and whether it is too old for the scripts. */
import { isOlder } from '../kit/older-version';

export const NEEDED_VERSION = '6.2';

export interface ServerVersion {
  /** For people: `Redis 7.0.15`. */
  readonly found: string;
  readonly isOld: boolean;
}

/** @param field what INFO says under a name. One that says no version is taken for new enough. */
export function serverVersion(field: (name: string) => string | undefined): ServerVersion {
  const valkey = field('valkey_version');
  const version = field('redis_version') ?? '';
  return {
    found: valkey === undefined ? `Redis ${version}` : `Valkey ${valkey}`,
    isOld: isOlder(version, NEEDED_VERSION),
  };
}

/** What a connection to a server ends with that is too old, before anything is asked of it. */
export class OldServer extends Error {
  readonly found: string;

  constructor(found: string) {
    super(`it is ${found}`);
    this.found = found;
  }
}
