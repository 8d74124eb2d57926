/** The columns that differ on PostgreSQL. */
import { isUtf8 } from 'node:buffer';
import type { Seconds } from '../../../base/clock';
import { type Sql, sql } from '../statement';

/** When a delayed job is due. Laravel writes only whole seconds. */
export const DUE = 'coalesce(due_at, available_at::double precision)';

/** The time by the server's clock: seconds since 1970, to the microsecond. The offset is 0 outside tests. */
export const now = (offset: Seconds): Sql =>
  sql`(extract(epoch FROM statement_timestamp())::double precision + ${offset}::double precision)`;

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
