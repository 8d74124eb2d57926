/** Whole numbers of any size, as decimal digits. */

/** To read ten times as many takes a hundred times as long: a single text of a megabyte would block the process. */
export const MAX_DIGITS = 10_000;

const WRITTEN = new RegExp(`^-?\\d{1,${MAX_DIGITS}}$`);

const LIMIT = 10n ** BigInt(MAX_DIGITS);

/** Undefined: it has too many digits. */
export function bigintForm(value: bigint): string | undefined {
  // Compared, and not written: that of millions of digits would take as long as to read it.
  return value < LIMIT && value > -LIMIT ? String(value) : undefined;
}

/** Undefined: it is no whole number, or one of too many digits. */
export function bigintOf(form: unknown): bigint | undefined {
  return typeof form === 'string' && WRITTEN.test(form) ? BigInt(form) : undefined;
}
