/** A worker's health report. Lets an orchestrator tell a worker that works from one that is stuck. */
import { pauseAfter, Silence, within, type Clock, type Milliseconds, type Seconds, type Timer } from '../base/clock';
import type { StopReason } from './stop';
import { errorMessage } from '../base/exception-text';
import type { Logger } from '../base/logger';
import type { Application } from '../connections/application';
import type { Connection, ReserveReply } from '../connections/contract';

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

/** A store that is back is used again within 2 s, however long its connection takes. */
const BACKOFF = { first: 250, longest: 1000 };

/** A worker with free slots and no known trouble that got no answer for this long is stuck. */
const LONGEST_SILENCE: Seconds = 30;

const LOOK_EVERY: Milliseconds = 1000;
/** How long a look may take. With the pause before it, an outage is seen within two seconds. */
const LOOK_DEADLINE: Milliseconds = 750;
/** How long we watch after somebody asked for the health. */
const WATCHED: Milliseconds = 30_000;

interface StoreGlance extends Pick<WorkerHealth, 'lastPoll' | 'sinceLastPoll'> {
  /** Something is known to be wrong with it. */
  readonly isTroubled: boolean;
  /** It has been silent for too long. */
  readonly isSilent: boolean;
}

/** Connections whose dangers were logged: few people run `onqueue check`. */
const warned = new WeakSet<Connection>();

/**
 * How the store is doing, as one worker sees it: when it last answered and what it said besides the jobs, whether we leave
 * it alone after a failure, and, while somebody asks for the worker's health, whether it answers at all.
 *
 * A failure is logged once per streak, and the store is asked again after growing pauses. An idle worker would notice an
 * outage with its next reserve, and a busy one with its next renewal. That is too late for a health check, so for half a
 * minute after each `health()` we send a cheap query whenever the store has been silent for a second.
 */
export class StoreHealth {
  readonly #application: Pick<Application, 'clock' | 'random' | 'logger'>;
  readonly #clock: Clock;
  readonly #connection: Connection;
  readonly #pauseOver: () => void;
  readonly #startedAt: Milliseconds;
  // What follows is for the loop to read.
  /** When the store last answered a reserve, by the monotonic clock. */
  heardAt: Milliseconds | undefined;
  /** The worker's paused queues. */
  paused: readonly string[] = [];
  /** The store has just failed, and we leave it alone for now. */
  isPausing = false;
  /** The last failure's message, unless the store has answered since. */
  lastMessage: string | undefined;
  #restart: string | undefined;

  #failures = 0;
  #isTold = false;
  #pause: Timer | undefined;

  readonly #look: (() => Promise<unknown>) | undefined;
  /** The store has left a look unanswered, and has answered none since. */
  #leavesLooks = false;
  #watchedUntil: Milliseconds = -Infinity;
  #nextLook: Timer | undefined;
  #isLooking = false;
  #isClosed = false;

  /**
   * @param queue any of the worker's queues
   * @param pauseOver called when the store may be asked again
   */
  constructor(
    application: Pick<Application, 'clock' | 'random' | 'logger'>,
    connection: Connection,
    queue: string,
    pauseOver: () => void,
  ) {
    this.#application = application;
    this.#clock = application.clock;
    this.#connection = connection;
    this.#pauseOver = pauseOver;
    this.#startedAt = this.#clock.monotonic();
    this.#look = lookOf(connection, queue);
  }

  /**
   * The store answered a reserve. True if it told the workers to restart.
   *
   * @param unasked the worker's queues that were not asked, and that the reply does not cover
   */
  heard({ paused: told = [], restart, forgotten }: ReserveReply, unasked?: ReadonlySet<string>): boolean {
    const isFirst = this.heardAt === undefined;
    this.heardAt = this.#clock.monotonic();
    const paused = unasked === undefined ? told : [...told, ...this.paused.filter((queue) => unasked.has(queue))];
    if (paused.join() !== this.paused.join()) this.#logPaused(paused);
    if (forgotten === true) this.#logForgotten();
    if (isFirst) void logDangers(this.#connection, this.#application.logger);
    // An order from before this worker started is not meant for it. A store that has lost its data gives no orders.
    const isNew = !isFirst && restart !== undefined && restart !== this.#restart;
    this.#restart = restart ?? this.#restart;
    return isNew;
  }

  /** For the worker's health. Starts the looks. @param sleep how often the worker asks; Infinity: it does not at present */
  seen(sleep: Seconds): StoreGlance {
    const now = this.#clock.monotonic();
    this.#watchedUntil = now + WATCHED;
    if (this.#nextLook === undefined && !this.#isLooking) this.#lookIn(0);
    const silence = (now - (this.heardAt ?? this.#startedAt)) / 1000;
    const sinceLastPoll = this.heardAt === undefined ? undefined : silence;
    return {
      isTroubled: this.#leavesLooks || this.isOut,
      isSilent: silence > Math.max(LONGEST_SILENCE, 3 * sleep),
      lastPoll: sinceLastPoll === undefined ? undefined : new Date(this.#clock.now() - sinceLastPoll * 1000),
      sinceLastPoll,
    };
  }

  /** Whether the log says that the store does not answer. */
  get isOut(): boolean {
    return this.#isTold || this.#connection.isAway === true;
  }

  /** Logs a failure, once per streak, unless the driver has logged it. */
  tell(thrown: unknown, during: string): void {
    const message = errorMessage(thrown);
    this.lastMessage = message;
    if (this.isOut) return;
    this.#isTold = true;
    const { name, address } = this.#connection;
    this.#application.logger.error({ connection: name, address, during }, `${message} The worker goes on trying.`);
  }

  /** Logs a failure and leaves the store alone for a while. */
  failed(thrown: unknown, during: string): void {
    if (this.#isClosed) return;
    this.tell(thrown, during);
    const pause = pauseAfter(this.#failures, BACKOFF, this.#application.random);
    this.#failures += 1;
    this.#pause?.cancel();
    this.isPausing = true;
    this.#pause = this.#clock.after(pause, () => {
      this.isPausing = false;
      this.#pauseOver();
    });
  }

  /** Ends a streak of failures, if there was one. */
  recovered(): void {
    this.#failures = 0;
    this.lastMessage = undefined;
    if (!this.#isTold) return;
    this.#isTold = false;
    const { name, address } = this.#connection;
    this.#application.logger.info({ connection: name, address }, `${address} answers again.`);
  }

  /** Leaves no timer behind. */
  close(): void {
    this.#isClosed = true;
    for (const timer of [this.#pause, this.#nextLook]) timer?.cancel();
    this.isPausing = false;
  }

  #logPaused(paused: readonly string[]): void {
    const { name } = this.#connection;
    for (const queue of paused.filter((one) => !this.paused.includes(one))) {
      this.#application.logger.warn(
        { connection: name, queue },
        `Queue '${queue}' is paused: nothing is taken from it.`,
      );
    }
    for (const queue of this.paused.filter((one) => !paused.includes(one))) {
      this.#application.logger.info({ connection: name, queue }, `Queue '${queue}' goes on.`);
    }
    this.paused = paused;
  }

  #logForgotten(): void {
    const { name, address } = this.#connection;
    this.#application.logger.error(
      { connection: name, address, outcome: 'forgotten' },
      `${address} has lost data that it had confirmed: it was flushed, or came back without its data. Jobs that waited there ` +
        'are gone; those that run here end as lost. The worker goes on.',
    );
  }

  #lookIn(pause: Milliseconds): void {
    if (this.#isClosed || this.#look === undefined) return;
    this.#nextLook = this.#clock.after(pause, () => {
      this.#nextLook = undefined;
      if (this.#clock.monotonic() >= this.#watchedUntil) return;
      const quiet = this.#clock.monotonic() - (this.heardAt ?? -Infinity);
      if (quiet >= LOOK_EVERY) void this.#lookNow(this.#look!);
      else {
        this.#leavesLooks = false;
        this.#lookIn(LOOK_EVERY - quiet);
      }
    });
  }

  async #lookNow(look: () => Promise<unknown>): Promise<void> {
    const askedAt = this.#clock.monotonic();
    this.#isLooking = true;
    const answer = look();
    await within(this.#clock, LOOK_DEADLINE, answer, false).catch((error: unknown) => {
      this.#leavesLooks ||= error instanceof Silence;
    });
    // A store that refuses is up. For a store that is away, the look is late by now.
    await answer.then(
      () => (this.#leavesLooks = false),
      () => undefined,
    );
    this.#isLooking = false;
    this.#lookIn(Math.max(0, askedAt + LOOK_EVERY - this.#clock.monotonic()));
  }
}

/** The cheapest query that the store has. Undefined if each would cost money or time. */
function lookOf(connection: Connection, queue: string): (() => Promise<unknown>) | undefined {
  const { capabilities, control } = connection;
  if (control !== undefined) return () => control.paused();
  return capabilities.exactCounts ? () => connection.queues.counts(queue) : undefined;
}

/** Logs what `onqueue check` finds about a store that may lose jobs. Never rejects. */
async function logDangers(connection: Connection, logger: Logger): Promise<void> {
  const store = connection.failover?.first ?? connection;
  if (warned.has(store)) return;
  warned.add(store);
  const { name, address } = store;
  const found = await store.diagnose().catch(() => []);
  for (const { level, subject, message, endangersJobs } of found) {
    if (endangersJobs !== true) continue;
    const text = `${address} may lose jobs. ${subject}: ${message}`;
    logger[level === 'error' ? 'error' : 'warn']({ connection: name, subject }, text);
  }
}
