/**
 * The address of tables: of their server, checked before a client does it, and their names in it.
 *
 * The address of a server is checked for its password, and options that the client would ignore without a word, so that
 * what was to be encrypted would not be.
 */
import { address } from '../../application/configuration/configuration-values';
import type { Check } from '../driver';
import { masked, problemOfAddress, TLS_NAME } from '../kit/requirements';
import { badTableName } from './errors';

const EXAMPLES =
  'sqlite:./onqueue.sqlite, postgres://user:password@host:5432/database or mysql://user:password@host:3306/database';

const withScheme = address(/^(sqlite:|(postgres(ql)?|mysql|mariadb):\/\/)/, EXAMPLES);

export const url: Check = (given) => withScheme(given) ?? problemOf(given as string);

type Server = 'postgres' | 'mysql';

/** What the clients read about TLS in an address, and among their options. All other names they ignore. */
const KNOWN: Readonly<Record<Server, readonly string[]>> = {
  postgres: ['ssl', 'sslmode', 'sslcert', 'sslkey', 'sslrootcert', 'sslnegotiation'],
  mysql: ['ssl'],
};
const KNOWN_OPTIONS: typeof KNOWN = { postgres: ['ssl', 'sslnegotiation'], mysql: ['ssl'] };

const INSTEAD = { postgres: 'sslmode=verify-full', mysql: 'ssl={"rejectUnauthorized":true}' };

/** The option that names a socket. */
const SOCKET: Readonly<Record<Server, string>> = { postgres: 'host', mysql: 'socketPath' };

const serverIn = (given: string): Server => (given.startsWith('postgres') ? 'postgres' : 'mysql');

/** The first option about TLS that the client would ignore. @param given the address of a server */
export function ignoredOption(given: string, options: object): string | undefined {
  const known = KNOWN_OPTIONS[serverIn(given)];
  return Object.keys(options).find((name) => TLS_NAME.test(name) && !known.includes(name));
}

function problemOf(given: string): string | undefined {
  if (given.startsWith('sqlite:')) return undefined;
  const kind = serverIn(given);
  // pg takes an address without a host, if the host is an option.
  const read = kind === 'postgres' ? given.replace('@/', '@localhost/') : given;
  const problem = problemOfAddress(read);
  if (problem !== undefined) return problem;
  const { searchParams, pathname, hostname } = new URL(read);
  const where = `in '${masked(given)}'`;
  const [database, socket] = [pathname.slice(1), SOCKET[kind]];
  if (database.includes('/') || (kind === 'mysql' && hostname.startsWith('%2F'))) {
    return `'${database}' ${where} is no database; name it alone behind the host, and a socket behind ?${socket}=`;
  }
  for (const [name, value] of searchParams) {
    if (name !== socket && value.startsWith('/') && /^(host|.*socket.*)$/i.test(name)) {
      return `'${name}' ${where} names no socket to the client; write ?${socket}=${value}`;
    }
    if (TLS_NAME.test(name) && !KNOWN[kind].includes(name)) {
      return `'${name}' ${where} is no option of the client, which would ignore it; write ${INSTEAD[kind]}`;
    }
    if (name === 'sslmode' && !/^(disable|prefer|require|verify-ca|verify-full|no-verify)$/.test(value)) {
      return `sslmode=${value} ${where} means nothing to the client; write sslmode=verify-full, or sslmode=disable`;
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
  return optionIn(given, 'schema') || undefined;
}

/** An option after the `?` of an address, which need not have a host. */
export function optionIn(given: string | undefined, name: string): string | null {
  return new URLSearchParams(/\?.*$/s.exec(given ?? '')?.[0]).get(name);
}

export type TableNames = Readonly<ReturnType<typeof tableNames>>;

/**
 * The versions of all tables that Onqueue created in a database. `PRAGMA user_version` belongs to other users of the file.
 */
export const VERSIONS_TABLE = 'onqueue_versions';

/**
 * The row beside the tables' version that says since which version of the tables programs lose nothing on these. A program that
 * knows that version can still be started on newer tables, so that a deploy can be rolled back.
 */
export const sinceRow = ({ jobs }: TableNames): string => `${jobs} since`;

/** @param since what that row says; undefined: there is none */
export const areTooNew = (version: number, since: number | undefined, known: number): boolean =>
  version > known && (since ?? version) > known;

/** In seconds: the default of Laravel's `retry_after`. */
export const LARAVELS_LEASE = 90;

/** @throws E_DATABASE_TABLE_NAME */
export function tableNames(table: string, connection: string) {
  if (!/^(?!sqlite_)[a-z_][a-z\d_]{0,47}$/i.test(table)) throw badTableName(connection, table);
  return {
    /** Waiting and running jobs: Laravel's columns and our own. */
    jobs: table,
    /** Jobs that are out of tries. */
    failed: `failed_${table}`,
    /** The names of the queues that were pushed to. */
    queues: `${table}_queues`,
    locks: `${table}_locks`,
    /** Which queues are paused, and when workers were last told to restart. */
    orders: `${table}_orders`,
    /** The outcome of each client's last calls, on servers, where answers can get lost. */
    calls: `${table}_calls`,
    /** How many jobs of each batch are left, and what it sends. */
    batches: `${table}_batches`,
    /** Which job took each unique key last: on MySQL, where this is not in the rows of jobs. */
    uniqueKeys: `${table}_unique_keys`,
    /** Records about jobs, which expire. */
    records: `${table}_records`,
    /** Sums about jobs, and how far each source of counts has come. */
    sums: `${table}_sums`,
    /** How many jobs of each lane may be in. */
    lanes: `${table}_lanes`,
  };
}

export function eachTable<T>(names: TableNames, make: (name: string) => T): Readonly<Record<keyof TableNames, T>> {
  const made = Object.entries(names).map(([table, name]: [string, string]) => [table, make(name)]);
  return Object.fromEntries(made) as Record<keyof TableNames, T>;
}
