/**
 * Writes values into statements as hexadecimal digits. These mean the same in every mode and character set of a server,
 * cannot be mistaken for SQL, and let several statements travel together, which prepared statements do not.
 */
import { raw, type Sql, type SqlValue } from '../statement';

/** The text of a statement with its values, as it is sent. */
export function inline({ text, values }: Sql): string {
  let at = 0;
  return text.replaceAll('?', () => literal(values[at++]!));
}

/** A name that is known to consist of letters, digits and underscores. */
export const identifier = (name: string): Sql => raw(`\`${name}\``);

function literal(value: SqlValue): string {
  if (typeof value === 'string') return `_utf8mb4 X'${Buffer.from(value).toString('hex')}'`;
  return Buffer.isBuffer(value) ? `X'${value.toString('hex')}'` : String(value);
}
