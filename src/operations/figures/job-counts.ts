/** What is counted of jobs: the names of the numbers, in a process and in the store, what they mean, and how long they are kept. */
import type { Milliseconds, Seconds } from '../../base/clock';
import { createHash } from 'node:crypto';

/** Jobs that are counted together. */
export interface JobClass {
  readonly connection: string;
  readonly queue: string;
  /** The job's name. */
  readonly job: string;
}

/** Numbers by the names below; zeros are omitted. */
export type Counts = Readonly<Record<string, number>>;

export interface JobCounts extends JobClass {
  readonly counts: Counts;
}

/** The names of the outcomes of runs. */
export const OUTCOME_FIELDS = { completed: 'c', released: 'r', failed: 'f', cancelled: 'x', lost: 'l' } as const;

export const DISPATCHED = 'd';

/** Times counted in buckets: one for each of `bounds`, and a last one for longer times. */
export interface Distribution {
  /** The sum of all times; followed by a digit or two it names a bucket. */
  readonly field: string;
  /** The unit of the sum, in seconds. */
  readonly unit: Seconds;
  readonly bounds: readonly Seconds[];
}

/** In microseconds, because many jobs take less than a millisecond. */
export const RUN_TIMES: Distribution = {
  field: 't',
  unit: 1e-6,
  bounds: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 600, 1800],
};

export const WAITS: Distribution = { field: 'w', unit: 1e-3, bounds: [0.1, 1, 5, 15, 60, 300, 1800, 7200] };

/** The names of the buckets, in order. */
export const bucketFields = ({ field, bounds }: Distribution): readonly string[] =>
  [...bounds, Infinity].map((_, place) => `${field}${place}`);

/** The bucket of a time. */
export function bucketOf({ bounds }: Distribution, time: Milliseconds): number {
  let place = 0;
  while (place < bounds.length && time > bounds[place]! * 1000) place += 1;
  return place;
}

/** All in seconds. Percentiles are as exact as the buckets; beyond the last bucket, its lower bound. */
export interface Times {
  readonly count: number;
  readonly mean: Seconds;
  readonly p50: Seconds;
  readonly p95: Seconds;
  readonly p99: Seconds;
}

/** Undefined if nothing was counted. */
export function timesOf(distribution: Distribution, counts: Counts): Times | undefined {
  const buckets = bucketFields(distribution).map((field) => counts[field] ?? 0);
  const count = buckets.reduce((sum, each) => sum + each, 0);
  if (count === 0) return undefined;
  const { field, unit, bounds } = distribution;
  const percentile = (share: number): Seconds => timeAt(share * count, buckets, bounds);
  const mean = ((counts[field] ?? 0) * unit) / count;
  return { count, mean, p50: percentile(0.5), p95: percentile(0.95), p99: percentile(0.99) };
}

/** Assumes that times are spread evenly within a bucket, like Prometheus. */
function timeAt(rank: number, buckets: readonly number[], bounds: readonly Seconds[]): Seconds {
  let before = 0;
  for (const [place, bound] of bounds.entries()) {
    const inBucket = buckets[place]!;
    if (before + inBucket >= rank && inBucket > 0) {
      const from = bounds[place - 1] ?? 0;
      return from + ((bound - from) * (rank - before)) / inBucket;
    }
    before += inBucket;
  }
  return bounds.at(-1)!;
}

/** The sum over several classes or spans. */
export function sumOf(all: Iterable<Counts>): Counts {
  const sum: Record<string, number> = {};
  for (const counts of all)
    for (const [field, amount] of Object.entries(counts)) sum[field] = (sum[field] ?? 0) + amount;
  return sum;
}

/** The counts of several processes. */
export class JobTotals {
  readonly #all = new Map<string, JobCounts>();

  add(counted: readonly JobCounts[]): void {
    for (const { connection, queue, job, counts } of counted) {
      const key = JSON.stringify([connection, queue, job]);
      const before = this.#all.get(key)?.counts ?? {};
      this.#all.set(key, { connection, queue, job, counts: sumOf([before, counts]) });
    }
  }

  get all(): readonly JobCounts[] {
    return [...this.#all.values()];
  }
}

/** Figures summed up over spans of one length. */
export interface Resolution {
  readonly letter: string;
  readonly step: Seconds;
  readonly keep: Seconds;
}

export const DAY: Seconds = 86_400;

export const MINUTES: Resolution = { letter: 'm', step: 60, keep: 7200 };
const QUARTERS: Resolution = { letter: 'q', step: 900, keep: DAY };
/** Spans of three hours: older figures are only looked at from afar, and finer spans of a week would take most of the space. */
const EIGHTHS: Resolution = { letter: 'e', step: 10_800, keep: 7 * DAY };

/** The finest first. */
export const RESOLUTIONS = [MINUTES, QUARTERS, EIGHTHS] as const;

/** How long figures are kept at most. */
export const LONGEST: Seconds = EIGHTHS.keep;

/** Stands for a whole queue instead of a job's name: how many jobs wait in it. */
export const WHOLE_QUEUE = '';

/** The number of the span that contains a moment. */
export const spanAt = (moment: Milliseconds, step: Seconds): number => Math.floor(moment / (step * 1000));

/** The sum whose fields are the classes that were counted on a day. */
export const classesName = (day: number): string => `figures/classes/${day}`;

/** The field of a class in that sum. */
export const classText = ({ connection, queue, job }: JobClass): string => JSON.stringify([connection, queue, job]);

/** Empty if the text is not one of ours. */
export function readClass(text: string): readonly JobClass[] {
  try {
    const [connection, queue, job] = JSON.parse(text) as readonly unknown[];
    const isClass = typeof connection === 'string' && typeof queue === 'string' && typeof job === 'string';
    return isClass ? [{ connection, queue, job }] : [];
  } catch {
    return [];
  }
}

/** The sum of a class. Hashed, because names of any length would not fit. */
export function figureName({ letter }: Resolution, span: number, text: string): string {
  return `figures/${letter}${span}/${createHash('sha256').update(text).digest('base64url').slice(0, 12)}`;
}
