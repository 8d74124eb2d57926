/** What stands in the columns that PostgreSQL has of its own. */
import { isUtf8 } from 'node:buffer';
import type { Seconds } from '../../../base/clock';
import { type Sql, sql } from '../statement';

/** When a delayed job is due. Laravel writes whole seconds alone. */
export const DUE = 'coalesce(due_at, available_at::double precision)';

/** Seconds since 1970, to the microsecond, by the server's clock; the offset is 0 outside tests. */
export const now = (offset: Seconds): Sql =>
  sql`(extract(epoch FROM statement_timestamp())::double precision + ${offset}::double precision)`;

/** When a pause ends, seconds since 1970; later than all moments: when it is resumed. */
export const PAUSED_UNTIL = "coalesce(ends_at, 'Infinity')";

/** A batch that was cancelled while jobs of it are left: those that wait are handed out as cancelled. */
export const CANCELLING = 'cancelled_at IS NOT NULL AND finished_at IS NULL';

/** A text cannot hold the character NUL, nor what is not UTF-8: then the bytes stand beside what can be read of them. */
export function textAndBytes(payload: Buffer): { readonly text: string; readonly bytes: string | null } {
  const text = payload.toString();
  const whole = isUtf8(payload) && !text.includes('\0');
  return { text: storable(text), bytes: whole ? null : payload.toString('base64') };
}

export const storable = (text: string): string => text.replaceAll('\0', '\uFFFD').toWellFormed();
