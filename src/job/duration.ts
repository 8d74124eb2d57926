/** Durations as users write them, and the only parser that turns them into seconds. */
import type { Milliseconds, Seconds } from '../base/clock';
import { invalidDuration } from './errors';

export type DurationUnit = 'ms' | 's' | 'm' | 'h' | 'd';

/** A number means seconds, as in Laravel; a string carries its unit. */
export type Duration = number | `${number}${DurationUnit}`;

/** A duration from now, or a moment. */
export type Delay = Duration | Date;

const SECONDS_IN: Readonly<Record<DurationUnit, number>> = { ms: 0.001, s: 1, m: 60, h: 3600, d: 86_400 };

const WRITTEN = /^(\d+(?:\.\d+)?)(ms|s|m|h|d)$/;

/** Some 3000 years. Anything longer is a mistake (a moment in milliseconds, say), and no store could count it. */
export const LONGEST_DURATION: Seconds = 1e11;

/** From this value on, a bare number of seconds was probably meant as milliseconds. */
const SUSPICIOUS: Seconds = 1000;

/**
 * Seconds, possibly with a fraction.
 * @param subject what the duration is for, as the error names it: "timeout on SendEmail"
 * @throws E_INVALID_DURATION
 */
export function durationSeconds(value: unknown, subject: string): Seconds {
  const seconds = secondsOf(value);
  if (seconds === undefined) {
    const problem = typeof value === 'number' && value < 0 ? 'is negative' : undefined;
    throw invalidDuration(value, subject, meantBy(value), problem);
  }
  if (seconds > LONGEST_DURATION) throw invalidDuration(value, subject, undefined, 'is longer than 3000 years');
  return seconds;
}

/** Seconds, or the moment as it was given. @throws E_INVALID_DURATION the value is neither a duration nor a moment */
export function checkDelay(value: unknown, subject: string): Seconds | Date {
  if (!(value instanceof Date)) return durationSeconds(value, subject);
  momentOf(value, subject);
  return value;
}

/** @throws E_INVALID_DURATION the date is invalid */
export function momentOf(date: Date, subject: string): Milliseconds {
  const moment = date.getTime();
  if (Number.isNaN(moment)) throw invalidDuration(date, subject, undefined);
  return moment;
}

/**
 * Checks a plain string, for example from the environment: `duration(process.env.TIMEOUT ?? '30s')`.
 * @throws E_INVALID_DURATION
 */
export function duration(text: string): Duration {
  durationSeconds(text, 'duration()');
  return text as Duration;
}

/** A bare number of seconds that was probably meant as milliseconds. */
export function isSuspiciouslyManySeconds(value: unknown): value is number {
  return typeof value === 'number' && value >= SUSPICIOUS;
}

/** The subjects already warned about. Another copy of the package may warn once more. */
const warned = new Set<string>();

/**
 * Warns, once for each subject, about a bare number that was probably meant as milliseconds: a process warning with the code
 * `ONQUEUE_SECONDS`. Do not call it for spans that are often hours long, such as a worker's `maxTime`.
 */
export function warnOfManySeconds(value: unknown, subject: string): void {
  if (!isSuspiciouslyManySeconds(value) || warned.has(subject)) return;
  warned.add(subject);
  process.emitWarning(
    `${subject}: a number is seconds, and ${value} is ${inWords(value)}. ` +
      `Write '${value / 1000}s' if milliseconds were meant, '${value}s' if not.`,
    { type: 'OnqueueWarning', code: 'ONQUEUE_SECONDS' },
  );
}

function inWords(seconds: Seconds): string {
  const unit = seconds < 3600 ? 'm' : seconds < 172_800 ? 'h' : 'd';
  const word = { m: 'minutes', h: 'hours', d: 'days' }[unit];
  return `${Math.round((seconds / SECONDS_IN[unit]) * 10) / 10} ${word}`;
}

function secondsOf(value: unknown): Seconds | undefined {
  if (typeof value === 'number') return value >= 0 && value < Infinity ? value : undefined;
  if (typeof value !== 'string') return undefined;
  const [, amount, unit] = WRITTEN.exec(value) ?? [];
  // Rounded to the microsecond: 700 × 0.001 is 0.7000000000000001, and errors would show that.
  return amount === undefined ? undefined : Math.round(Number(amount) * SECONDS_IN[unit as DurationUnit] * 1e6) / 1e6;
}

// '2 minutes' → '2m', ' 5s' → '5s', '1e3s' → '1000s'. Months are excluded: they begin like minutes.
function meantBy(value: unknown): string | undefined {
  if (typeof value !== 'string') return undefined;
  const written = /^\s*(\d[\d.e+]*)\s*(ms|milli|s|mo|m|h|d)[a-z]*\s*$/i.exec(value);
  const amount = Number(written?.[1]);
  const unit = written?.[2]?.toLowerCase().replace('milli', 'ms');
  return unit === undefined || unit === 'mo' || !WRITTEN.test(`${amount}${unit}`) ? undefined : `${amount}${unit}`;
}
