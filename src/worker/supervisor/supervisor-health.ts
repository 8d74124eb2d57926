/** A supervisor's report about its processes, from their reports and their silences. */
import type { Seconds } from '../../base/clock';
import type { WorkerHealth, WorkerState } from '../health';
import type { Place } from './place';
import type { SupervisedProcess } from './supervised-process';

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
