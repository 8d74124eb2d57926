/** The counts of jobs as metrics. */
import {
  bucketFields,
  type Counts,
  DISPATCHED,
  type Distribution,
  type JobCounts,
  OUTCOME_FIELDS,
  RUN_TIMES,
  sumOf,
  WAITS,
} from './job-counts';
import { groupsOf } from '../../base/groups';
import { type Metric, type MetricSample, numberText } from './prometheus-text';

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
function histogram(distribution: Distribution, { labels, counts }: Group): MetricSample[] {
  const { field, unit, bounds } = distribution;
  let count = 0;
  const buckets = bucketFields(distribution).map((name, place): MetricSample => {
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
