/** Waits between attempts: how users write them, how they are read, and how the next wait is drawn. */
import type { Seconds } from '../base/clock';
import type { Random } from '../base/random';
import { type Duration, durationSeconds, warnOfManySeconds } from './duration';
import { invalidJobOption } from './errors';

/**
 * Waits between attempts: one duration for all, a list whose last value repeats, or a duration that doubles each time. `jitter`
 * varies each wait randomly by ± that share (0 to 1; true: 0.5).
 */
export type Backoff =
  | Duration
  | readonly Duration[]
  | { readonly delays: Duration | readonly Duration[]; readonly jitter?: number | boolean | undefined }
  | {
      /** The first wait. Each later one is twice as long. */
      readonly exponential: Duration;
      /** The longest wait, including jitter. Default 1 d. */
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
