/** Whether an address means only this machine. */
import { isIPv4 } from 'node:net';

/** @param host the address that a server listens on */
export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || (isIPv4(host) && host.startsWith('127.'));
}

/**
 * Whether a `Host` header names this machine. It does not if a page of another site points its own host name here. The port may
 * differ: a tunnel may lead here from any port.
 */
export function namesLoopback(header: string): boolean {
  const [, name = ''] = /^(.*?)(?::\d+)?$/.exec(header) ?? [];
  return isLoopback(name.replace(/^\[(.*)\]$/, '$1').toLowerCase());
}
