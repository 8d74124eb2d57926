/** How names and columns are written on PostgreSQL. */
import { eachTable, VERSIONS_TABLE, type TableNames } from '../address';
import { isUtf8 } from 'node:buffer';
import type { Seconds } from '../../../base/clock';
import { sql } from '../statement';

/** The names of a connection's tables and functions, as written in statements, and its time. */
export type Identifiers = Readonly<ReturnType<typeof identifiers>>;

/** @param offset seconds to add to the server's clock: 0 outside tests */
export function identifiers(given: TableNames, offset: () => Seconds = () => 0) {
  const { jobs } = given;
  return {
    given,
    offset,
    /** The time by the server's clock: seconds since 1970, to the microsecond. */
    now: () => sql`(extract(epoch FROM statement_timestamp())::double precision + ${offset()}::double precision)`,
    ...eachTable(given, quoted),
    versions: quoted(VERSIONS_TABLE),
    /** The sequence that provides places in line. */
    places: quoted(`${jobs}_places`),
    /** A function's name contains the version of the tables that introduced it: older processes go on calling theirs. */
    push: quoted(`${jobs}_push_v10`),
    pushTied: quoted(`${jobs}_push_tied_v10`),
    pushBatch: quoted(`${jobs}_push_batch_v10`),
    exchange: quoted(`${jobs}_exchange_v10`),
    retake: quoted(`${jobs}_retake_v5`),
    letIn: quoted(`${jobs}_let_in_v10`),
    enter: quoted(`${jobs}_enter_v10`),
    changeBatches: quoted(`${jobs}_change_batches_v6`),
    /** The channel for hints to waiting workers: as text, not quoted. */
    channel: `onqueue_${jobs}`,
    /** The channel for those who wait for a record: as text, not quoted. */
    recordChannel: `onqueue_${jobs}_told`,
  };
}

export const quoted = (name: string): string => `"${name}"`;

/** A name as a string literal. Names of tables contain no quotation marks. */
export const literal = (name: string): string => `'${name}'`;

/** When a delayed job is due. Laravel writes only whole seconds. */
export const DUE = 'coalesce(due_at, available_at::double precision)';

/** When a pause ends: seconds since 1970, or Infinity: when it is resumed. */
export const PAUSED_UNTIL = "coalesce(ends_at, 'Infinity')";

/** A cancelled batch with jobs left: those that wait are handed out as cancelled. */
export const CANCELLING = 'cancelled_at IS NOT NULL AND finished_at IS NULL';

/**
 * A text column can hold neither NUL characters nor invalid UTF-8. For payloads with these, the exact bytes are kept beside
 * the readable text.
 */
export function textAndBytes(payload: Buffer): { readonly text: string; readonly bytes: string | null } {
  const text = payload.toString();
  const whole = isUtf8(payload) && !text.includes('\0');
  return { text: storable(text), bytes: whole ? null : payload.toString('base64') };
}

export const storable = (text: string): string => text.replaceAll('\0', '\uFFFD').toWellFormed();
