/**
 * Why the package that a driver needs could not be loaded, when a connection is first used: nobody else has to install it.
 *
 * Each driver has its `require` within a `try` of its own, with the name written out: so bundlers see which package it is, and
 * take one that is not installed for optional.
 */
import { missingPeer } from '../errors';

export interface Need {
  readonly connection: string;
  /** What needs the package, for display: `database on PostgreSQL`. */
  readonly driver: string;
  readonly peer: string;
}

/** E_MISSING_PEER, or what the package itself threw while it was loaded. */
export function peerError({ connection, driver, peer }: Need, error: unknown): unknown {
  // A package that is installed but lacks a dependency must say so itself.
  const { code, message } = error as NodeJS.ErrnoException;
  const isMissing = code === 'MODULE_NOT_FOUND' && message.includes(`'${peer}'`);
  return isMissing ? missingPeer(connection, driver, peer, error) : error;
}
