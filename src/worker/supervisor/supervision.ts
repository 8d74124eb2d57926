/** Messages between a supervisor and its processes, and the meaning of a process's exit code. */
import type { Milliseconds, Seconds } from '../../base/clock';
import type { JobCounts } from '../../operations/figures/job-counters';
import type { WorkerHealth, WorkerState } from '../health';
import type { Place, SupervisedProcess } from './supervised-process';

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

export type ProcessMessage = HealthReport | BlockReport | DeathReport | EndOrder;

/** Undefined if the message is none of ours: jobs and their libraries may use the channel as well. */
export function ownMessage(message: unknown): ProcessMessage | undefined {
  const isOwn = typeof message === 'object' && message !== null && 'onqueue' in message;
  return isOwn ? (message as ProcessMessage) : undefined;
}

/** A process reports every second. One that has been silent for this long has a frozen event loop or is suspended. */
const LONGEST_SILENCE: Seconds = 5;

/** Loading a large project takes time, above all in TypeScript. */
const LONGEST_START: Seconds = 60;

export interface ProcessHealth {
  /** The number of its place, from 1. */
  readonly process: number;
  /** Undefined while none runs: the last process died and the next has not started yet. */
  readonly pid: number | undefined;
  readonly state: 'waiting' | 'starting' | WorkerState;
  readonly live: boolean;
  readonly ready: boolean;
  /** How often a process was started in this place. */
  readonly starts: number;
  /** Seconds since its last report. */
  readonly silence: Seconds;
  /** Its last report. */
  readonly worker: WorkerHealth | undefined;
}

export interface SupervisorHealth {
  /** Each running process reports, and none is stuck. */
  readonly live: boolean;
  /** Each place has a working process whose store answers. */
  readonly ready: boolean;
  readonly processes: readonly ProcessHealth[];
}

/** A supervisor's report about its processes, from their reports and their silences. */
export function supervisorHealth(places: readonly Place[], stopping: boolean): SupervisorHealth {
  const open = places.filter(({ isDone }) => !isDone);
  const current = open.map((place) => healthOf(place, place.current));
  const leaving = places.flatMap((place) => (place.leaving === undefined ? [] : [healthOf(place, place.leaving)]));
  const processes = [...current, ...leaving].toSorted((a, b) => a.process - b.process);
  return {
    live: processes.every(({ live }) => live),
    ready: !stopping && current.length > 0 && current.every(({ ready }) => ready),
    processes,
  };
}

/** The health of a process that nobody supervises. */
export function unsupervisedHealth(worker: WorkerHealth, pid: number): SupervisorHealth {
  const { state, live, ready } = worker;
  return { live, ready, processes: [{ process: 1, pid, state, live, ready, starts: 1, silence: 0, worker }] };
}

function healthOf({ number, starts }: Place, process: SupervisedProcess | undefined): ProcessHealth {
  const worker = process?.health;
  const silence = Math.round(process?.silence ?? 0) / 1000;
  const heard = silence <= (worker === undefined ? LONGEST_START : LONGEST_SILENCE);
  return {
    process: number,
    pid: process?.pid,
    state: process === undefined ? 'waiting' : (worker?.state ?? 'starting'),
    live: heard && (worker?.live ?? true),
    ready: heard && (worker?.ready ?? false),
    starts,
    silence,
    worker,
  };
}
