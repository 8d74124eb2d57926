/** Clients that people give to a driver of another kind, recognised by their shape: most have methods of the same names. */
import { isRecord } from '../payload/kinds';

type Shape = Readonly<Record<string, unknown>>;

const isFunction = (value: unknown): boolean => typeof value === 'function';

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
