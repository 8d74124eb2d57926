/** Checks the address of a Redis before a client does, whose error would contain the password. */
import { address, oneOrMore } from '../../application/configuration/configuration-values';
import type { Check } from '../driver';
import { masked, problemOfAddress } from '../kit/requirements';

const SCHEME = /^rediss?:\/\//;

const withScheme = address(SCHEME, 'redis://127.0.0.1:6379/0');

const DATABASE = /^\d{1,5}$/;

export const url: Check = (given) => socketProblem(given) ?? withScheme(given) ?? problemOf(given as string);

/** `unix:///run/redis.sock`, `redis+unix://…`, `redis:///run/redis.sock` and a bare path: other clients take them. */
const SOCKET = /^(?:(?:(?:redis\+)?unix|rediss?):\/\/(?:[^/@]*@)?)?(\/[^?#@]+[/.][^?#@]*)(?:\?[^@]*)?$/;

function socketProblem(given: unknown): string | undefined {
  const path = typeof given === 'string' ? SOCKET.exec(given)?.[1] : undefined;
  return path === undefined ? undefined : `a Unix socket is no address; leave url out, and give path: '${path}'`;
}

/** What other clients read in an address. Options of TLS are not only texts, and a client that ignored them would be trusted. */
const TLS_FIELD = /^(?:tls|ssl.*|rejectUnauthorized|ca|cert|key)$/i;

/** The first field of the query that says something about TLS and cannot be. `tls=true` can. */
function tlsFieldIn({ searchParams }: URL): string | undefined {
  return [...searchParams].find(([name, value]) => TLS_FIELD.test(name) && !(name === 'tls' && value === 'true'))?.[0];
}

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
  const problem = problemOfAddress(given);
  if (problem !== undefined) return problem;
  const url = new URL(given);
  const tlsField = tlsFieldIn(url);
  if (tlsField !== undefined) {
    return `'${tlsField}' in the query of '${masked(given)}' would have no effect; write rediss:// for TLS, and its options in tls: { … }`;
  }
  const databases = [url.pathname.replace(/^\//, ''), url.searchParams.get('db') ?? ''];
  const wrong = databases.find((database) => database !== '' && !DATABASE.test(database));
  return wrong === undefined
    ? undefined
    : `'${wrong}' in '${masked(given)}' is no database; give its number behind the host, from 0: redis://127.0.0.1:6379/0`;
}
