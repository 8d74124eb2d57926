/** Durations as users write them, and the only parser that turns them into seconds; and the waits between attempts. */
import type { Milliseconds, Seconds, Random } from '../base/clock';
import { invalidDuration, invalidJobOption } from './errors';

export type DurationUnit = 'ms' | 's' | 'm' | 'h' | 'd';

/** A number means seconds, as in Laravel; a string carries its unit: `'500ms'`, `'30s'`, `'10m'`, `'2h'`, `'1d'`. */
export type Duration = number | `${number}${DurationUnit}`;

/** A duration from now, in seconds or as `'10m'`, or a moment. */
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

/** Like `durationSeconds`, for what must last. @throws E_INVALID_DURATION it is 0, too */
export function lastingSeconds(value: unknown, subject: string): Seconds {
  const seconds = durationSeconds(value, subject);
  if (seconds === 0) throw invalidDuration(value, `${subject}, which must be longer than 0`);
  return seconds;
}

/** Seconds, or the moment as it was given. @throws E_INVALID_DURATION the value is neither a duration nor a moment */
export function checkDelay(value: unknown, subject: string): Seconds | Date {
  if (!(value instanceof Date)) return durationSeconds(value, subject);
  momentOf(value, subject);
  return value;
}

/** A day or a moment, in UTC unless it says otherwise. Undefined if the text is none. */
export function momentIn(given: string): Date | undefined {
  const [, day, time = 'T00:00', offset = 'Z'] =
    /^(\d{4}-\d\d-\d\d)([T ]\d\d:\d\d(?::\d\d)?)?(Z|[+-]\d\d:\d\d)?$/.exec(given) ?? [];
  const midnight = new Date(`${day}T00:00Z`);
  const moment = new Date(`${day}${time.replace(' ', 'T')}${offset}`);
  // The 31st of February would be read as the 3rd of March.
  const isInCalendar = !Number.isNaN(midnight.getTime()) && midnight.toISOString().startsWith(`${day}T`);
  return isInCalendar && !Number.isNaN(moment.getTime()) ? moment : undefined;
}

/** A delay as people write it: a time from now, of which a bare number means seconds, or a moment. It may be invalid. */
export function delayIn(given: string): Delay {
  const number = /^\d+(\.\d+)?$/.test(given) ? Number(given) : (given as Duration);
  return momentIn(given) ?? number;
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

/**
 * Waits between attempts: one duration for all, a list whose last value repeats, or a duration that doubles each time. `jitter`
 * varies each wait randomly by ± that share (0 to 1; true: 0.5).
 */
export type Backoff =
  | Duration
  | readonly Duration[]
  | { readonly delays: Duration | readonly Duration[]; readonly jitter?: number | boolean | undefined }
  | {
      /** The first wait, in seconds or as `'1s'`. Each later one is twice as long. */
      readonly exponential: Duration;
      /** The longest wait, in seconds or as `'10m'`, including jitter. Default 1 d. */
      readonly max?: Duration | undefined;
      readonly jitter?: number | boolean | undefined;
    };

/** Resolved backoff: at least one delay. */
export interface ResolvedBackoff {
  readonly delays: readonly Seconds[];
  readonly jitter: number;
}

export const NO_BACKOFF: ResolvedBackoff = Object.freeze({ delays: [0], jitter: 0 });

/** Longer waits between attempts make no sense; it also keeps the list short, which travels in payloads. */
const LONGEST: Seconds = 86_400;

/** @throws E_INVALID_DURATION, E_INVALID_JOB_OPTION */
export function resolveBackoff(value: unknown, subject: string): ResolvedBackoff {
  if (typeof value !== 'object' || value === null) return { delays: [durationSeconds(value, subject)], jitter: 0 };
  if (Array.isArray(value)) {
    demand(value.length > 0, value, subject, 'Give at least one duration.');
    return { delays: value.map((delay) => durationSeconds(delay, subject)), jitter: 0 };
  }
  const { delays, exponential, max, jitter, ...rest } = value as Readonly<Record<string, unknown>>;
  const isOneOfThem = delays === undefined ? exponential !== undefined : exponential === undefined && max === undefined;
  const forms =
    "Give a duration, a list of them, { delays: ['10s', '1m'], jitter: 0.2 }, or { exponential: '1s', max: '10m', jitter: true }.";
  demand(isOneOfThem && Object.keys(rest).length === 0, value, subject, forms);
  const share = jitterOf(jitter, subject);
  if (delays === undefined) return { delays: doubled(exponential, max, share, subject), jitter: share };
  return { delays: resolveBackoff(Array.isArray(delays) ? delays : [delays], subject).delays, jitter: share };
}

// Turns the doubling waits into an ordinary list, from the first to the longest, which repeats.
function doubled(first: unknown, max: unknown, jitter: number, subject: string): readonly Seconds[] {
  const start = durationSeconds(first, `exponential in ${subject}`);
  const longest = max === undefined ? Math.max(LONGEST, start) : durationSeconds(max, `max in ${subject}`);
  demand(start >= 0.001, first, `exponential in ${subject}`, 'Give at least 1ms.');
  demand(
    longest >= start,
    max,
    `max in ${subject}`,
    'It is the longest wait, so it must not be shorter than the first.',
  );
  const last = Math.floor((longest / (1 + jitter)) * 1000) / 1000;
  const delays: Seconds[] = [];
  for (let delay = start; delay < last; delay *= 2) delays.push(delay);
  return [...delays, last];
}

function jitterOf(jitter: unknown, subject: string): number {
  if (jitter === undefined || jitter === false) return 0;
  if (jitter === true) return 0.5;
  if (typeof jitter === 'number' && jitter >= 0 && jitter <= 1) return jitter;
  throw invalidJobOption(subject, jitter, 'jitter is a share from 0 to 1, or true, for 0.5.');
}

function demand(holds: boolean, value: unknown, subject: string, remedy: string): void {
  if (!holds) throw invalidJobOption(subject, value, remedy);
}

/** Calls `warnOfManySeconds` for a checked duration, or for each delay of a checked backoff. */
export function warnOfSeconds(value: unknown, subject: string): void {
  const isList = typeof value !== 'object' || value === null || Array.isArray(value);
  const { delays, exponential, max } = (isList ? { delays: value } : value) as Readonly<Record<string, unknown>>;
  for (const delay of [delays, exponential, max].flat()) warnOfManySeconds(delay, subject);
}

/**
 * Seconds until the next attempt.
 * @param failures 1 for the first failed attempt
 */
export function backoffDelay(backoff: ResolvedBackoff, failures: number, random: Random): Seconds {
  const { delays, jitter } = backoff;
  const delay = delays[Math.min(Math.max(failures, 1), delays.length) - 1] ?? 0;
  return jitter === 0 ? delay : delay * (1 + jitter * (2 * random() - 1));
}
