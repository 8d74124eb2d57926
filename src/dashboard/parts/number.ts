/** Numbers for people. */

const WHOLE = new Intl.NumberFormat('en-US');
const ROUNDED = new Intl.NumberFormat('en-US', { maximumSignificantDigits: 3 });

/** `1,234,567`, and `0.25` */
export function numberText(value: number): string {
  return Number.isInteger(value) ? WHOLE.format(value) : ROUNDED.format(value);
}

/** To one decimal. */
export function tenths(value: number): number {
  return Math.round(value * 10) / 10;
}

/** `1 job`, `2 jobs` */
export function counted(count: number, noun: string, plural = `${noun}s`): string {
  return `${numberText(count)} ${count === 1 ? noun : plural}`;
}
