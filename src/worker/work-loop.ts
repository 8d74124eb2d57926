/**
 * The loop of a running worker: decides when to reserve and when to stop, and holds no job logic.
 *
 * At the end of each turn of the event loop in which something happened it takes a step: it settles what has ended and
 * reserves for the slots that are free, in one call where the driver can. Where a connection carries several calls at once,
 * a busy worker has several under way: the store works on one part of the slots while the other part runs.
 */
import { type Moment, momentOf, type Seconds } from '../base/clock';
import { MOST_JOBS } from '../base/pages';
import { StoreClock } from '../base/store-clock';
import { callerOf, callFrom } from '../container/scope';
import type { FailedStore } from '../connections/failed-store';
import type { Connection, ReserveReply } from '../connections/contract';
import type { Application } from '../application/application';
import { Apart } from './apart';
import { Emptiness } from './emptiness';
import { Executor } from './executor';
import { LoopLag, standInsOf, type WorkerHealth, type WorkerState } from './health';
import { Bell, Idle } from './idle';
import { logStubborn, logUnsettled } from './job-log';
import { LeaseKeeper } from './lease/keeper';
import { Looping } from './looping';
import { Orders } from './orders';
import { isForOthers, type Outcome } from './outcome';
import { reserveOrder, type WeightedQueue } from './queue-order';
import { RunningJob } from './running-job';
import { type Finished, Runs } from './runs';
import { Settler } from './settler';
import { RAN_OUT, Stopping, type StopReason } from './stopping';
import { StoreHealth } from './store-health';
import { hearUncaught, type WatchUncaught } from './uncaught';
import type { ResolvedWorkerOptions } from './worker-options';

/** What a worker of the command has, because its process is its own; a worker of a program has none of it. */
export interface WorkersProcess {
  /** The process may be ended when a handler blocks its event loop. */
  readonly endsProcess?: boolean | undefined;
  /** It stands in for one that has died: under `drain` the jobs that this one held are not left behind. */
  readonly afterCrash?: boolean | undefined;
  /** Called before each handler starts, which may take the process with it; and when the worker takes no more jobs. */
  readonly changed?: (() => void) | undefined;
  /** Where errors are heard that nobody has caught. */
  readonly uncaught?: WatchUncaught | undefined;
}

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

/** Of fewer slots no call leaves enough for another one. */
const SLOTS_FOR_TWO_CALLS = 4;

export class WorkLoop {
  readonly #settings: WorkLoopSettings;
  readonly #event: { readonly connectionName: string; readonly queue: string };
  readonly #bell = new Bell();
  readonly #lag: LoopLag;
  readonly #storeClock: StoreClock;
  readonly #stopping: Stopping;
  readonly #idle: Idle;
  readonly #store: StoreHealth;
  readonly #orders: Orders;
  readonly #looping: Looping;
  readonly #emptiness: Emptiness;
  readonly #apart: Apart;
  readonly #executor: Executor;
  readonly #leases: LeaseKeeper;
  readonly #settler: Settler;
  readonly #runs: Runs;

  #state: WorkerState = 'new';
  #reason: StopReason | undefined;
  /** Calls under way, and the slots that they are to fill. */
  #calls = 0;
  #asked = 0;
  /** How many calls there may be, and what one of them asks for at most. */
  readonly #mostCalls: number;
  readonly #share: number;
  /** Queues that the last reserve did not ask, because it would have been handed what runs here already. */
  #unasked: ReadonlySet<string> | undefined;
  /** How many jobs had been started when the hooks were last told that the worker is idle. */
  #idleAfter: number | undefined;

  constructor(settings: WorkLoopSettings) {
    const { options, connection, lease, application, failedStore } = settings;
    const { endsProcess = false, afterCrash = false, changed } = settings.process;
    const { clock, logger } = application;
    const { concurrency, defaults, drain, grace, sleep } = options;
    const { ring } = this.#bell;
    const freed = (): void => {
      this.#idle.lookAgain();
      ring();
    };
    const queues = settings.queues.map(({ name }) => name);
    this.#settings = settings;
    this.#event = { connectionName: connection.name, queue: queues.join(',') };
    this.#mostCalls = concurrency < SLOTS_FOR_TWO_CALLS ? 1 : (connection.callsAtOnce ?? 1);
    this.#share = Math.min(MOST_JOBS, Math.ceil(concurrency / this.#mostCalls));
    this.#lag = new LoopLag(clock);
    this.#storeClock = new StoreClock(clock);
    this.#stopping = new Stopping(options, clock, () => this.#runs.interrupt(), ring);
    this.#idle = new Idle(connection, queues, sleep, clock, ring);
    this.#store = new StoreHealth(application, connection, queues[0]!, ring);
    this.#orders = new Orders(connection, logger);
    this.#looping = new Looping(application, this.#event, sleep, ring);
    const leftUntil = afterCrash ? clock.monotonic() + lease * 1000 : -Infinity;
    this.#emptiness = new Emptiness({ connection, queues, clock, drain, leftUntil });
    this.#apart = new Apart((job) => this.#executor.isLastChance(job));
    this.#executor = new Executor(application, { defaults, grace, lease, caller: this, starting: changed });
    this.#leases = new LeaseKeeper({
      connection,
      lease,
      clock,
      logger,
      grace,
      endsProcess,
      report: (error) => this.#store.tell(error, 'renewing leases'),
      // A worker whose slots are all busy hears of the store by its leases alone.
      recovered: () => this.#store.recovered(),
    });
    this.#settler = new Settler({
      connection,
      announcer: this.#executor.announcer,
      failedStore,
      logger,
      clock,
      lease,
      concurrency,
      mostFailures: application.keptFailures,
      settled: (job) => {
        this.#leases.drop(job);
        ring();
      },
      untaken: (finished, error) => {
        this.#runs.takeBack(finished);
        this.#store.failed(error, 'settling');
      },
      announced: freed,
    });
    this.#runs = new Runs({
      options,
      executor: this.#executor,
      leases: this.#leases,
      apart: this.#apart,
      clock,
      logger,
      endsProcess,
      ended: (job, outcome) => this.#ended(job, outcome),
      freed,
    });
  }

  /** Asks the loop to end; `run` resolves when it has. */
  stop(reason: 'stopped' | 'uncaught' = 'stopped'): void {
    this.#stopping.requested ??= reason;
    this.#runs.stop();
    this.#stopping.begin(this.#runs.open > 0);
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
    const { connection, application, options, queues } = this.#settings;
    const { sinceHeard } = this.#store;
    const isStuck = (this.#mayAsk && this.#store.isSilent(options.sleep)) || this.#runs.areStuck;
    const isTroubled = this.#store.isTroubled;
    return {
      state: this.#state,
      reason: this.#reason,
      live: this.#state !== 'running' || !isStuck || isTroubled,
      ready: this.#state === 'running' && sinceHeard !== undefined && !isStuck && !isTroubled,
      connection: connection.name,
      queues: queues.map(({ name }) => name),
      paused: this.#orders.paused,
      running: this.#runs.busy,
      lastPoll: sinceHeard === undefined ? undefined : new Date(application.clock.now() - sinceHeard * 1000),
      sinceLastPoll: sinceHeard,
      lag: this.#lag.now,
      leasesAtRisk: this.#leases.atRisk,
      standIns: standInsOf(application.drivers),
      outcomes: this.#settler.counts,
    };
  }

  async run(): Promise<StopReason> {
    const { application, process } = this.#settings;
    const { hooks } = application;
    const deaf = hearUncaught(application, process.uncaught, () => this.stop('uncaught'));
    this.#state = 'running';
    try {
      await this.#told(callFrom(this, () => hooks.emit('starting', this.#event)));
      const reason = (this.#reason = await this.#until(() => this.#work()));
      this.#state = 'stopping';
      if (!RAN_OUT.includes(reason)) this.#runs.stop();
      process.changed?.();
      this.#idle.pause();
      await this.#until(() => this.#drain());
      await this.#finish();
      const { connectionName } = this.#event;
      await this.#told(callFrom(this, () => hooks.emit('stopping', { connectionName, reason })));
      return reason;
    } finally {
      deaf();
      for (const one of [this.#executor, this.#settler, this.#store, this.#stopping, this.#lag]) one.close();
      this.#state = 'stopped';
      await this.#leases.close();
      await this.#idle.end();
    }
  }

  /** Takes steps until one of them gives something. */
  async #until<T>(step: () => T | undefined | Promise<T | undefined>): Promise<T> {
    for (;;) {
      let result = step();
      if (result instanceof Promise) result = await result;
      if (result !== undefined) return result;
      await this.#bell.heard();
    }
  }

  async #told(telling: Promise<void> | undefined): Promise<void> {
    if (telling !== undefined) await this.#stopping.within(telling);
  }

  #work(): StopReason | undefined | Promise<StopReason | undefined> {
    const asked = this.#stopping.reason();
    if (asked !== undefined) return asked;
    if (!this.#isSettled) return this.#send();
    // All is stored and told that ran beside it: a crash would have been theirs as well.
    if (this.#apart.held !== undefined) {
      this.#start(this.#apart.start());
      return this.#wait();
    }
    if (this.#apart.isTaken || !(this.#settings.options.stopWhenEmpty || this.#isOnceOver)) return this.#goOn();
    // A veto counts as an empty queue, as in Laravel: a paused worker can be told to end when it has nothing to do.
    if (this.#isOnceOver || this.#looping.isVetoed) return 'empty';
    if (this.#unasked !== undefined) this.#idle.lookAgain();
    if ((this.#idle.mayHaveMore && this.#free > 0) || this.#store.isPausing) return this.#goOn();
    return this.#count();
  }

  #goOn(): StopReason | undefined {
    return this.#runs.stuck() ?? this.#send();
  }

  // Runs finish and are settled; after `stop()` only for as long as the grace, then they are given back.
  #drain(): true | undefined {
    const held = this.#apart.release();
    if (held !== undefined) this.#runs.giveBack(held);
    if (this.#unsettled + this.#calls === 0 || this.#stopping.isOver) return true;
    while (this.#runs.ended > 0 && this.#calls < this.#mostCalls && !this.#store.isPausing) void this.#call(0);
    return undefined;
  }

  async #finish(): Promise<void> {
    const { open, ended } = this.#runs;
    const unstored = this.#unsettled + this.#settler.held - open;
    if (open + unstored > 0) {
      const silence = unstored > ended ? 'the store has not answered' : 'there was no time left to do so';
      const why = this.#store.lastMessage ?? this.#settler.lastRefusal ?? silence;
      const { connection, application } = this.#settings;
      logUnsettled(application.logger, { connection: connection.name, open, ended: unstored, why });
    }
    if (this.#unsettled > 0) return;
    // What is left are calls of the user's functions: they too have a deadline, also where nobody asked for a stop.
    this.#stopping.begin(true);
    await this.#stopping.within(this.#settler.announced());
  }

  /** Counts what the store has left. */
  async #count(): Promise<StopReason | undefined> {
    let isEmpty = false;
    const look = async (): Promise<void> => {
      const nextLook = this.#idle.mayHaveMore ? undefined : this.#idle.nextLook;
      if (!(await this.#emptiness.holds(nextLook, this.#orders.paused))) return;
      // A job that the store has just handed to the wait is counted nowhere: once it is back, a last look decides.
      isEmpty = !(await this.#idle.end()) || this.#free <= 0;
      if (!isEmpty) this.#idle.lookAgain();
    };
    try {
      await this.#stopping.within(look());
    } catch (error) {
      this.#store.failed(error, 'counting');
    }
    return isEmpty ? 'empty' : this.#goOn();
  }

  /** Sends what calls there are to send. Where none is under way, sets what is waited for. */
  #send(): undefined {
    while (this.#calls < this.#mostCalls && !this.#store.isPausing) {
      const limit = this.#limit();
      const ended = Math.min(this.#runs.ended, this.#share);
      // What a second call can do is worth one only where the first has left it much.
      const least = this.#calls === 0 ? 1 : this.#share / 2;
      if (Math.max(limit, ended) < least) break;
      void this.#call(limit);
    }
    return this.#calls === 0 ? this.#wait() : undefined;
  }

  #wait(): undefined {
    const { options, application } = this.#settings;
    const isIdle = this.#mayAsk && !this.#idle.mayHaveMore && !this.#store.isPausing;
    const wakeAt = Math.min(
      isIdle ? this.#idle.nextLook : Infinity,
      this.#looping.vetoedUntil ?? Infinity,
      this.#stopping.endsAt,
      this.#runs.open === 0 && this.#hasLooked ? this.#stopping.onceUntil : Infinity,
    );
    if (!isIdle) this.#idle.pause();
    else if (this.#isSettled && this.#stopping.started !== this.#idleAfter) {
      this.#idleAfter = this.#stopping.started;
      void callFrom(this, () => application.hooks.emit('idle', this.#event));
    }
    this.#idle.wait(wakeAt, isIdle);
    return undefined;
  }

  /** One call to the store: settles what has ended, and reserves up to `limit` jobs. */
  async #call(limit: number): Promise<void> {
    const { clock } = this.#settings.application;
    const finished = this.#runs.depart(this.#share);
    const asked = finished.length === 0 || this.#settler.combines ? limit : 0;
    const askedAt = momentOf(clock);
    const { news } = this.#idle;
    this.#calls += 1;
    this.#asked += asked;
    let reply: ReserveReply | undefined;
    let failure: { readonly error: unknown } | undefined;
    try {
      if (asked > 0) reply = await this.#exchange(finished, asked);
      else await this.#settler.settle(finished);
    } catch (error) {
      failure = { error };
    }
    this.#asked -= asked;
    this.#runs.arrive(finished, failure === undefined);
    if (failure !== undefined) this.#store.failed(failure.error, 'settling and reserving');
    else await this.#answered(finished, reply, { asked, askedAt, news });
    this.#calls -= 1;
    this.#bell.ring();
  }

  async #exchange(finished: readonly Finished[], limit: number): Promise<ReserveReply | undefined> {
    const { connection, options, application, lease } = this.#settings;
    const renewed = this.#leases.renewEnded(this.#settings.queues.length);
    this.#unasked = renewed === undefined ? undefined : await renewed;
    this.#looping.use();
    const random = options.fair ? application.random : undefined;
    const queues = reserveOrder(this.#settings.queues, random, this.#unasked);
    const request = { queues, limit, lease };
    return finished.length > 0 ? this.#settler.settleAndReserve(finished, request) : connection.reserve(request);
  }

  #answered(
    finished: readonly Finished[],
    reply: ReserveReply | undefined,
    call: { readonly asked: number; readonly askedAt: Moment; readonly news: number },
  ): Promise<void> | undefined {
    // One part of the store may answer while another does not, or has just refused what it had left unanswered.
    if (this.#settler.unanswered === 0 && !this.#store.isPausing) this.#store.recovered();
    if (finished.length + (reply?.reservations.length ?? 0) > 0) this.#emptiness.disturb();
    if (reply === undefined) {
      this.#idle.lookAgain();
      return undefined;
    }
    this.#store.heard();
    for (const one of reply.setAside) this.#settler.setAside(one);
    if (reply.now !== undefined) this.#storeClock.told(reply.now);
    if (this.#orders.heard(reply, this.#unasked)) this.#stopping.requested ??= 'restart';
    if (this.#state === 'running' && this.#stopping.requested === undefined) {
      this.#take(reply, call);
      return undefined;
    }
    // Asked for before the end: when the loop has ended, nobody renews their leases or settles them.
    const { reservations } = reply;
    return this.#settler.giveBack(reservations).catch((error: unknown) => this.#store.tell(error, 'giving jobs back'));
  }

  #take(
    { reservations, nextIn }: ReserveReply,
    { asked, askedAt, news }: { readonly asked: number; readonly askedAt: Moment; readonly news: number },
  ): void {
    const { name } = this.#settings.connection;
    const jobs = reservations.map((reservation) => new RunningJob(reservation, name, this.#storeClock));
    // Before any handler starts: it may block the event loop at once, and its lease is to be kept all the same.
    this.#leases.keep(jobs, askedAt);
    const { start, back } = this.#apart.split(jobs);
    this.#idle.answered(news, reservations.length === asked || nextIn <= 0 || back.length > 0, nextIn);
    for (const job of back) this.#runs.giveBack(job);
    for (const job of start) this.#start(job);
  }

  #start(job: RunningJob): void {
    this.#stopping.started += 1;
    this.#runs.start(job);
  }

  #ended(job: RunningJob, outcome: Outcome): void {
    const { options, application } = this.#settings;
    if (options.drain && isForOthers(outcome)) this.#emptiness.leave(job);
    // In a worker that ends no slot is waited for, and the line on the outcome says enough.
    const ends = this.#state !== 'running' || this.#stopping.requested !== undefined;
    if (job.handler === 'running' && !ends) logStubborn(application.logger, job);
    this.#bell.ring();
  }

  get #free(): number {
    return this.#settings.options.concurrency - this.#runs.busy - this.#settler.announcing;
  }

  get #mayAsk(): boolean {
    return this.#free > 0 && this.#looping.vetoedUntil === undefined && !this.#apart.isTaken;
  }

  // How many jobs the next call asks for.
  #limit(): number {
    if (!this.#idle.mayHaveMore || !this.#mayAsk) return 0;
    const { jobsLeft } = this.#stopping;
    const limit = Math.min(this.#free - this.#asked, jobsLeft - this.#asked, this.#share, this.#apart.most);
    return limit > 0 && this.#looping.isAllowed() ? limit : 0;
  }

  // A worker of one job does not give up before its queues were seen: the first look may come late.
  get #hasLooked(): boolean {
    return this.#store.sinceHeard !== undefined || this.#looping.isVetoed;
  }

  get #isOnceOver(): boolean {
    const { onceUntil } = this.#stopping;
    return onceUntil < Infinity && this.#hasLooked && this.#settings.application.clock.monotonic() >= onceUntil;
  }

  // All is stored and told that is known: an end leaves nothing behind but handlers that were given up.
  get #isSettled(): boolean {
    return this.#calls + this.#unsettled + this.#settler.announcing === 0;
  }

  get #unsettled(): number {
    return this.#runs.size + this.#settler.unanswered;
  }
}
