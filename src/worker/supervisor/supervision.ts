/** What a supervisor and its processes tell each other: over the channel between them, and by how a process ends. */
import type { JobCounts } from '../../operations/figures/job-counts';
import type { WorkerHealth } from '../health';

/** A process ends with it when a handler blocked its event loop, or handlers hold all slots for good: `EX_SOFTWARE` of sysexits.h. */
export const BLOCKED = 70;

/** A job that a process runs, by what the log calls it. */
export interface HeldJob {
  readonly job: string;
  readonly id: string;
  readonly queue: string;
}

/** From a process: every second, when it starts jobs, and once more when its worker has stopped or the process ends. */
export interface HealthReport {
  readonly onqueue: 'health';
  readonly health: WorkerHealth;
  /** What it runs: so that its death can be laid to somebody. The first few. */
  readonly jobs: readonly HeldJob[];
  /** What it has counted since the report before; absent: nothing. */
  readonly counted?: readonly JobCounts[] | undefined;
}

/** To a process that is told to stop a second time: it ends at once, with this code. */
export interface EndOrder {
  readonly onqueue: 'end';
  readonly code: number;
}

// Jobs and their libraries may use the channel as well.
export function isHealthReport(message: unknown): message is HealthReport {
  return kindOf(message) === 'health';
}

export function isEndOrder(message: unknown): message is EndOrder {
  return kindOf(message) === 'end';
}

function kindOf(message: unknown): unknown {
  return typeof message === 'object' && message !== null && 'onqueue' in message ? message.onqueue : undefined;
}
