/**
 * Runs a statement within a transaction that a library of the user's has begun: each library that is known is recognised by its
 * shape, in a file of its own, for it is none of our dependencies.
 */
import { drizzle } from './drizzle';
import { knex } from './knex';
import { kysely } from './kysely';
import { mikroOrm } from './mikro-orm';
import { postgresJs } from './postgres-js';
import { prisma } from './prisma';

/** Gives what the library makes of the rows: a list of them, or an object with `rows`. */
export type RawQuery = (text: string, values: readonly unknown[]) => Promise<unknown>;

/** Undefined: it is not of this library. `'none'`: it is, and no transaction. */
export type Recognise = (given: Readonly<Record<string, unknown>>) => RawQuery | 'none' | undefined;

const LIBRARIES: readonly Recognise[] = [kysely, drizzle, mikroOrm, prisma, knex, postgresJs, anything];

/** Undefined: it is none of them, or no transaction. */
export function rawQueryOf(transaction: unknown): RawQuery | undefined {
  if ((typeof transaction !== 'object' && typeof transaction !== 'function') || transaction === null) return undefined;
  for (const recognise of LIBRARIES) {
    const query = recognise(transaction as Readonly<Record<string, unknown>>);
    if (query !== undefined) return query === 'none' ? undefined : query;
  }
  return undefined;
}

/** A client of pg or mysql2, an entity manager or a query runner of TypeORM, or what the user has written. */
function anything(given: { readonly query?: unknown }): RawQuery | undefined {
  if (typeof given.query !== 'function') return undefined;
  const client = given as { query(text: string, values?: readonly unknown[]): Promise<unknown> };
  return (text, values) => (values.length === 0 ? client.query(text) : client.query(text, values));
}
