/** Loads the package that a driver needs, when a connection is first used: nobody else has to install it. */
import { missingPeer } from '../errors';

export interface Need {
  readonly connection: string;
  /** What needs the package, for display: `database on PostgreSQL`. */
  readonly driver: string;
  readonly peer: string;
}

/**
 * @param load a literal `() => require('pg')`, so that a bundler sees which package it is
 * @throws E_MISSING_PEER, and what the package throws while it loads
 */
export function loadPeer<Package>({ connection, driver, peer }: Need, load: () => Package): Package {
  try {
    return load();
  } catch (error) {
    // A package that is installed but lacks a dependency must say so itself.
    const { code, message } = error as NodeJS.ErrnoException;
    if (code !== 'MODULE_NOT_FOUND' || !message.includes(`'${peer}'`)) throw error;
    throw missingPeer(connection, driver, peer, error);
  }
}
