/**
 * Checks the address of a database server: its password, and options that the client would ignore without a word, so that
 * what was to be encrypted would not be.
 */
import { address } from '../../application/configuration/configuration-values';
import type { Check } from '../driver';
import { masked, problemOfAddress } from '../kit/requirements';

const EXAMPLES =
  'sqlite:./onqueue.sqlite, postgres://user:password@host:5432/database or mysql://user:password@host:3306/database';

const withScheme = address(/^(sqlite:|(postgres(ql)?|mysql|mariadb):\/\/)/, EXAMPLES);

export const url: Check = (given) => withScheme(given) ?? problemOf(given as string);

/** Names of options about TLS that other libraries have. */
const FOREIGN = {
  postgres: /^(tls.*|ssl-?mode|sslaccept|use_?ssl)$/i,
  mysql: /^(tls.*|ssl.+|use_?ssl|require_?ssl)$/i,
};

const INSTEAD = { postgres: 'sslmode=verify-full', mysql: 'ssl={"rejectUnauthorized":true}' };

function problemOf(given: string): string | undefined {
  if (given.startsWith('sqlite:')) return undefined;
  const kind = given.startsWith('postgres') ? 'postgres' : 'mysql';
  // pg takes an address without a host, if the host is an option.
  const read = kind === 'postgres' ? given.replace('@/', '@localhost/') : given;
  const problem = problemOfAddress(read);
  if (problem !== undefined) return problem;
  const { searchParams } = new URL(read);
  const where = `in '${masked(given)}'`;
  for (const [name, value] of searchParams) {
    const isKnown = kind === 'postgres' && name === 'sslmode';
    if (FOREIGN[kind].test(name) && !isKnown) {
      return `'${name}' ${where} is no option of the client, which would ignore it; write ${INSTEAD[kind]}`;
    }
    if (kind === 'postgres' && name === 'ssl' && !/^(true|1|0|no-verify)$/.test(value)) {
      return `ssl=${value} ${where} means nothing to the client; write sslmode=verify-full, or sslmode=disable`;
    }
    if (kind === 'mysql' && name === 'ssl' && !isTls(parsed(value))) {
      return `ssl=${value} ${where} means nothing to the client; write ${INSTEAD.mysql}, or give the option \`ssl\` as an object`;
    }
    if (kind === 'mysql' && name === 'schema') {
      return `'schema' ${where} does not exist in MySQL, where a schema is a database; name it behind the host`;
    }
  }
  return undefined;
}

/** Whether mysql2 takes it as its option `ssl`. */
export const isTls = (value: unknown): boolean =>
  value === undefined || value === null || value === false || value === 'Amazon RDS' || typeof value === 'object';

/** The value of an option in an address of MySQL: JSON, or a text. */
export function parsed(value: string): unknown {
  try {
    return JSON.parse(value);
  } catch {
    return value;
  }
}

/** The option of Prisma's addresses that says where tables are; undefined: where the server would look for them. */
export function schemaIn(given: string | undefined): string | undefined {
  const encoded = /[?&]schema=([^&#]+)/.exec(given ?? '')?.[1];
  return encoded === undefined ? undefined : decodeURIComponent(encoded.replaceAll('+', ' '));
}
