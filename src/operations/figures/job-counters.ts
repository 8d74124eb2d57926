/**
 * Counts in this process what becomes of jobs, by connection, queue and job.
 *
 * Payloads may be written by anybody, and with them the names of jobs: those that no class is registered under are counted as one.
 * So there are as many names as the program declares, and a bound for what is left.
 */
import type { DispatchingJob, DispatchObservation, EndedRun, Observer } from '../../connections/observer';
import type { JobRegistry } from '../../job/registry';
import {
  bucketFields,
  bucketOf,
  DISPATCHED,
  type JobClass,
  type JobCounts,
  OUTCOME_FIELDS,
  RUN_TIMES,
  WAITS,
} from './job-counts';

/** Jobs whose names no class is registered under. */
const UNKNOWN = '(unknown)';

/** Queue and job of those beyond the first hundred classes. */
const OTHERS = '(other)';

const MOST_CLASSES = 100;

const FIELDS = [
  ...Object.values(OUTCOME_FIELDS),
  DISPATCHED,
  ...[RUN_TIMES, WAITS].flatMap((distribution) => [distribution.field, ...bucketFields(distribution)]),
];

const placeOf = (field: string): number => FIELDS.indexOf(field);

const OUTCOME_PLACES = {
  completed: placeOf(OUTCOME_FIELDS.completed),
  released: placeOf(OUTCOME_FIELDS.released),
  failed: placeOf(OUTCOME_FIELDS.failed),
  cancelled: placeOf(OUTCOME_FIELDS.cancelled),
  lost: placeOf(OUTCOME_FIELDS.lost),
};
const DISPATCHED_PLACE = placeOf(DISPATCHED);
const RUN_PLACE = placeOf(RUN_TIMES.field);
const WAIT_PLACE = placeOf(WAITS.field);

/** Numbers only grow, so that what was added since is a difference. */
class Counter {
  readonly amounts = new Float64Array(FIELDS.length);
  /** What each reader was told. */
  readonly told = new Map<string, Float64Array>();
  /** The same for each dispatch: nothing is made for one. */
  readonly observation: DispatchObservation = { end: (error) => this.#dispatched(error) };
  readonly of: JobClass;

  constructor(of: JobClass) {
    this.of = of;
  }

  #dispatched(error: unknown): void {
    if (error === undefined) this.amounts[DISPATCHED_PLACE]! += 1;
  }

  ended({ outcome, isAttempt, took, waited }: EndedRun): void {
    const { amounts } = this;
    amounts[OUTCOME_PLACES[outcome]]! += 1;
    if (!isAttempt) return;
    amounts[RUN_PLACE]! += Math.round(took * 1000);
    amounts[RUN_PLACE + 1 + bucketOf(RUN_TIMES, took)]! += 1;
    if (waited === undefined) return;
    amounts[WAIT_PLACE]! += Math.round(waited);
    amounts[WAIT_PLACE + 1 + bucketOf(WAITS, waited)]! += 1;
  }
}

export class JobCounters implements Observer {
  readonly #registry: JobRegistry;
  /** By connection, queue and job, as they come. */
  readonly #counters = new Map<string, Map<string, Map<string, Counter>>>();
  readonly #all: Counter[] = [];

  constructor(registry: JobRegistry) {
    this.#registry = registry;
  }

  dispatching({ connectionName, queue, name }: DispatchingJob): DispatchObservation | undefined {
    return this.#counterOf(connectionName, queue, name).observation;
  }

  ended(run: EndedRun): void {
    const { connectionName, queue, name } = run.job;
    this.#counterOf(connectionName, queue, name).ended(run);
  }

  /** Since the process began. */
  get all(): readonly JobCounts[] {
    return this.#all.map(({ of, amounts }) => ({ ...of, counts: countsIn(amounts) }));
  }

  /** What was counted since this reader asked last. @param connection of one alone; default: of all */
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
    // No other name is kept: there may be any number of them.
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
      const counter = new Counter({ connection, queue, job });
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
