/** What stands in the columns. Each state of a job has a partial index, whose condition is repeated to the letter. */
import { isUtf8 } from 'node:buffer';
import type { Seconds } from '../../../base/clock';
import { type Sql, sql } from '../statement';

/** In line: it has a place there, and nobody holds it. */
export const READY = 'place IS NOT NULL AND reserved_at IS NULL';
/** Waits for its moment; also a job of another program, which knows no places. */
export const DELAYED = 'place IS NULL AND reserved_at IS NULL';
export const RESERVED = 'reserved_at IS NOT NULL';

/** When a delayed job is due. Laravel writes whole seconds alone. */
export const DUE = 'coalesce(due_at, available_at::double precision)';

/** Grows by one with each reservation of a job. */
export const FENCE = '(attempts + crashes + releases)';

/** The payload has an `id`, and it stands in `uuid`. */
export const KNOWN_ID = "uuid <> ''";
/** Inserted by another program: nobody has looked for its `id` yet. */
export const UNREAD_ID = 'uuid IS NULL';

/** Seconds since 1970, to the microsecond, by the server's clock; the offset is 0 outside tests. */
export const now = (offset: Seconds): Sql =>
  sql`(extract(epoch FROM statement_timestamp())::double precision + ${offset}::double precision)`;

/** When a pause ends, seconds since 1970; later than all moments: when it is resumed. */
export const PAUSED_UNTIL = "coalesce(ends_at, 'Infinity')";

/** A text cannot hold the character NUL, nor what is not UTF-8: then the bytes stand beside what can be read of them. */
export function textAndBytes(payload: Buffer): { readonly text: string; readonly bytes: string | null } {
  const text = payload.toString();
  const whole = isUtf8(payload) && !text.includes('\0');
  return { text: storable(text), bytes: whole ? null : payload.toString('base64') };
}

export const storable = (text: string): string => text.replaceAll('\0', '\uFFFD').toWellFormed();
