/**
 * Statements with values in them: sql`… WHERE queue = ${queue}`.
 *
 * Values stand in a statement as hexadecimal digits. They mean the same in every mode and character set of a server, no
 * value can be taken for SQL, and several statements can travel together, which prepared ones cannot.
 */
export class Sql {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

type SqlPart = Sql | string | number | boolean | Buffer | null | readonly SqlPart[];

/** A list stands as its elements with commas between them: `id IN (${ids})`. */
export function sql(texts: TemplateStringsArray, ...parts: readonly SqlPart[]): Sql {
  return new Sql(texts.map((text, index) => (index === 0 ? text : written(parts[index - 1]!) + text)).join(''));
}

/** A name that is known to hold nothing but letters, digits and underscores. */
export const identifier = (name: string): Sql => new Sql(`\`${name}\``);

function written(part: SqlPart): string {
  if (part instanceof Sql) return part.text;
  if (typeof part === 'string') return `_utf8mb4 X'${Buffer.from(part).toString('hex')}'`;
  if (Buffer.isBuffer(part)) return `X'${part.toString('hex')}'`;
  if (typeof part === 'object' && part !== null) return part.map(written).join(', ');
  return String(part);
}
