/**
 * Adds to sums on databases with `ON CONFLICT`. For each source a row of its own records how far it has come: its name is
 * empty, and the source is its field.
 */
import type { Addition } from './dialect';
import { insertInto, type Sql, sql } from './statement';

/** The name of the rows that record how far each source has come. */
export const SOURCES = '';

/** Writes nothing if the source has come as far before. */
export function noteSequence(sums: Sql, { source, sequence }: Omit<Addition, 'amounts'>, end: Sql): Sql {
  const row = { name: SOURCES, field: source, amount: sequence, ends_at: end };
  return sql`${insertInto(sql`${sums} AS known`, row)} ON CONFLICT (name, field)
    DO UPDATE SET amount = excluded.amount, ends_at = excluded.ends_at WHERE known.amount < excluded.amount`;
}

/** @param amounts selects name, field, amount and end of each */
export const addAmounts = (sums: Sql, amounts: Sql): Sql =>
  sql`INSERT INTO ${sums} AS known (name, field, amount, ends_at) ${amounts}
    ON CONFLICT (name, field) DO UPDATE SET amount = known.amount + excluded.amount, ends_at = excluded.ends_at`;
