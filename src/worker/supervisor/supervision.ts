/** Messages between a supervisor and its processes, and the meaning of a process's exit code. */
import type { Milliseconds } from '../../base/clock';
import type { JobCounts } from '../../operations/figures/job-counts';
import type { WorkerHealth } from '../health';

/**
 * Exit code of a process whose handler blocked its event loop, or whose handlers hold all slots for good: `EX_SOFTWARE` of
 * sysexits.h.
 */
export const BLOCKED = 70;

/** A job that a process runs, as the log names it. */
export interface HeldJob {
  readonly job: string;
  readonly id: string;
  readonly queue: string;
  /** Of its reservation. Absent where a thread reports the job. */
  readonly fence?: number | undefined;
}

/** The end of a process that died at work, and the jobs that it ran. */
export interface SeenDeath {
  /** The worker's name. */
  readonly name: string | undefined;
  readonly pid: number | undefined;
  /** When it ended, by the supervisor's clock. */
  readonly at: Milliseconds;
  readonly signal: string | undefined;
  readonly code: number | undefined;
  readonly jobs: readonly HeldJob[];
}

/** Tells a process of the deaths of others, for the histories of their jobs: the supervisor has no store. */
export interface DeathReport {
  readonly onqueue: 'deaths';
  readonly deaths: readonly SeenDeath[];
}

/** From a process: every second, when it starts jobs, and once more when its worker has stopped or the process ends. */
export interface HealthReport {
  readonly onqueue: 'health';
  readonly health: WorkerHealth;
  /** The first few jobs that it runs, so that its death can be attributed to them. */
  readonly jobs: readonly HeldJob[];
  /** Counts since the last report. Absent if there are none. */
  readonly counted?: readonly JobCounts[] | undefined;
}

/** From a process that is about to end because its event loop stands still. */
export interface BlockReport {
  readonly onqueue: 'blocked';
  /** The job whose code blocks it; if that is unknown, the jobs that are past timeout and grace. */
  readonly jobs: readonly HeldJob[];
}

/** Tells a process that was asked to stop a second time to end at once, with this code. */
export interface EndOrder {
  readonly onqueue: 'end';
  readonly code: number;
}

// Jobs and their libraries may use the channel as well.
export function isHealthReport(message: unknown): message is HealthReport {
  return kindOf(message) === 'health';
}

export function isBlockReport(message: unknown): message is BlockReport {
  return kindOf(message) === 'blocked';
}

export function isDeathReport(message: unknown): message is DeathReport {
  return kindOf(message) === 'deaths';
}

export function isEndOrder(message: unknown): message is EndOrder {
  return kindOf(message) === 'end';
}

function kindOf(message: unknown): unknown {
  return typeof message === 'object' && message !== null && 'onqueue' in message ? message.onqueue : undefined;
}
