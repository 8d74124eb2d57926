/**
 * The loop of a running worker: decides when to reserve and when to stop, and holds no job logic.
 *
 * One call to the store at a time: each turn settles what has ended and reserves for the slots that are free, in one
 * round trip where the driver can. Between turns the loop sleeps on a bell that every change it must look at rings.
 */
import { type Milliseconds, type Moment, momentOf, type Seconds } from '../base/clock';
import { StoreClock } from '../base/store-clock';
import { callerOf } from '../container/scope';
import type { FailedStore } from '../connections/failed-store';
import type { Logger } from '../base/logger';
import type { Application } from '../application/application';
import type { Connection, ReserveReply } from '../connections/contract';
import { MOST_JOBS } from '../base/pages';
import { Bell } from './bell';
import { Emptiness } from './emptiness';
import { Executor } from './executor';
import { IdleWait } from './idle-wait';
import { standInsOf, type WorkerHealth, type WorkerState } from './health';
import { logStubborn, logUnsettled } from './job-log';
import { LastChance } from './last-chance';
import { LeaseKeeper } from './lease/keeper';
import { Orders } from './orders';
import { isForOthers } from './outcome';
import { Permission } from './permission';
import { Presence } from './presence';
import { Pulse } from './pulse';
import { reserveOrder, type WeightedQueue } from './queue-order';
import { RunningJob } from './running-job';
import { Runs } from './runs';
import { type Finished, Settler } from './settler';
import { Shutdown } from './shutdown';
import { Slots } from './slots';
import { Strays } from './strays';
import { RUN_OUT, StopConditions, type StopReason } from './stop-conditions';
import { StoreWatch } from './store-watch';
import { Trouble } from './trouble';
import type { ResolvedWorkerOptions } from './worker-options';
import type { WorkersProcess } from './workers-process';

export interface WorkLoopSettings {
  readonly options: ResolvedWorkerOptions;
  readonly connection: Connection;
  readonly queues: readonly WeightedQueue[];
  readonly lease: Seconds;
  readonly application: Application;
  /** The connection's own, or where its failed jobs go. Undefined: it buries them. */
  readonly failedStore: FailedStore | undefined;
  readonly process: WorkersProcess;
}

export class WorkLoop {
  readonly #options: ResolvedWorkerOptions;
  readonly #connection: Connection;
  readonly #queues: readonly WeightedQueue[];
  readonly #lease: Seconds;
  readonly #application: Application;
  readonly #process: WorkersProcess;
  readonly #logger: Logger;
  readonly #bell = new Bell();
  readonly #conditions: StopConditions;
  readonly #executor: Executor;
  readonly #settler: Settler;
  readonly #leases: LeaseKeeper;
  readonly #idle: IdleWait;
  readonly #trouble: Trouble;
  readonly #watch: StoreWatch;
  readonly #shutdown: Shutdown;
  readonly #lastChance: LastChance;
  readonly #orders: Orders;
  readonly #pulse: Pulse;
  readonly #permission: Permission;
  readonly #presence: Presence;
  readonly #empty: Emptiness;
  readonly #slots: Slots;
  readonly #runs: Runs;
  readonly #storeClock: StoreClock;

  /** Queues that the last reserve did not ask, as it would have been handed what runs here already. */
  #unasked: ReadonlySet<string> | undefined;
  /** The turn under way, if one is. */
  #turning: Promise<void> = Promise.resolve();
  /** More jobs may be there for the asking. */
  #hungry = true;
  /** When delayed jobs or ended leases make another look worth while, by the monotonic clock. */
  #nextLook: Milliseconds = Infinity;
  #state: WorkerState = 'new';
  #reason: StopReason | undefined;

  constructor(settings: WorkLoopSettings) {
    const { options, connection, queues, lease, application, failedStore } = settings;
    const { endsProcess = false, afterCrash = false, changed } = settings.process;
    const { clock, logger } = application;
    this.#logger = logger;
    this.#storeClock = new StoreClock(clock);
    const ring = (): void => this.#bell.ring();
    this.#options = options;
    this.#connection = connection;
    this.#queues = queues;
    this.#lease = lease;
    this.#application = application;
    this.#process = settings.process;
    this.#conditions = new StopConditions(options, clock);
    this.#trouble = new Trouble(application, connection, ring);
    this.#shutdown = new Shutdown(options.grace, clock, () => this.#runs.interrupt());
    this.#orders = new Orders(connection, this.#logger);
    this.#pulse = new Pulse(clock);
    const { defaults, grace } = options;
    this.#executor = new Executor(application, { defaults, grace, lease, caller: this, starting: changed });
    this.#lastChance = new LastChance((job) => this.#executor.isLastChance(job));
    const freed = (): void => {
      this.#hungry = true;
      ring();
    };
    this.#slots = new Slots({ options, clock, logger: this.#logger, endsProcess, freed });
    const report = (error: unknown): void => this.#trouble.tell(error, 'renewing leases');
    // A worker whose slots are all busy hears of the store by its leases alone.
    const recovered = (): void => this.#trouble.over();
    this.#leases = new LeaseKeeper({ connection, lease, clock, logger, grace, endsProcess, report, recovered });
    const names = queues.map(({ name }) => name);
    this.#watch = new StoreWatch(connection, names[0]!, clock, this.#pulse);
    const leftUntil = afterCrash ? clock.monotonic() + lease * 1000 : -Infinity;
    this.#empty = new Emptiness({ connection, queues: names, clock, drain: options.drain, leftUntil });
    const event = { connectionName: connection.name, queue: names.join(',') };
    this.#presence = new Presence({ application, caller: this, event, shutdown: this.#shutdown });
    this.#permission = new Permission({ application, event, pause: options.sleep, answered: ring });
    this.#idle = new IdleWait(connection, names, options.sleep, clock, ring);
    this.#settler = new Settler({
      connection,
      announcer: this.#executor.announcer,
      failedStore,
      logger: this.#logger,
      terms: { clock, lease, concurrency: options.concurrency, keptFailures: application.keptFailures },
      settled: (job) => {
        this.#leases.drop(job);
        ring();
      },
      untaken: (finished, error) => {
        this.#runs.takeBack(finished);
        if (this.#state !== 'stopped') this.#trouble.note(error, 'settling');
      },
      announced: freed,
    });
    this.#runs = new Runs({
      executor: this.#executor,
      slots: this.#slots,
      leases: this.#leases,
      lastChance: this.#lastChance,
      clock,
      ended: (job, outcome) => {
        if (options.drain && isForOthers(outcome)) this.#empty.leave(job);
        // In a worker that ends no slot is waited for, and the line on the outcome says enough.
        const ends = this.#state !== 'running' || this.#conditions.stopRequested !== undefined;
        if (job.handler === 'running' && !ends) logStubborn(logger, job);
        ring();
      },
    });
  }

  /** Asks the loop to end; `run` resolves when it has. */
  stop(reason: 'stopped' | 'uncaught' = 'stopped'): void {
    this.#conditions.stopRequested ??= reason;
    this.#runs.stop();
    this.#shutdown.begin(this.#runs.open > 0);
    this.#bell.ring();
  }

  /** Whether it waits for the code that asks. */
  get isCaller(): boolean {
    return callerOf() === this || this.#runs.isCaller;
  }

  get running(): readonly RunningJob[] {
    return this.#runs.running;
  }

  get health(): WorkerHealth {
    const { clock } = this.#application;
    const { sinceLastPoll, lag } = this.#pulse;
    const stuck = (this.#mayAsk && this.#pulse.isSilent(this.#options.sleep)) || this.#slots.areStuck;
    const troubled = !this.#watch.answers || this.#trouble.isTold || this.#connection.isAway === true;
    return {
      state: this.#state,
      reason: this.#reason,
      live: this.#state !== 'running' || !stuck || troubled,
      ready: this.#state === 'running' && sinceLastPoll !== undefined && !stuck && !troubled,
      connection: this.#connection.name,
      queues: this.#queues.map(({ name }) => name),
      paused: this.#orders.paused,
      running: this.#slots.busy,
      lastPoll: sinceLastPoll === undefined ? undefined : new Date(clock.now() - sinceLastPoll * 1000),
      sinceLastPoll,
      lag,
      leasesAtRisk: this.#leases.atRisk,
      standIns: standInsOf(this.#application.drivers),
      outcomes: this.#settler.counts,
    };
  }

  async run(): Promise<StopReason> {
    this.#state = 'running';
    const strays = new Strays(this.#application, this.#process.strays, () => this.stop('uncaught'));
    try {
      await this.#presence.starting();
      const reason = await this.#work();
      this.#state = 'stopping';
      this.#reason = reason;
      if (!RUN_OUT.includes(reason)) this.#runs.stop();
      this.#process.changed?.();
      this.#idle.pause();
      await this.#drain();
      await this.#presence.stopping(reason);
      return reason;
    } finally {
      strays.close();
      this.#executor.close();
      this.#settler.close();
      this.#trouble.close();
      this.#shutdown.close();
      this.#pulse.close();
      this.#watch.close();
      this.#state = 'stopped';
      await this.#leases.close();
      await this.#idle.end();
    }
  }

  async #work(): Promise<StopReason> {
    for (;;) {
      // Until the turn is over in which a handler came back, it is not known what it has left behind.
      if (this.#runs.areFresh) await this.#runs.turnOver();
      if (this.#idle.takeWakeUp() || this.#application.clock.monotonic() >= this.#nextLook) this.#hungry = true;
      const asked = this.#conditions.reason() ?? (this.#mayEndAsEmpty ? await this.#emptiness() : undefined);
      const reason = asked ?? (this.#isSettled ? this.#slots.stuck() : undefined);
      if (reason !== undefined) return reason;
      // Once all is stored and told that ran beside it: a crash would be theirs as well.
      if (this.#lastChance.held !== undefined && this.#isSettled) this.#start(this.#lastChance.start());
      const limit = this.#trouble.pausing ? 0 : this.#limit();
      if (limit === 0 && (this.#runs.ended === 0 || this.#trouble.pausing)) await this.#sleep();
      // A store that never answers must not keep a stopped worker.
      else await this.#shutdown.within((this.#turning = this.#turn(limit)));
    }
  }

  async #turn(limit: number): Promise<void> {
    const finished = this.#runs.depart();
    const reserves = finished.length === 0 || (limit > 0 && this.#settler.combines);
    const askedAt = momentOf(this.#application.clock);
    let reply: ReserveReply | undefined;
    try {
      if (reserves) reply = await this.#exchange(finished, limit);
      else await this.#settler.settle(finished);
    } catch (error) {
      this.#runs.arrive(false);
      this.#trouble.note(error, 'settling and reserving');
      return;
    }
    this.#runs.arrive(true);
    // One part of the store may answer while another does not, or has just refused what it had left unanswered.
    if (this.#settler.unanswered === 0 && !this.#trouble.pausing) this.#trouble.over();
    if (finished.length + (reply?.reservations.length ?? 0) > 0) this.#empty.disturb();
    if (reply === undefined) this.#hungry = true;
    // Asked for before the stop: once the loop has ended nobody would renew their leases, or settle them.
    else if (this.#heed(reply)) {
      const told = (error: unknown): void => this.#trouble.tell(error, 'giving jobs back');
      await this.#settler.giveBack(reply.reservations).catch(told);
    } else this.#take(reply, limit, askedAt);
  }

  async #exchange(finished: readonly Finished[], limit: number): Promise<ReserveReply | undefined> {
    const renewed = this.#leases.renewEnded(this.#queues.length);
    this.#unasked = renewed === undefined ? undefined : await renewed;
    this.#permission.use();
    const queues = reserveOrder(this.#queues, this.#options.fair ? this.#application.random : undefined, this.#unasked);
    const request = { queues, limit, lease: this.#lease };
    return finished.length > 0 ? this.#settler.settleAndReserve(finished, request) : this.#connection.reserve(request);
  }

  // True: the worker is to end, and starts nothing more.
  #heed(reply: ReserveReply): boolean {
    for (const one of reply.setAside) this.#settler.setAside(one);
    this.#pulse.polled();
    if (reply.now !== undefined) this.#storeClock.told(reply.now);
    if (this.#orders.heed(reply, this.#unasked)) this.#conditions.restartRequested = true;
    return this.#conditions.stopRequested !== undefined || this.#conditions.restartRequested;
  }

  #take({ reservations, nextIn }: ReserveReply, limit: number, askedAt: Moment): void {
    const { name } = this.#connection;
    const jobs = reservations.map((reservation) => new RunningJob(reservation, name, this.#storeClock));
    // Before any handler starts: one that blocks the event loop at once must not be unknown to who keeps the leases.
    this.#leases.keep(jobs, askedAt);
    const { start, back } = this.#lastChance.split(jobs);
    this.#hungry = reservations.length === limit || nextIn <= 0 || back.length > 0;
    this.#nextLook = this.#application.clock.monotonic() + nextIn * 1000;
    for (const job of back) this.#runs.giveBack(job);
    for (const job of start) this.#start(job);
  }

  #start(job: RunningJob): void {
    this.#conditions.started += 1;
    this.#runs.start(job);
  }

  get #free(): number {
    return this.#slots.free - this.#settler.announcing;
  }

  get #mayAsk(): boolean {
    return this.#free > 0 && this.#permission.vetoedUntil === undefined && !this.#lastChance.isTaken;
  }

  // How many jobs to ask for in this turn.
  #limit(): number {
    const limit = Math.min(this.#free, this.#conditions.jobsLeft, MOST_JOBS, this.#lastChance.most);
    return this.#hungry && limit > 0 && this.#mayAsk && this.#permission.isGranted() ? limit : 0;
  }

  // Of a worker of one job, which does not run out before its queues were seen: the first look may come late.
  get #patienceLeft(): Milliseconds {
    const hasLooked = this.#pulse.sinceLastPoll !== undefined || this.#permission.isVetoed;
    return hasLooked ? this.#conditions.patienceLeft : Infinity;
  }

  // All is stored and told that is known: an end leaves nothing behind but handlers that were given up.
  get #isSettled(): boolean {
    return this.#unsettled + this.#settler.announcing === 0;
  }

  get #mayEndAsEmpty(): boolean {
    return this.#isSettled && !this.#lastChance.isTaken && (this.#options.stopWhenEmpty || this.#patienceLeft <= 0);
  }

  // A veto counts as an empty queue, as in Laravel: a paused worker can be told to end when it has nothing to do.
  async #emptiness(): Promise<StopReason | undefined> {
    if (this.#patienceLeft <= 0 || this.#permission.isVetoed) return 'empty';
    this.#hungry ||= this.#unasked !== undefined;
    if ((this.#hungry && this.#free > 0) || this.#trouble.pausing) return undefined;
    let isEmpty = false;
    const look = async (): Promise<void> => {
      if (!(await this.#empty.holds(this.#hungry ? undefined : this.#nextLook, this.#orders.paused))) return;
      // A job that the store has just handed to the wait is counted nowhere: once it is back, a last look decides.
      isEmpty = !(await this.#idle.end()) || this.#free <= 0;
      this.#hungry ||= !isEmpty;
    };
    try {
      await this.#shutdown.within(look());
    } catch (error) {
      // It is not known: the store does not answer.
      this.#trouble.note(error, 'counting');
    }
    return isEmpty ? 'empty' : undefined;
  }

  async #sleep(): Promise<void> {
    const now = this.#application.clock.monotonic();
    const { vetoedUntil } = this.#permission;
    const idle = this.#mayAsk && !this.#hungry && !this.#trouble.pausing;
    const wakeAt = [
      idle ? this.#nextLook : Infinity,
      vetoedUntil ?? Infinity,
      now + this.#conditions.timeLeft,
      this.#runs.open === 0 ? now + this.#patienceLeft : Infinity,
    ];
    if (!idle) this.#idle.pause();
    else if (this.#isSettled) this.#presence.idle(this.#conditions.started);
    this.#idle.until(Math.min(...wakeAt), idle);
    await this.#bell.heard();
    // What else ends in this turn of the event loop travels in the same call.
    await this.#runs.turnOver();
  }

  // Runs finish and are settled; after `stop()` only for as long as the grace, then they are given back.
  async #drain(): Promise<void> {
    if (this.#lastChance.held !== undefined) this.#runs.giveBack(this.#lastChance.held);
    while (this.#unsettled > 0 && !this.#shutdown.isOver) {
      if (this.#runs.areFresh) await this.#runs.turnOver();
      const idle = this.#runs.ended === 0 || this.#trouble.pausing;
      const step = this.#runs.areSettling ? this.#turning : idle ? this.#bell.heard() : this.#turn(0);
      await this.#shutdown.within(step);
    }
    if (this.#unsettled + this.#settler.held > 0) this.#giveUp();
    if (this.#unsettled > 0) return;
    // What is left are calls of the user's functions: they too have a deadline, also where nobody asked for a stop.
    this.#shutdown.begin(true);
    await this.#shutdown.within(this.#settler.announced());
  }

  get #unsettled(): number {
    return this.#runs.size + this.#settler.unanswered;
  }

  #giveUp(): void {
    const { open } = this.#runs;
    const ended = this.#unsettled + this.#settler.held - open;
    const silence = ended > this.#runs.ended ? 'the store has not answered' : 'there was no time left to do so';
    const why = this.#trouble.lastMessage ?? this.#settler.lastRefusal ?? silence;
    logUnsettled(this.#logger, { connection: this.#connection.name, open, ended, why });
  }
}
