/** Checks the address of a Redis before a client does, whose error would contain the password. */
import { address, oneOrMore } from '../../application/configuration/configuration-values';
import type { Check } from '../driver';

const SCHEME = /^rediss?:\/\//;

const withScheme = address(SCHEME, 'redis://127.0.0.1:6379/0');

const REMEDY = 'percent-encode # / ? % @ in the password';

const DATABASE = /^\d{1,5}$/;

export const url: Check = (given) => withScheme(given) ?? problemOf(given as string);

/** The nodes of a cluster: addresses and hosts. */
export const nodes: Check = (given) => {
  const problem = oneOrMore(given);
  if (problem !== undefined) return problem;
  const urls = (given as readonly unknown[]).filter((node) => typeof node === 'string' && SCHEME.test(node));
  return (urls as readonly string[]).map(problemOf).find((wrong) => wrong !== undefined);
};

/**
 * What is wrong with the address, without anything that may be a password. Undefined if nothing is. `given` has a scheme.
 */
function problemOf(given: string): string | undefined {
  const url = URL.canParse(given) ? new URL(given) : undefined;
  // An @ or # after the host belongs to a password that was cut off there: the rest would be lost or taken for a database.
  if (url === undefined || url.hash !== '' || /@/.test(url.pathname + url.search)) {
    return `'${masked(given)}' cannot be read as an address; ${REMEDY}, and give the port as a number`;
  }
  if (!isDecodable(url.username) || !isDecodable(url.password)) {
    return `the user or the password in '${masked(given)}' has a % that encodes nothing; ${REMEDY}`;
  }
  const databases = [url.pathname.replace(/^\//, ''), url.searchParams.get('db') ?? ''];
  const wrong = databases.find((database) => database !== '' && !DATABASE.test(database));
  return wrong === undefined
    ? undefined
    : `'${wrong}' in '${masked(given)}' is no database; give its number behind the host, from 0: redis://127.0.0.1:6379/0`;
}

/**
 * Masks what may belong to the password: everything up to the last @, what stands in place of a missing host, and a query.
 */
function masked(given: string): string {
  return given
    .replace(/:\/\/.*@/s, '://***@')
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
