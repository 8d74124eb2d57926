/** What is counted of jobs: the names of the numbers in a store, what they mean and how long they are kept; and the counters of this process. */
import type { DispatchingJob, DispatchObservation, EndedRun, Observer } from '../../connections/application';
import type { JobRegistry } from '../../job/registry';
import type { Milliseconds, Seconds } from '../../base/clock';
import { hash } from 'node:crypto';

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
  /** The name of the sum of all times. */
  readonly field: string;
  /** The unit of the sum, in seconds. */
  readonly unit: Seconds;
  readonly bounds: readonly Seconds[];
  /** The names of the buckets, in order. */
  readonly buckets: readonly string[];
}

const inBuckets = (field: string, unit: Seconds, bounds: readonly Seconds[]): Distribution => ({
  field,
  unit,
  bounds,
  buckets: [...bounds, Infinity].map((_, place) => `${field}${place}`),
});

/** In microseconds, because many jobs take less than a millisecond. */
export const RUN_TIMES = inBuckets(
  't',
  1e-6,
  [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 600, 1800],
);

export const WAITS = inBuckets('w', 1e-3, [0.1, 1, 5, 15, 60, 300, 1800, 7200]);

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
  const buckets = distribution.buckets.map((name) => counts[name] ?? 0);
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
  for (const counts of all) for (const field of Object.keys(counts)) sum[field] = (sum[field] ?? 0) + counts[field]!;
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
/** Spans of three hours: older figures are only looked at from afar, and finer spans of a month would take most of the space. */
const EIGHTHS: Resolution = { letter: 'e', step: 10_800, keep: 30 * DAY };

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

/** A class in the names of its sums. Hashed, because names of any length would not fit. */
export const classKey = (of: JobClass): string => hash('sha256', classText(of), 'base64url').slice(0, 12);

/** The sum of a class. */
export const figureName = ({ letter }: Resolution, span: number, key: string): string =>
  `figures/${letter}${span}/${key}`;

/** Jobs without a registered class. */
const UNKNOWN = '(unknown)';

/** Queue and job of all classes beyond the first hundred. */
const OTHERS = '(other)';

const MOST_CLASSES = 100;

const FIELDS = [
  ...Object.values(OUTCOME_FIELDS),
  DISPATCHED,
  ...[RUN_TIMES, WAITS].flatMap(({ field, buckets }) => [field, ...buckets]),
];

const placeOf = (field: string): number => FIELDS.indexOf(field);

const OUTCOME_PLACES = Object.fromEntries(
  Object.entries(OUTCOME_FIELDS).map(([outcome, field]) => [outcome, placeOf(field)]),
) as Record<keyof typeof OUTCOME_FIELDS, number>;
const DISPATCHED_PLACE = placeOf(DISPATCHED);
const RUN_PLACE = placeOf(RUN_TIMES.field);
const WAIT_PLACE = placeOf(WAITS.field);

/** Jobs that are counted together. */
interface Counter {
  readonly of: JobClass;
  /** They only grow, so that a difference tells what was added. */
  readonly amounts: Float64Array;
  /** What each reader has already been told. */
  readonly told: Map<string, Float64Array>;
  /** Shared by all dispatches, so that none allocates anything. */
  readonly observation: DispatchObservation;
}

/**
 * Counts the outcomes of jobs in this process, by connection, queue and job.
 *
 * Anybody may write payloads, and thus names of jobs: all names without a registered class are counted together. So there are
 * only as many names as the program declares, and the number of classes is bounded.
 */
export class JobCounters implements Observer {
  readonly #registry: JobRegistry;
  /** By connection, queue and job. */
  readonly #counters = new Map<string, Map<string, Map<string, Counter>>>();
  readonly #all: Counter[] = [];

  constructor(registry: JobRegistry) {
    this.#registry = registry;
  }

  dispatching({ connectionName, queue, name }: DispatchingJob): DispatchObservation | undefined {
    return this.#counterOf(connectionName, queue, name).observation;
  }

  ended({ job, outcome, isAttempt, took, waited }: EndedRun): void {
    const { amounts } = this.#counterOf(job.connectionName, job.queue, job.name);
    amounts[OUTCOME_PLACES[outcome]]! += 1;
    if (!isAttempt) return;
    amounts[RUN_PLACE]! += Math.round(took * 1000);
    amounts[RUN_PLACE + 1 + bucketOf(RUN_TIMES, took)]! += 1;
    if (waited === undefined) return;
    amounts[WAIT_PLACE]! += Math.round(waited);
    amounts[WAIT_PLACE + 1 + bucketOf(WAITS, waited)]! += 1;
  }

  /** Counts since the process began. */
  get all(): readonly JobCounts[] {
    return this.#all.map(({ of, amounts }) => ({ ...of, counts: countsIn(amounts) }));
  }

  /** What was counted since this reader last asked. @param connection default: all connections */
  news(reader: string, connection?: string): readonly JobCounts[] {
    const news: JobCounts[] = [];
    for (const { of, amounts, told } of this.#all) {
      if (connection !== undefined && of.connection !== connection) continue;
      const before = told.get(reader);
      const since = before === undefined ? amounts : amounts.map((amount, place) => amount - before[place]!);
      const counts = countsIn(since);
      if (Object.keys(counts).length === 0) continue;
      told.set(reader, amounts.slice());
      news.push({ ...of, counts });
    }
    return news;
  }

  #counterOf(connection: string, queue: string, name: string): Counter {
    const known = this.#counters.get(connection)?.get(queue)?.get(name);
    if (known !== undefined) return known;
    // Other names are not stored: there may be any number of them.
    const job = this.#registry.find(name)?.name ?? UNKNOWN;
    return job === name || job === UNKNOWN
      ? this.#made(connection, queue, job)
      : this.#counterOf(connection, queue, job);
  }

  #made(connection: string, queue: string, job: string): Counter {
    const isOver = this.#all.length >= MOST_CLASSES && queue !== OTHERS;
    if (isOver) return this.#made(connection, OTHERS, OTHERS);
    const queues = getOrMake(this.#counters, connection, () => new Map<string, Map<string, Counter>>());
    const jobs = getOrMake(queues, queue, () => new Map<string, Counter>());
    return getOrMake(jobs, job, () => {
      const amounts = new Float64Array(FIELDS.length);
      const observation: DispatchObservation = {
        end(error) {
          if (error === undefined) amounts[DISPATCHED_PLACE]! += 1;
        },
      };
      const counter: Counter = { of: { connection, queue, job }, amounts, told: new Map(), observation };
      this.#all.push(counter);
      return counter;
    });
  }
}

function getOrMake<Value>(map: Map<string, Value>, key: string, make: () => Value): Value {
  let value = map.get(key);
  if (value === undefined) map.set(key, (value = make()));
  return value;
}

function countsIn(amounts: Float64Array): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const [place, amount] of amounts.entries()) if (amount !== 0) counts[FIELDS[place]!] = amount;
  return counts;
}
