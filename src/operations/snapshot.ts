/**
 * The state of a connection's queues at one moment, and their workers: read with a bounded number of calls, so that it can be
 * requested every two seconds.
 */
import { failedStoreOf, type Application } from '../connections/application';
import { dateOf, timeOf, type Seconds } from '../base/clock';
import { pagesOf } from '../base/collections';
import type { Connection } from '../connections/contract';
import { readFigures } from './figures/figures';
import { oldestWait } from './figures/queue-sampler';
import { listWorkers, type RunningWorker } from './worker-record';

export interface SnapshotOptions {
  /** Only these queues. Default: all that were ever used, and the connection's default queue. */
  readonly queues?: readonly string[] | undefined;
}

export interface QueueSnapshot {
  readonly queue: string;
  readonly ready: number;
  readonly delayed: number;
  /** Reserved: they run, or their worker has died and their leases have not ended yet. */
  readonly running: number;
  /** Undefined if no store keeps failed jobs. */
  readonly failed: number | undefined;
  /**
   * How long the oldest job that is ready, or delayed and due, has waited, in seconds. Undefined if there is none, or the next
   * ones do not tell.
   */
  readonly oldestWait: Seconds | undefined;
  /** Jobs that completed or failed for good, per minute, over the last five minutes. Undefined if no figures are kept. */
  readonly rate: number | undefined;
  /**
   * How often jobs failed for good within the last five minutes, up to ten seconds late, including those since retried or
   * forgotten. Undefined if no figures are kept.
   */
  readonly failures: number | undefined;
  readonly isPaused: boolean;
  /** When the pause ends, by the store's clock. Undefined if it is not paused, or until it is resumed. */
  readonly pausedUntil: Date | undefined;
  /** How many of its jobs may run at a time, over all workers. Undefined if it has no limit. */
  readonly limit: number | undefined;
}

export interface Snapshot {
  readonly connection: string;
  /** By the store's clock. */
  readonly at: Date;
  /** False if the store only estimates, and may be minutes behind. */
  readonly isExact: boolean;
  /** Sorted by name, at most 100. */
  readonly queues: readonly QueueSnapshot[];
  /** How many more queues there are. */
  readonly otherQueues: number;
  /**
   * The workers of all connections that keep their records in the same store. Undefined if no store keeps any, or `metrics` is
   * false.
   */
  readonly workers: readonly RunningWorker[] | undefined;
}

/** Of these queues together. What is unknown counts as 0. */
export function totalsOf(queues: readonly QueueSnapshot[]) {
  const sum = (field: 'ready' | 'delayed' | 'running' | 'failed' | 'failures' | 'rate'): number =>
    queues.reduce((total, queue) => total + (queue[field] ?? 0), 0);
  return {
    ...{ ready: sum('ready'), delayed: sum('delayed'), running: sum('running') },
    ...{ failed: sum('failed'), failures: sum('failures'), rate: sum('rate') },
  };
}

/** How many queues a snapshot reads, with three calls each. */
const MOST_QUEUES = 100;
/** How far back the figures reach. */
const RECENT = '5m';
/** How many are read concurrently, so that a snapshot does not hold up other calls to the store. */
const TOGETHER = 10;

export async function takeSnapshot(
  connection: Connection,
  application: Application,
  own: string,
  { queues: named }: SnapshotOptions,
): Promise<Snapshot> {
  const { capabilities, control, name } = connection;
  const now = await timeOf(connection, application.clock);
  const pauses = new Map((await control?.paused())?.map(({ queue, until }) => [queue, until]));
  const limits = new Map((await control?.limits?.())?.map(({ queue, running }) => [queue, running]));
  const ofOrders = [...pauses.keys(), ...limits.keys()];
  const all = [...new Set(named ?? [own, ...(await connection.queues.names()), ...ofOrders])].toSorted();
  const operations = application.operationsOf(connection);
  const isCounted = operations !== undefined && application.configuration.metrics !== false;
  const figures = isCounted ? await readFigures(name, operations, application.clock, { within: RECENT }) : undefined;
  const failures = failedStoreOf(connection, application) ?? connection.buried;
  const look = async (queue: string): Promise<QueueSnapshot> => {
    const counts = await connection.queues.counts(queue);
    const { ready, delayed, reserved } = counts;
    const recent = figures && (figures.queues.find((one) => one.queue === queue) ?? { rate: 0, failed: 0 });
    return {
      queue,
      ready,
      delayed,
      running: reserved,
      failed: await failures?.count(queue),
      oldestWait: await oldestWait(connection, queue, counts, now),
      rate: recent?.rate,
      failures: recent?.failed,
      isPaused: pauses.has(queue),
      pausedUntil: dateOf(pauses.get(queue)),
      limit: limits.get(queue),
    };
  };
  const shown = all.slice(0, MOST_QUEUES);
  const queues: QueueSnapshot[] = [];
  for (const page of pagesOf(shown, () => 0, TOGETHER)) queues.push(...(await Promise.all(page.map(look))));
  return {
    connection: name,
    at: new Date(now),
    isExact: capabilities.exactCounts,
    queues,
    otherQueues: all.length - queues.length,
    workers: isCounted ? await listWorkers(connection, application) : undefined,
  };
}
