/**
 * Values stand in a statement as hexadecimal digits. They mean the same in every mode and character set of a server, no value
 * can be taken for SQL, and several statements can travel together, which prepared ones cannot.
 */
import { raw, type Sql, type SqlValue } from '../statement';

/** The statement as it is sent. */
export function inline({ text, values }: Sql): string {
  let at = 0;
  return text.replaceAll('?', () => literal(values[at++]!));
}

/** A name that is known to hold nothing but letters, digits and underscores. */
export const identifier = (name: string): Sql => raw(`\`${name}\``);

function literal(value: SqlValue): string {
  if (typeof value === 'string') return `_utf8mb4 X'${Buffer.from(value).toString('hex')}'`;
  return Buffer.isBuffer(value) ? `X'${value.toString('hex')}'` : String(value);
}
