/** Counts of jobs, and the state of queues, as metrics in the text format of Prometheus, version 0.0.4. */
import {
  DISPATCHED,
  OUTCOME_FIELDS,
  RUN_TIMES,
  sumOf,
  WAITS,
  type Counts,
  type Distribution,
  type JobCounts,
} from './job-counters';
import { groupsOf } from '../../base/collections';
import type { Snapshot } from '../snapshot';

type Labels = MetricSample['labels'];

interface Group {
  readonly labels: Labels;
  readonly counts: Counts;
}

/** Queues of the same name on two connections are one here. */
export function jobMetrics(counted: readonly JobCounts[]): readonly Metric[] {
  const byJob = grouped(counted, ({ queue, job }) => ({ queue, job }));
  const byQueue = grouped(counted, ({ queue }) => ({ queue }));
  const ran = byJob.filter(({ counts }) => Object.values(OUTCOME_FIELDS).some((field) => (counts[field] ?? 0) > 0));
  return [
    {
      name: 'onqueue_jobs_total',
      help: 'Runs of jobs, by outcome, once the store has confirmed it.',
      type: 'counter',
      samples: ran.flatMap(({ labels, counts }) =>
        Object.entries(OUTCOME_FIELDS).map(([outcome, field]) => ({
          labels: { ...labels, outcome },
          value: counts[field] ?? 0,
        })),
      ),
    },
    {
      name: 'onqueue_job_duration_seconds',
      help: 'How long the handlers of jobs ran.',
      type: 'histogram',
      samples: byJob.flatMap((group) => histogram(RUN_TIMES, group)),
    },
    {
      name: 'onqueue_job_wait_seconds',
      help: 'How long ready jobs waited for their first attempt.',
      type: 'histogram',
      samples: byQueue.flatMap((group) => histogram(WAITS, group)),
    },
    {
      name: 'onqueue_dispatched_total',
      help: 'Jobs that this process has dispatched.',
      type: 'counter',
      samples: byJob
        .filter(({ counts }) => counts[DISPATCHED] !== undefined)
        .map(({ labels, counts }) => ({ labels, value: counts[DISPATCHED]! })),
    },
  ];
}

function grouped(counted: readonly JobCounts[], labelsOf: (of: JobCounts) => Labels): Group[] {
  const groups = groupsOf(counted, (of) => JSON.stringify(labelsOf(of)));
  return [...groups.values()].map((group) => ({
    labels: labelsOf(group[0]!),
    counts: sumOf(group.map(({ counts }) => counts)),
  }));
}

/** Empty if nothing was counted. */
function histogram({ field, unit, bounds, buckets: names }: Distribution, { labels, counts }: Group): MetricSample[] {
  let count = 0;
  const buckets = names.map((name, place): MetricSample => {
    count += counts[name] ?? 0;
    return { suffix: '_bucket', labels: { ...labels, le: numberText(bounds[place] ?? Infinity) }, value: count };
  });
  if (count === 0) return [];
  return [
    ...buckets,
    { suffix: '_sum', labels, value: (counts[field] ?? 0) * unit },
    { suffix: '_count', labels, value: count },
  ];
}

/** The state of a connection's queues as metrics: the same whichever process asks, so one process is enough. */
export function queueMetrics({ connection, queues, workers }: Snapshot): readonly Metric[] {
  return [
    {
      name: 'onqueue_queue_jobs',
      help: 'Jobs in a queue, by state.',
      type: 'gauge',
      samples: queues.flatMap(({ queue, ready, delayed, running: reserved }) =>
        Object.entries({ ready, delayed, reserved }).map(([state, value]) => ({
          labels: { connection, queue, state },
          value,
        })),
      ),
    },
    {
      name: 'onqueue_queue_oldest_wait_seconds',
      help: 'How long the oldest ready job has waited; 0 if none is ready or it is not known.',
      type: 'gauge',
      samples: queues.map(({ queue, oldestWait = 0 }) => ({ labels: { connection, queue }, value: oldestWait })),
    },
    {
      name: 'onqueue_failed_jobs',
      help: 'Failed jobs that are kept.',
      type: 'gauge',
      samples: queues.flatMap(({ queue, failed: value }) =>
        value === undefined ? [] : [{ labels: { connection, queue }, value }],
      ),
    },
    {
      name: 'onqueue_workers',
      help: 'Workers that have reported within the last minute.',
      type: 'gauge',
      samples:
        workers === undefined
          ? []
          : [{ labels: { connection }, value: workers.filter((worker) => worker.connection === connection).length }],
    },
  ];
}

export interface MetricSample {
  /** Follows the name of the metric: `_bucket`, `_sum` or `_count` of a histogram. */
  readonly suffix?: string | undefined;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

export interface Metric {
  readonly name: string;
  readonly help: string;
  readonly type: 'counter' | 'gauge' | 'histogram';
  readonly samples: readonly MetricSample[];
}

export const PROMETHEUS_TYPE = 'text/plain; version=0.0.4; charset=utf-8';

export function prometheusText(metrics: readonly Metric[]): string {
  const lines = metrics
    .filter(({ samples }) => samples.length > 0)
    .flatMap(({ name, help, type, samples }) => [
      `# HELP ${name} ${help}`,
      `# TYPE ${name} ${type}`,
      ...samples.map(({ suffix = '', labels, value }) => `${name}${suffix}${labelsText(labels)} ${numberText(value)}`),
    ]);
  return lines.map((line) => `${line}\n`).join('');
}

function labelsText(labels: MetricSample['labels']): string {
  const pairs = Object.entries(labels).map(([label, value]) => `${label}="${escaped(value)}"`);
  return pairs.length === 0 ? '' : `{${pairs.join(',')}}`;
}

// Names of queues come from whoever sends jobs.
function escaped(value: string): string {
  return value.toWellFormed().replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n');
}

export const numberText = (value: number): string => (value === Infinity ? '+Inf' : String(value));
