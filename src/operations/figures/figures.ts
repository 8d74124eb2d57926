/** What the processes have reported: how many jobs ran, with which outcomes, how long they took, and how long they waited. */
import { timeOf, type Milliseconds, type Seconds } from '../../base/clock';
import { pagesOf } from '../../base/collections';
import { durationSeconds, type Duration } from '../../job/duration';
import { invalidSpan } from '../errors';
import {
  classesName,
  classKey,
  DAY,
  figureName,
  readClass,
  RESOLUTIONS,
  spanAt,
  WHOLE_QUEUE,
  OUTCOME_FIELDS,
  RUN_TIMES,
  sumOf,
  timesOf,
  WAITS,
  type Resolution,
  type Counts,
  type JobClass,
  type Times,
} from './job-counters';
import type { OperationsConnection } from '../../connections/application';
import { SAMPLE } from './queue-sampler';

export interface FigureOptions {
  /**
   * How far to look back, in seconds or as `'1h'`: up to 2 h in minutes, up to a day in quarters of an hour, up to 7 days in spans of three hours.
   * Default: an hour.
   */
  readonly within?: Duration | undefined;
  /** The end of the time that is looked at. Default: now. */
  readonly until?: Date | undefined;
  /** Only this queue. */
  readonly queue?: string | undefined;
  /** Only the jobs of this name. */
  readonly job?: string | undefined;
  /** Whether to also return each span separately, for a chart. Default false. */
  readonly spans?: boolean | undefined;
}

/** Runs are counted when the store has confirmed their outcome; figures are up to ten seconds late. */
export interface RunFigures {
  readonly completed: number;
  /** Runs after which the job went back to its queue. */
  readonly released: number;
  readonly failed: number;
  readonly cancelled: number;
  /** Outcomes that the store refused: another worker had the job, or it was gone. */
  readonly lost: number;
  /** Jobs that completed or failed for good, per minute. */
  readonly rate: number;
  /** How long handlers ran. Undefined if none did. */
  readonly run: Times | undefined;
  /** How long jobs waited, after they were ready, for their first attempt. Undefined if not known of any. */
  readonly wait: Times | undefined;
}

/** Runs that ended within a minute, a quarter of an hour, or three hours. */
export interface RunSpan extends RunFigures {
  /** The beginning of the span. */
  readonly at: Date;
}

/** The whole requested time. */
interface WholeFigures extends RunFigures {
  /** Each span of that time, oldest first, including those without runs. Undefined if not requested. */
  readonly spans: readonly RunSpan[] | undefined;
}

export interface JobFigures extends WholeFigures {
  readonly queue: string;
  /** The job's name. `(unknown)` for jobs that no class declares. */
  readonly job: string;
}

/** The state of a queue, sampled once a minute; for longer spans, the average. */
export interface QueueSample {
  /** The beginning of the span that it stands for. */
  readonly at: Date;
  readonly ready: number;
  readonly delayed: number;
  readonly reserved: number;
  /** How long the oldest ready job had waited, in seconds. */
  readonly wait: Seconds;
}

export interface QueueFigures extends WholeFigures {
  readonly queue: string;
  /** Oldest first. Minutes without a running worker have none. */
  readonly samples: readonly QueueSample[];
}

export interface Figures {
  readonly since: Date;
  readonly until: Date;
  readonly queues: readonly QueueFigures[];
  /** Each job of each queue. */
  readonly jobs: readonly JobFigures[];
  /** All of them together. */
  readonly total: WholeFigures;
}

/** Names that are read in one call. */
const PAGE = 200;

/** @throws E_INVALID_SPAN, E_INVALID_DURATION, what the store throws */
export async function readFigures(
  connection: string,
  operations: OperationsConnection,
  clock: { now(): Milliseconds },
  { within = '1h', until, queue, job, spans: isBySpan = false }: FigureOptions = {},
): Promise<Figures> {
  const seconds = durationSeconds(within, 'within of figures()');
  const present = await timeOf(operations, clock);
  const now = Math.min(until?.getTime() ?? present, present);
  // Finer figures are not kept for as long.
  const ago = (present - now) / 1000 + seconds;
  const resolution = RESOLUTIONS.find(({ keep }) => ago <= keep);
  if (seconds === 0 || resolution === undefined) throw invalidSpan(within, until);
  // A span that only begins at the end is none of it.
  const last = spanAt(until === undefined ? now : now - 1, resolution.step);
  const first = last - Math.ceil(seconds / resolution.step) + 1;
  const since = first * resolution.step * 1000;
  const known = await classesSince(operations, since, now);
  const classes = known.filter(
    (one) =>
      one.connection === connection &&
      (queue === undefined || one.queue === queue) &&
      (job === undefined || one.job === job),
  );
  const spans = Array.from({ length: last - first + 1 }, (_, place) => first + place);
  const read: Read[] = await countsOf(operations, classes, resolution, spans);
  const figuresOf = (bySpan: readonly Counts[]): WholeFigures => ({
    ...runFigures(sumOf(bySpan), (now - since) / 60_000),
    spans: isBySpan
      ? bySpan.map((counts, place) => ({
          at: new Date(spans[place]! * resolution.step * 1000),
          ...runFigures(counts, resolution.step / 60),
        }))
      : undefined,
  });
  /** For each span, the sum of several. */
  const together = (all: readonly (readonly Counts[])[]): readonly Counts[] =>
    spans.map((_, place) => sumOf(all.map((counts) => counts[place]!)));
  const runs = read.filter(({ job }) => job !== WHOLE_QUEUE);
  const queues = [...new Set(classes.map((one) => one.queue))].toSorted().map((name) => {
    const isOwn = (one: Read): boolean => one.queue === name;
    const looked = read.find((one) => isOwn(one) && one.job === WHOLE_QUEUE)?.bySpan ?? [];
    const bySpan = together(runs.filter(isOwn).map((one) => one.bySpan));
    return { bySpan, queue: name, samples: samplesIn(looked, spans, resolution) };
  });
  return {
    since: new Date(since),
    until: new Date(now),
    queues: queues.map(({ queue: name, bySpan, samples }) => ({ queue: name, ...figuresOf(bySpan), samples })),
    jobs: runs
      .map((one) => ({ queue: one.queue, job: one.job, ...figuresOf(one.bySpan) }))
      .toSorted((a, b) => (a.queue === b.queue ? (a.job < b.job ? -1 : 1) : a.queue < b.queue ? -1 : 1)),
    total: figuresOf(together(queues.map(({ bySpan }) => bySpan))),
  };
}

interface Read extends JobClass {
  readonly bySpan: readonly Counts[];
}

async function classesSince(
  { records }: OperationsConnection,
  since: Milliseconds,
  now: Milliseconds,
): Promise<JobClass[]> {
  const days: string[] = [];
  for (let day = spanAt(since, DAY); day <= spanAt(now, DAY); day += 1) days.push(classesName(day));
  return Object.keys(sumOf(await records.sums(days))).flatMap(readClass);
}

async function countsOf(
  { records }: OperationsConnection,
  classes: readonly JobClass[],
  resolution: Resolution,
  spans: readonly number[],
): Promise<Read[]> {
  const names = classes.flatMap((one) => {
    const key = classKey(one);
    return spans.map((span) => figureName(resolution, span, key));
  });
  const sums: Counts[] = [];
  for (const page of pagesOf(names, () => 0, PAGE)) sums.push(...(await records.sums(page)));
  return classes.map((one, place) => ({
    ...one,
    bySpan: sums.slice(place * spans.length, (place + 1) * spans.length),
  }));
}

function runFigures(counts: Counts, minutes: number): RunFigures {
  const of = (outcome: keyof typeof OUTCOME_FIELDS): number => counts[OUTCOME_FIELDS[outcome]] ?? 0;
  const [completed, failed] = [of('completed'), of('failed')];
  return {
    completed,
    released: of('released'),
    failed,
    cancelled: of('cancelled'),
    lost: of('lost'),
    rate: (completed + failed) / minutes,
    run: timesOf(RUN_TIMES, counts),
    wait: timesOf(WAITS, counts),
  };
}

function samplesIn(bySpan: readonly Counts[], spans: readonly number[], { step }: Resolution): QueueSample[] {
  return bySpan.flatMap((counts, place) => {
    const samples = counts[SAMPLE.samples] ?? 0;
    if (samples === 0) return [];
    const mean = (field: string): number => (counts[field] ?? 0) / samples;
    return {
      at: new Date(spans[place]! * step * 1000),
      ready: mean(SAMPLE.ready),
      delayed: mean(SAMPLE.delayed),
      reserved: mean(SAMPLE.reserved),
      wait: mean(SAMPLE.wait) / 1000,
    };
  });
}
