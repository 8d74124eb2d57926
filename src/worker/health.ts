/** What a worker says of itself, so that an orchestrator can tell one that works from one that is stuck. */
import type { Clock, Milliseconds, Seconds, Timer } from '../base/clock';
import type { Connection } from '../connections/contract';
import type { StopReason } from './stopping';

export type WorkerState = 'new' | 'running' | 'stopping' | 'stopped';

/** How many runs ended in which way since the worker began. */
export interface OutcomeCounts {
  readonly completed: number;
  readonly released: number;
  readonly failed: number;
  readonly cancelled: number;
  /** Refused by the store: somebody else had the job, or it was gone. */
  readonly lost: number;
}

export interface WorkerHealth {
  readonly state: WorkerState;
  /** Why it stops, or has stopped. */
  readonly reason: StopReason | undefined;
  /**
   * False: it should have asked the store for work, has not for half a minute, and knows of no trouble that would explain
   * it; or each of its slots is held by a job that was given up and has not come back. To start its process anew may help.
   */
  readonly live: boolean;
  /** It runs, and the store answers it: follows an outage within two seconds, where somebody asks now and then. */
  readonly ready: boolean;
  /** The connection's name in the configuration; undefined before `run()`. */
  readonly connection: string | undefined;
  readonly queues: readonly string[];
  /** Those of its queues that are paused. */
  readonly paused: readonly string[];
  /** Jobs that have a slot. */
  readonly running: number;
  /** When the store last answered a reserve; while all slots are busy nobody asks it. */
  readonly lastPoll: Date | undefined;
  readonly sinceLastPoll: Seconds | undefined;
  /** How late the event loop was in the last second or so. */
  readonly lag: Milliseconds;
  /** Running jobs whose leases are more than half over: the store has not taken their renewals. */
  readonly leasesAtRisk: number;
  /**
   * Failover connections that this process dispatches to, each with the connection that its jobs go to now, because those
   * before it took none: they wait there for a worker of their own.
   */
  readonly standIns: Readonly<Record<string, string>>;
  readonly outcomes: OutcomeCounts;
}

/** What can be told without the store being looked at, as it is for half a minute behind each question for the whole. */
export type WorkerGlance = Pick<WorkerHealth, 'state' | 'queues' | 'paused' | 'running' | 'lag' | 'outcomes'>;

export function standInsOf(connections: Iterable<Connection>): Readonly<Record<string, string>> {
  const found: Record<string, string> = {};
  for (const { name, standIn } of connections) if (standIn !== undefined) found[name] = standIn;
  return found;
}

/** Of a worker that was not run yet. */
export const UNBORN: WorkerHealth = {
  state: 'new',
  reason: undefined,
  live: true,
  ready: false,
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

/** Notices how late the event loop is. */
export class LoopLag {
  readonly #clock: Clock;
  #expectedAt: Milliseconds = Infinity;
  #lag: Milliseconds = 0;
  #timer: Timer | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Also where the loop is late right now, and the next beat is still to come. */
  get now(): Milliseconds {
    return Math.round(Math.max(this.#lag, this.#clock.monotonic() - this.#expectedAt));
  }

  /** Leaves no timer behind. */
  close(): void {
    this.#timer?.cancel();
  }

  /** Looks from here on, until `close`. */
  beat(): void {
    const now = this.#clock.monotonic();
    this.#lag = Math.max(0, now - this.#expectedAt);
    this.#expectedAt = now + BEAT;
    this.#timer = this.#clock.after(BEAT, () => this.beat());
  }
}
