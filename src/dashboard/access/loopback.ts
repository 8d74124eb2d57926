/** Whether only this machine is meant. */
import { isIPv4 } from 'node:net';

/** @param host that a server is to be heard on */
export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || (isIPv4(host) && host.startsWith('127.'));
}

/**
 * Whether a header `Host` says so, as it does unless a page of another site has had its own name lead here. Its port may be another
 * one: a tunnel leads here from any.
 */
export function namesLoopback(header: string): boolean {
  const [, name = ''] = /^(.*?)(?::\d+)?$/.exec(header) ?? [];
  return isLoopback(name.replace(/^\[(.*)\]$/, '$1').toLowerCase());
}
