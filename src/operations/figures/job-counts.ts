/** What is counted of jobs: the names of the numbers, as they stand in the store, and what they tell. */
import type { Milliseconds, Seconds } from '../../base/clock';

/** Jobs that are counted together. */
export interface JobClass {
  readonly connection: string;
  readonly queue: string;
  /** The job's name. */
  readonly job: string;
}

/** Numbers by the names below; those that are 0 are left out. */
export type Counts = Readonly<Record<string, number>>;

export interface JobCounts extends JobClass {
  readonly counts: Counts;
}

/** How runs end, each with its name. */
export const OUTCOME_FIELDS = { completed: 'c', released: 'r', failed: 'f', cancelled: 'x', lost: 'l' } as const;

export const DISPATCHED = 'd';

/** Times that are counted in buckets: those of `bounds`, and a last one for what takes longer. */
export interface Distribution {
  /** The sum of all; behind it a digit or two for each bucket. */
  readonly field: string;
  /** What the sum is counted in, in seconds. */
  readonly unit: Seconds;
  readonly bounds: readonly Seconds[];
}

/** In microseconds: many jobs take less than a millisecond. */
export const RUN_TIMES: Distribution = {
  field: 't',
  unit: 1e-6,
  bounds: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 600, 1800],
};

export const WAITS: Distribution = { field: 'w', unit: 1e-3, bounds: [0.1, 1, 5, 15, 60, 300, 1800, 7200] };

/** The name of each bucket, in order. */
export const bucketFields = ({ field, bounds }: Distribution): readonly string[] =>
  [...bounds, Infinity].map((_, place) => `${field}${place}`);

/** In which bucket a time is counted. */
export function bucketOf({ bounds }: Distribution, time: Milliseconds): number {
  let place = 0;
  while (place < bounds.length && time > bounds[place]! * 1000) place += 1;
  return place;
}

/** All in seconds. A percentile is as exact as the buckets are; of what is longer than the last one, that bound. */
export interface Times {
  readonly count: number;
  readonly mean: Seconds;
  readonly p50: Seconds;
  readonly p95: Seconds;
  readonly p99: Seconds;
}

/** Undefined: nothing was counted. */
export function timesOf(distribution: Distribution, counts: Counts): Times | undefined {
  const buckets = bucketFields(distribution).map((field) => counts[field] ?? 0);
  const count = buckets.reduce((sum, each) => sum + each, 0);
  if (count === 0) return undefined;
  const { field, unit, bounds } = distribution;
  const percentile = (share: number): Seconds => timeAt(share * count, buckets, bounds);
  const mean = ((counts[field] ?? 0) * unit) / count;
  return { count, mean, p50: percentile(0.5), p95: percentile(0.95), p99: percentile(0.99) };
}

/** Within a bucket times are taken to be spread evenly, as Prometheus does. */
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

/** Of several classes, or several spans, together. */
export function sumOf(all: Iterable<Counts>): Counts {
  const sum: Record<string, number> = {};
  for (const counts of all)
    for (const [field, amount] of Object.entries(counts)) sum[field] = (sum[field] ?? 0) + amount;
  return sum;
}

/** What several processes have counted. */
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
