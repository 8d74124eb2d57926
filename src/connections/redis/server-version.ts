/** Reads the server's name and version from INFO, and tells whether it is too old for the scripts. */
import { isOlder } from '../kit/requirements';

export const NEEDED_VERSION = '6.2';

export interface ServerVersion {
  /** For display: `Redis 7.0.15`. */
  readonly found: string;
  readonly isOld: boolean;
}

/** @param field returns a field of INFO. A server without a version counts as new enough. */
export function serverVersion(field: (name: string) => string | undefined): ServerVersion {
  const valkey = field('valkey_version');
  const version = field('redis_version') ?? '';
  return {
    found: valkey === undefined ? `Redis ${version}` : `Valkey ${valkey}`,
    isOld: isOlder(version, NEEDED_VERSION),
  };
}

/** Ends a connection to a server that is too old, before anything is asked of it. */
export class OldServer extends Error {
  readonly found: string;

  constructor(found: string) {
    super(`it is ${found}`);
    this.found = found;
  }
}
