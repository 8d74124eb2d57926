/** A worker's health report. Lets an orchestrator tell a worker that works from one that is stuck. */
import type { Clock, Milliseconds, Seconds, Timer } from '../base/clock';
import type { StopReason } from './stopping';

export type WorkerState = 'new' | 'running' | 'stopping' | 'stopped';

/** How many runs ended each way since the worker started. */
export interface OutcomeCounts {
  readonly completed: number;
  readonly released: number;
  readonly failed: number;
  readonly cancelled: number;
  /** The store refused the outcome: somebody else had the job, or it was gone. */
  readonly lost: number;
}

export interface WorkerHealth {
  readonly state: WorkerState;
  /** Why the worker stops or has stopped. */
  readonly reason: StopReason | undefined;
  /**
   * False if the worker should have asked the store for work but has not for half a minute, and knows of no trouble that
   * explains it; or if each slot is held by a job that was given up but has not returned. Restarting the process may help.
   */
  readonly live: boolean;
  /** The worker runs and the store answers. Follows an outage within two seconds, if somebody asks now and then. */
  readonly ready: boolean;
  /** The worker's name; undefined before `run()`. */
  readonly name: string | undefined;
  /** The connection's name in the configuration; undefined before `run()`. */
  readonly connection: string | undefined;
  readonly queues: readonly string[];
  /** Its paused queues. */
  readonly paused: readonly string[];
  /** Slots in use. */
  readonly running: number;
  /** When the store last answered a reserve. A worker asks for none while all slots are busy. */
  readonly lastPoll: Date | undefined;
  readonly sinceLastPoll: Seconds | undefined;
  /** How late the event loop was in the last second or so. */
  readonly lag: Milliseconds;
  /** Running jobs whose leases are more than half over because the store has not answered their renewals. */
  readonly leasesAtRisk: number;
  /**
   * Failover connections that this process dispatches to, each with the connection that takes its jobs now because the ones
   * before it took none. The jobs wait there for a worker of that connection.
   */
  readonly standIns: Readonly<Record<string, string>>;
  readonly outcomes: OutcomeCounts;
}

/**
 * What can be said without asking the store. Asking for the whole health makes the worker query the store for half a minute.
 */
export type WorkerGlance = Pick<WorkerHealth, 'state' | 'queues' | 'paused' | 'running' | 'lag' | 'outcomes'>;

/** The health of a worker that has not been run yet. */
export const UNBORN: WorkerHealth = {
  state: 'new',
  reason: undefined,
  live: true,
  ready: false,
  name: undefined,
  connection: undefined,
  queues: [],
  paused: [],
  running: 0,
  lastPoll: undefined,
  sinceLastPoll: undefined,
  lag: 0,
  leasesAtRisk: 0,
  standIns: {},
  outcomes: { completed: 0, released: 0, failed: 0, cancelled: 0, lost: 0 },
};

const BEAT: Milliseconds = 1000;

/** Measures how late the event loop is. */
export class LoopLag {
  readonly #clock: Clock;
  #expectedAt: Milliseconds = Infinity;
  #lag: Milliseconds = 0;
  #timer: Timer | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Includes the delay of a beat that is overdue right now. */
  get now(): Milliseconds {
    return Math.round(Math.max(this.#lag, this.#clock.monotonic() - this.#expectedAt));
  }

  /** Leaves no timer behind. */
  close(): void {
    this.#timer?.cancel();
  }

  /** Measures from now on, until `close`. */
  beat(): void {
    const now = this.#clock.monotonic();
    this.#lag = Math.max(0, now - this.#expectedAt);
    this.#expectedAt = now + BEAT;
    this.#timer = this.#clock.after(BEAT, () => this.beat());
  }
}
