/** The state of a connection's queues as metrics: the same whichever process asks, so one process is enough. */
import type { Metric } from './prometheus-text';
import type { Snapshot } from '../snapshot';

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
