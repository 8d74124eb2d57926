/** What a driver requires before it works: a client of its kind, an address, a package, a server that is new and near enough. */
import { isRecord } from '../../payload/values';
import { missingPeer, type Unserved } from '../errors';
import type { Clock } from '../../base/clock';
import type { Diagnosis } from '../contract';

type Shape = Readonly<Record<string, unknown>>;

const isFunction = (value: unknown): boolean => typeof value === 'function';

/** Clients that people give to a driver of another kind, recognised by their shape: most have methods of the same names. */
const CLIENTS: readonly (readonly [name: string, holds: (given: Shape) => boolean])[] = [
  ['a client of ioredis', ({ status, duplicate }) => typeof status === 'string' && isFunction(duplicate)],
  [
    'a client of node-redis (the package redis)',
    ({ isOpen, duplicate }) => typeof isOpen === 'boolean' && isFunction(duplicate),
  ],
  ['a pool of pg', ({ connect, totalCount }) => isFunction(connect) && typeof totalCount === 'number'],
  [
    'a single client of pg',
    ({ connect, connectionParameters }) => isFunction(connect) && isRecord(connectionParameters),
  ],
  ['a cluster of pools of mysql2', ({ getConnection, of }) => isFunction(getConnection) && isFunction(of)],
  ['a pool of mysql2', ({ getConnection }) => isFunction(getConnection)],
  ['a single connection of mysql2', (given) => isFunction(given['connect']) && 'threadId' in given],
];

export const isIoredis = (given: unknown): boolean => knownClient(given) === 'a client of ioredis';

/** Also a pool of the user's own that hands out connections in the same way. */
export function isPool(given: unknown): boolean {
  const known = knownClient(given);
  if (known !== undefined) return known.startsWith('a pool of ');
  return isRecord(given) && (isFunction(given['connect']) || isFunction(given['getConnection']));
}

/** What the value is, such as `a pool of pg`. Undefined if it is none of these. */
export function knownClient(given: unknown): string | undefined {
  if (typeof given !== 'object' || given === null) return undefined;
  return CLIENTS.find(([, holds]) => holds(given as Shape))?.[0];
}

/** An option about TLS, as any library calls it: `ssl_mode`, `requiressl`, `useTLS`. */
export const TLS_NAME = /ssl|tls/i;

/** A host as it stands in an address: IPv6 in brackets. */
export const bracketed = (host: string): string => (host.includes(':') ? `[${host}]` : host);

/** A host as sockets take it. */
export const unbracketed = (host: string): string => host.replace(/^\[(.*)\]$/, '$1');

const REMEDY = 'percent-encode # / ? % @ in the password';

export const isPort = (given: unknown): boolean =>
  /^\d+$/.test(String(given)) && Number(given) >= 1 && Number(given) <= 65_535;

/** The port behind a host. */
const PORT = /^(?:\[.*\]|[^:]*):(\d+)$/;

/**
 * What is wrong with an address, without anything that may be a password: the error of a client would contain the password, or
 * say that nobody is there. `given` has a scheme.
 */
export function problemOfAddress(given: string): string | undefined {
  const url = URL.canParse(given) ? new URL(given) : undefined;
  const isWhole = url !== undefined && url.hash === '' && !isCutOff(url);
  const place = isWhole ? url.host : /:\/\/(?:.*@)?([^/?#]*)/s.exec(given)![1]!;
  const shown = masked(given);
  if (/^[^:].*,/.test(place))
    return `'${shown}' names several hosts, and the client takes one; give the one that accepts writes`;
  const port = PORT.exec(place)?.[1] ?? url?.searchParams.get('port') ?? undefined;
  if (port !== undefined && !isPort(port)) return `'${port}' in '${shown}' is no port; give a number from 1 to 65535`;
  if (!isWhole) {
    return `'${shown}' cannot be read as an address; write host:port, with IPv6 in brackets, and ${REMEDY}`;
  }
  return isDecodable(url.username) && isDecodable(url.password)
    ? undefined
    : `the user or the password in '${shown}' has a % that encodes nothing; ${REMEDY}`;
}

/** An @ after the host belongs to a password that was cut off there: the rest would be lost or taken for a database. */
function isCutOff({ username, password, pathname, search }: URL): boolean {
  const options = username + password === '' ? search : search.replaceAll(/=[^&]*/g, '');
  return (pathname + options).includes('@');
}

/**
 * Masks what may belong to the password: everything up to the last @, what stands in place of a missing host or port, and a query.
 */
export function masked(given: string): string {
  return given
    .replace(/:\/\/.*@/s, '://***@')
    .replace(/(:\/\/[^@:/?#[\]]+:)(?!\d*(?:[/?#]|$)).*$/s, '$1***')
    .replace(/:\/\/:.*$/s, '://***')
    .replace(/[?#].*$/s, '');
}

function isDecodable(text: string): boolean {
  try {
    decodeURIComponent(text);
    return true;
  } catch {
    return false;
  }
}

/** A package that a connection needs, when it is first used: nobody else has to install it. */
export interface Need {
  readonly connection: string;
  /** What needs the package, for display: `database on PostgreSQL`. */
  readonly driver: string;
  readonly peer: string;
}

/**
 * E_MISSING_PEER, or what the package itself threw while it was loaded. Each driver has its `require` within a `try` of its own,
 * with the name written out: so bundlers see which package it is, and take one that is not installed for optional.
 */
export function peerError({ connection, driver, peer }: Need, error: unknown): unknown {
  // A package that is installed but lacks a dependency must say so itself.
  const { code, message } = error as NodeJS.ErrnoException;
  const isMissing = code === 'MODULE_NOT_FOUND' && message.includes(`'${peer}'`);
  return isMissing ? missingPeer(connection, driver, peer, error) : error;
}

/** A server's version, and the oldest one that a driver supports. */
export interface OldVersion extends Unserved {
  /** Product and version, in the form of `needed`. */
  readonly found: string;
  readonly needed: string;
}

/** Compares two versions number by number. A server without a version counts as new enough. */
export function isOlder(version: string, needed: string): boolean {
  return version !== '' && version.localeCompare(needed, 'en', { numeric: true }) < 0;
}

/** In milliseconds. Every job takes at least one such round trip. */
const SLOW = 20;

/**
 * How long a store takes to answer, for `onqueue check`.
 *
 * @param ask sends a question. Extra costs of the first one, such as connecting, have to be paid before
 * @param trips how many round trips a job takes: `at least one`
 */
export async function latencyOf(clock: Clock, trips: string, ask: () => Promise<unknown>): Promise<Diagnosis> {
  const sentAt = clock.monotonic();
  await ask();
  const took = Math.round((clock.monotonic() - sentAt) * 10) / 10;
  const isSlow = took > SLOW;
  const advice = isSlow ? `; each job takes ${trips}. Bring the worker nearer to the server.` : '';
  return {
    level: isSlow ? 'warning' : 'ok',
    subject: 'latency',
    message: `${took} ms for a round trip${advice}`,
  };
}
