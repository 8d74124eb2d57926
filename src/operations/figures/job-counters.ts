/**
 * Counts the outcomes of jobs in this process, by connection, queue and job.
 *
 * Anybody may write payloads, and thus names of jobs: all names without a registered class are counted together. So there are
 * only as many names as the program declares, and the number of classes is bounded.
 */
import type { DispatchingJob, DispatchObservation, EndedRun, Observer } from '../../connections/application';
import type { JobRegistry } from '../../job/registry';
import {
  bucketFields,
  bucketOf,
  DISPATCHED,
  OUTCOME_FIELDS,
  RUN_TIMES,
  WAITS,
  type JobClass,
  type JobCounts,
} from './job-counts';

/** Jobs without a registered class. */
const UNKNOWN = '(unknown)';

/** Queue and job of all classes beyond the first hundred. */
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
