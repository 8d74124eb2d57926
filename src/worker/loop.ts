/**
 * The loop of a running worker. It owns all numbers: when to call the store, for how many jobs, and when to sleep. It knows
 * nothing of jobs themselves.
 *
 * It takes a step at the end of each turn of the event loop in which something happened. One call settles the jobs that have
 * ended and reserves for the free slots. Where a connection carries several calls at once, a busy worker has several under
 * way, each for its share of the slots: the store works on one share while the jobs of another run. If there is nothing to
 * do, one more call waits in the store until there is.
 */
import {
  atEndOfTurn,
  momentOf,
  StoreClock,
  type Milliseconds,
  type Moment,
  type Seconds,
  type Timer,
} from '../base/clock';
import { MOST_JOBS } from '../base/collections';
import type { ReserveReply, Wanted } from '../connections/contract';
import { LOOK_AGAIN } from '../connections/kit/connection';
import { callerOf, callFrom } from '../container/scope';
import type { HookEvents } from '../job/hooks';
import { Emptiness, Stop, type StopReason } from './stop';
import { Executor } from './run';
import { LoopLag, StoreHealth, type WorkerGlance, type WorkerHealth } from './health';
import { logUnsettled } from './job-log';
import { LeaseKeeper } from './lease/keeper';
import { drawOrder } from './queues';
import { RunningJob } from './running-job';
import { Runs } from './runs';
import type { WorkerSettings } from './worker-options';
import { Settler } from './settler';
import { hearUncaught } from './uncaught';
import { Veto } from './veto';

/** With fewer slots, the second call costs Redis more than it gains the worker. */
const SLOTS_FOR_TWO = 8;

/** A store's hint may get lost, so a store is asked again after this time, or after `sleep` if that is longer. */
const LONGEST_WAIT: Seconds = 2;

/** Part of a lease that a wait may take: the jobs it returns count as reserved when it began. */
const THIRD = 1 / 3;

/** What a call asked for, and the state at the time it was sent. */
interface Asked {
  readonly limit: number;
  readonly at: Moment;
  readonly news: number;
  readonly waits: boolean;
  /** Queues left out, because they would hand out jobs that are already running here. */
  readonly unasked?: ReadonlySet<string> | undefined;
}

/** A call that waits in the store, beside the others. */
interface Wait {
  readonly limit: 0 | 1;
  readonly end: AbortController;
  over: Promise<void>;
}

/** How many workers run in this process. */
let workers = 0;

export class Loop {
  readonly #settings: WorkerSettings;
  readonly #bell = new Bell();
  /** A slot is free, or the store may have got jobs. */
  readonly #wake = (): void => {
    this.#lookAgain();
    this.#bell.ring();
  };
  readonly #store: StoreHealth;
  /** The store's clock, as far as its answers tell. */
  readonly #storeClock: StoreClock;
  readonly #stop: Stop;
  readonly #executor: Executor;
  readonly #leases: LeaseKeeper;
  readonly #runs: Runs;
  readonly #settler: Settler;
  /** Undefined until there are `looping` hooks. */
  #veto: Veto | undefined;
  readonly #lag: LoopLag;
  /** Undefined if the worker does not stop when nothing is left. */
  readonly #emptiness: Emptiness | undefined;

  readonly #queues: readonly string[];
  /** What the hooks `starting` and `idle` are told. */
  readonly #event: { readonly connectionName: string; readonly queue: string };
  /** How many calls may be under way at once, and the most jobs that one of them moves. */
  readonly #most: number;
  readonly #share: number;
  /** How many jobs a second call has to move to be worth its cost. */
  readonly #worthwhile: number;
  #underWay = 0;
  /** Slots that the calls under way may fill. */
  #asked = 0;
  #wait: Wait | undefined;

  /** Whether the store has jobs for us. `maybe`: we have to look again. */
  #hasMore: 'yes' | 'maybe' | 'no' = 'yes';
  /** Grows with each answer and other news. If it grew after a call was sent, that call's answer may be outdated, and we look again. */
  #news = 0;
  /** When delayed jobs or ended leases make another look worthwhile, by the monotonic clock. */
  #nextLook: Milliseconds = Infinity;
  /** Whether the last reserve asked all queues. */
  #haveAskedAll = true;
  /** When `once` has waited long enough for its job. */
  readonly #onceEnds: Milliseconds;
  #timer: Timer | undefined;
  #timerAt: Milliseconds = Infinity;

  /** Why no more jobs are taken. */
  #reason: StopReason | undefined;
  /** Number of started jobs when the `idle` hooks were last called. */
  #idleAfter: number | undefined;

  constructor(settings: WorkerSettings) {
    const { options, connection, lease, application, process } = settings;
    const { clock, logger } = application;
    const { defaults, grace, concurrency } = options;
    const { ring } = this.#bell;
    this.#settings = settings;
    this.#queues = settings.queues.map(({ name }) => name);
    this.#event = { connectionName: connection.name, queue: this.#queues.join(',') };
    this.#most = concurrency < SLOTS_FOR_TWO ? 1 : (connection.atOnce?.calls ?? 1);
    this.#share = Math.min(MOST_JOBS, Math.ceil(concurrency / this.#most));
    this.#worthwhile = Math.min(MOST_JOBS, Math.floor(concurrency / this.#most));
    this.#onceEnds = options.once ? clock.monotonic() + options.sleep * 1000 : Infinity;
    this.#storeClock = new StoreClock(clock);
    this.#lag = new LoopLag(clock);
    this.#store = new StoreHealth(application, connection, this.#queues[0]!, ring);
    this.#emptiness = options.stopWhenEmpty ? new Emptiness(settings) : undefined;
    this.#executor = new Executor(application, {
      defaults,
      grace,
      lease,
      slots: concurrency,
      caller: this,
      starting: process.changed,
      records: settings.records,
    });
    this.#leases = new LeaseKeeper({
      connection,
      lease,
      clock,
      logger,
      grace,
      endsProcess: process.endsProcess,
      log: process.log,
      renewed: () => this.#hearNews(),
      report: (error) => this.#store.tell(error, 'renewing leases'),
      // A worker with all slots busy hears of the store only through renewals.
      recovered: () => this.#store.recovered(),
    });
    const parts = { executor: this.#executor, ring, wake: this.#wake };
    this.#settler = new Settler(settings, { ...parts, leases: this.#leases, store: this.#store });
    this.#runs = new Runs(settings, { ...parts, settler: this.#settler, emptiness: this.#emptiness });
    this.#stop = new Stop(options, clock, this.#runs, ring);
  }

  /** Asks the loop to end. `run` resolves when it has. */
  stop(reason: 'stopped' | 'uncaught' = 'stopped'): void {
    this.#stop.request(reason);
  }

  /** Whether the code that asks is code that this worker waits for. */
  get isCaller(): boolean {
    const caller = callerOf();
    return caller === this || [...this.#runs.open].some((job) => job === caller);
  }

  /** For those who show what runs. */
  get runs(): Runs {
    return this.#runs;
  }

  get health(): WorkerHealth {
    const { name, connection, application, options } = this.#settings;
    const { isTroubled, isSilent, ...polls } = this.#store.seen(this.#mayAsk() ? options.sleep : Infinity);
    const isStuck = isSilent || this.#runs.areStuck();
    const { glance } = this;
    const isRunning = glance.state === 'running';
    const standIns = [...application.drivers].flatMap(({ name, failover }) =>
      failover?.standIn === undefined ? [] : [[name, failover.standIn] as const],
    );
    return {
      ...glance,
      ...polls,
      reason: this.#reason,
      live: !isRunning || !isStuck || isTroubled,
      ready: isRunning && polls.lastPoll !== undefined && !isStuck && !isTroubled,
      name,
      connection: connection.name,
      leasesAtRisk: this.#leases.atRisk(),
      standIns: Object.fromEntries(standIns),
    };
  }

  get glance(): WorkerGlance {
    return {
      state: this.#stop.state,
      queues: this.#queues,
      paused: this.#store.paused,
      running: this.#runs.busy,
      lag: this.#lag.now,
      outcomes: { ...this.#settler.counts },
    };
  }

  /** Whether the log says that the store does not answer. */
  get isOut(): boolean {
    return this.#store.isOut;
  }

  async run(): Promise<StopReason> {
    const { application, process, connection } = this.#settings;
    const stopHearing = hearUncaught(application, process.uncaught, () => this.stop('uncaught'));
    workers += 1;
    this.#stop.start();
    this.#lag.beat();
    try {
      await this.#tell('starting', this.#event);
      const reason = (this.#reason = await this.#until(() => this.#work()));
      this.#stop.end(reason);
      process.changed?.();
      this.#endWait();
      await this.#until(() => this.#drain());
      await this.#finish();
      await this.#tell('stopping', { connectionName: connection.name, reason });
      return reason;
    } finally {
      workers -= 1;
      stopHearing();
      this.#endWait();
      this.#timer?.cancel();
      for (const part of [this.#executor, this.#settler, this.#store, this.#stop, this.#lag, this.#leases])
        await part.close();
    }
  }

  /** Takes steps until one of them returns a value. */
  async #until<T>(step: () => T | undefined | Promise<T | undefined>): Promise<T> {
    for (;;) {
      let result = step();
      if (result instanceof Promise) result = await result;
      if (result !== undefined) return result;
      await this.#bell.rung();
    }
  }

  async #tell<Name extends 'starting' | 'stopping'>(hook: Name, event: HookEvents[Name]): Promise<void> {
    const telling = callFrom(this, () => this.#settings.application.hooks.emit(hook, event));
    if (telling !== undefined) await this.#stop.within(telling);
  }

  #work(): StopReason | undefined | Promise<StopReason | undefined> {
    // Read once per step. A step that found nothing to ask, and then saw a moment as passed when it sets its timer, would neither
    // ask nor wait, and the worker would stand still.
    const now = this.#settings.application.clock.monotonic();
    if (now >= this.#nextLook) this.#lookAgain();
    this.#veto?.tellTime(now);
    const asked = this.#stop.due(this.#runs.started);
    if (asked !== undefined) return asked;
    // A job that waits to run alone starts in a moment.
    if (!this.#isSettled() || this.#runs.startHeld()) return this.#goOn();
    const isOver = now >= this.#onceUntil();
    if (isOver || this.#emptiness !== undefined) {
      // A veto counts as an empty queue, as in Laravel: a worker that is held back can still end when it has nothing to do.
      if (isOver || this.#veto?.isVetoed === true) return 'empty';
      if (!this.#haveAskedAll) this.#lookAgain();
      if ((this.#hasMore === 'no' || this.#free() <= 0) && !this.#store.isPausing) return this.#count(this.#emptiness!);
    }
    return this.#goOn();
  }

  #goOn(): StopReason | undefined {
    // Only where another process follows this one.
    if (this.#settings.process.endsProcess === true && this.#runs.areStuck() && this.#isSettled()) return 'stuck';
    this.#exchangeAll();
    return this.#underWay > 0 ? undefined : this.#rest();
  }

  // A worker with `once` does not give up before it has seen its queues: the first look may come late.
  #onceUntil(): Milliseconds {
    const hasLooked = this.#store.heardAt !== undefined || this.#veto?.isVetoed === true;
    return hasLooked ? this.#onceEnds : Infinity;
  }

  /** Sends all calls that are due. */
  #exchangeAll(): void {
    if (this.#wait?.limit === 1) {
      if (this.#hasMore !== 'no' || this.#settler.ended.length > 0) this.#wait.end.abort();
      return;
    }
    while (this.#underWay < this.#most && !this.#store.isPausing) {
      const isFirst = this.#underWay === 0;
      const limit = this.#limit();
      const ended = Math.min(this.#settler.ended.length, this.#share);
      // A second call costs as much as the first, so we send it only if there are jobs and its whole share of the slots is
      // free.
      const least = isFirst ? 1 : this.#worthwhile;
      const reserves = limit >= least && (isFirst || this.#hasMore === 'yes');
      if (!reserves && ended < least) return;
      // Asked last, because one answer allows only one call. Jobs that have ended do not wait for it.
      if (this.#settings.application.hooks.hears.looping) this.#veto ??= new Veto(this.#settings, this.#bell.ring);
      const isAllowed = limit > 0 && this.#veto?.allows() !== false;
      if (!isAllowed && ended < least) return;
      void this.#exchange(isAllowed ? limit : 0, ended > 0);
    }
  }

  #limit(): number {
    if (this.#hasMore === 'no' || !this.#mayAsk()) return 0;
    const left = this.#settings.options.maxJobs - this.#runs.started;
    return Math.max(Math.min(Math.min(this.#free(), left) - this.#asked, this.#share, this.#runs.mostAtOnce()), 0);
  }

  async #exchange(limit: number, settles: boolean): Promise<void> {
    const at = momentOf(this.#settings.application.clock);
    const news = this.#news;
    this.#underWay += 1;
    this.#asked += limit;
    try {
      const leavingOut = limit > 0 ? this.#leases.leftOut(this.#queues) : undefined;
      const unasked = leavingOut && (await leavingOut);
      const reply = await this.#settler.exchange(this.#share, limit > 0 ? this.#wanted(limit, unasked) : undefined);
      this.#answered(settles, reply, { limit, at, news, unasked, waits: false });
    } catch (error) {
      this.#store.failed(error, 'settling and reserving');
    } finally {
      this.#asked -= limit;
      this.#underWay -= 1;
      this.#bell.ring();
    }
  }

  #wanted(limit: number, unasked?: ReadonlySet<string>): Wanted {
    const { options, application, lease } = this.#settings;
    const order = options.fair ? drawOrder(this.#settings.queues, application.random) : this.#queues;
    return { queues: unasked === undefined ? order : order.filter((name) => !unasked.has(name)), limit, lease };
  }

  #answered(settled: boolean, reply: ReserveReply | undefined, asked: Asked): void {
    // Other outcomes may be unanswered, or the store may just have refused some: then one good answer does not end the
    // streak of failures.
    if (this.#settler.unanswered.size === 0 && !this.#store.isPausing) this.#store.recovered();
    if (settled || (reply?.reservations.length ?? 0) > 0) this.#emptiness?.disturb();
    if (reply === undefined) return this.#lookAgain();
    if (reply.now !== undefined) this.#storeClock.told(reply.now);
    this.#haveAskedAll = (asked.unasked?.size ?? 0) === 0;
    if (reply !== LOOK_AGAIN && this.#store.heard(reply, asked.unasked)) this.#stop.request('restart');
    const jobs: RunningJob[] = [];
    const { application, connection } = this.#settings;
    for (const reservation of reply.reservations)
      jobs.push(new RunningJob(reservation, connection.name, application, this.#storeClock));
    if (!this.#stop.isEnding()) return this.#take(jobs, reply.nextIn, asked);
    // They were asked for before the end. They go with the last outcomes, or alone if those were written or given up.
    for (const job of jobs) this.#settler.giveBack(job);
    if (this.#stop.isOver && jobs.length > 0) void this.#exchange(0, true);
  }

  #take(jobs: readonly RunningJob[], nextIn: Seconds, { limit, at, news, waits }: Asked): void {
    // Before any handler starts: it may block the event loop at once, and its lease has to be kept all the same.
    this.#leases.keep(jobs, at);
    this.#nextLook = this.#settings.application.clock.monotonic() + nextIn * 1000;
    const isOutdated = news !== this.#news;
    this.#news += 1;
    if (nextIn <= 0 || (jobs.length === limit && !waits)) this.#hasMore = 'yes';
    else this.#hasMore = isOutdated ? 'maybe' : 'no';
    if (this.#runs.take(jobs)) this.#hasMore = 'yes';
  }

  /** Sleeps until something happens, a moment comes, or the store has something. */
  #rest(): undefined {
    const isIdle = this.#mayAsk() && this.#hasMore === 'no' && !this.#store.isPausing;
    // Before its first job; not while that waits to run alone.
    const onceUntil = this.#runs.mostAtOnce() > 0 ? this.#onceUntil() : Infinity;
    if (isIdle) this.#tellIdle();
    else this.#endWait();
    const limit = isIdle && this.#mayBeHanded() ? 1 : 0;
    // The store itself ends a wait that may bring a job; nothing else is asked meanwhile.
    const nextLook = isIdle && limit === 0 ? this.#nextLook : Infinity;
    this.#ringAt(Math.min(onceUntil, this.#veto?.until ?? Infinity, nextLook));
    if (isIdle) this.#waitInStore(limit);
    return undefined;
  }

  /**
   * Whether the store may hand out a job the moment it arrives. Only while no handler can block the event loop, not even that
   * of another worker in this process: a job that the store has handed out belongs to nobody until we read it.
   */
  #mayBeHanded(): boolean {
    const { options, application } = this.#settings;
    const isAsked = options.stopWhenEmpty || options.once || application.hooks.hears.looping;
    return !isAsked && workers === 1 && this.#runs.busy + this.#unsettled() === 0;
  }

  #waitInStore(limit: 0 | 1): void {
    const { application, lease, options } = this.#settings;
    // A wait spans several calls: ending it with every job that finishes would cost a round trip each.
    if (this.#wait !== undefined && this.#wait.limit >= limit) return;
    this.#endWait();
    const left = (this.#nextLook - application.clock.monotonic()) / 1000;
    const within = Math.max(Math.min(Math.max(LONGEST_WAIT, options.sleep), lease * THIRD, left), 0);
    const end = new AbortController();
    const wanted = { ...this.#wanted(limit), within, signal: end.signal, lookEvery: options.sleep };
    const wait: Wait = (this.#wait = { limit, end, over: Promise.resolve() });
    wait.over = this.#waited(wait, wanted);
  }

  async #waited(wait: Wait, wanted: Wanted): Promise<void> {
    const { limit, end } = wait;
    const asked: Asked = { limit, at: momentOf(this.#settings.application.clock), news: this.#news, waits: true };
    this.#asked += limit;
    let reply: ReserveReply | undefined;
    try {
      reply = await this.#settler.exchange(0, wanted);
      if (limit > 0 && reply !== undefined && reply !== LOOK_AGAIN) this.#answered(false, reply, asked);
    } catch (error) {
      // Whoever ended the wait does not care.
      if (!end.signal.aborted || limit > 0) this.#store.failed(error, 'reserving');
    }
    this.#asked -= limit;
    if (limit === 0) {
      if (this.#wait === wait) this.#wait = undefined;
      return end.signal.aborted ? undefined : this.#hearNews();
    }
    // What ended the wait may have come after the store had looked.
    if (reply === LOOK_AGAIN || end.signal.aborted) this.#lookAgain();
    this.#wait = undefined;
    this.#bell.ring();
  }

  /** Ends the wait: a worker that can take no job must not swallow a hint that would wake another worker. */
  #endWait(): void {
    const wait = this.#wait;
    // A call that may bring a job stays until it is answered.
    if (wait?.limit === 0) this.#wait = undefined;
    wait?.end.abort();
  }

  #ringAt(moment: Milliseconds): void {
    const { clock } = this.#settings.application;
    // An earlier timer may stay: the loop looks and comes back here.
    if (moment >= this.#timerAt) return;
    this.#timer?.cancel();
    this.#timerAt = moment;
    this.#timer = clock.after(Math.max(0, moment - clock.monotonic()), () => {
      this.#timerAt = Infinity;
      this.#bell.ring();
    });
  }

  // Once each time that jobs run out. Nobody waits for the hooks.
  #tellIdle(): void {
    const { started } = this.#runs;
    if (!this.#isSettled() || started === this.#idleAfter) return;
    this.#idleAfter = started;
    if (!this.#settings.application.hooks.hears.idle) return;
    void callFrom(this, () => this.#settings.application.hooks.emit('idle', this.#event));
  }

  /** Asks the store what is left. */
  async #count(emptiness: Emptiness): Promise<StopReason | undefined> {
    let isEmpty = false;
    const look = async (): Promise<void> => {
      const nextLook = this.#hasMore !== 'no' ? undefined : this.#nextLook;
      if (!(await emptiness.holds(nextLook, this.#store.paused))) return;
      // No count includes a job that the store has just handed to the wait. After the end of the wait, a last look decides.
      const wait = this.#wait;
      this.#endWait();
      await wait?.over;
      isEmpty = wait === undefined || this.#free() <= 0;
      if (!isEmpty) this.#lookAgain();
    };
    try {
      await this.#stop.within(look());
    } catch (error) {
      this.#store.failed(error, 'counting');
    }
    return isEmpty ? 'empty' : this.#goOn();
  }

  // Runs finish and are settled; after `stop()` only within the grace, and then they are given back.
  #drain(): true | undefined {
    if (this.#unsettled() + this.#calls() === 0 || this.#stop.isOver) return true;
    // Only a reserve is left: a store that stands still must not hold up the end.
    if (this.#unsettled() === 0) this.#stop.begin(this.#settler.announcing > 0);
    while (this.#underWay < this.#most && !this.#store.isPausing && this.#settler.ended.length > 0)
      void this.#exchange(0, true);
    return undefined;
  }

  async #finish(): Promise<void> {
    const { connection, application } = this.#settings;
    const open = this.#runs.open.size;
    const unstored = this.#settler.unsettled;
    if (open + unstored > 0) {
      const silence =
        unstored > this.#settler.ended.length ? 'the store has not answered' : 'there was no time left to do so';
      const why = this.#store.lastMessage ?? silence;
      logUnsettled(application.logger, connection.name, open, unstored, why);
    }
    if (this.#unsettled() > 0) return;
    // Only the user's hooks are left. They too have a deadline, even if nobody called stop().
    this.#stop.begin(true);
    await this.#stop.within(this.#settler.announced());
  }

  /** Another look is due, even if a call under way says that there is nothing. */
  #lookAgain(): void {
    if (this.#hasMore === 'no') this.#hasMore = 'maybe';
  }

  /** The store may have got jobs that calls under way have not seen, or may be asked for more queues than those ask for. */
  #hearNews(): void {
    this.#news += 1;
    this.#wake();
  }

  /** Free slots. A call under way may fill some of them. */
  #free(): number {
    return this.#settings.options.concurrency - this.#runs.busy - this.#settler.announcing;
  }

  #mayAsk(): boolean {
    return this.#free() > 0 && (this.#veto?.until ?? Infinity) === Infinity && this.#runs.mostAtOnce() > 0;
  }

  /** Calls that may bring jobs. */
  #calls(): number {
    return this.#underWay + (this.#wait?.limit ?? 0);
  }

  // Everything known is stored and announced: ending now leaves nothing behind but handlers that were given up.
  #isSettled(): boolean {
    return this.#calls() + this.#unsettled() + this.#settler.announcing === 0;
  }

  #unsettled(): number {
    return this.#runs.open.size + this.#settler.unsettled;
  }
}

/** Wakes the loop at the end of a turn of the event loop in which something happened. */
class Bell {
  #isRung = false;
  #hear: (() => void) | undefined;

  /** Something happened that the loop has to look at. A ring between two calls of `rung` is not missed. */
  readonly ring = (): void => {
    this.#isRung = true;
    this.#hear?.();
  };

  /**
   * Resolves at the end of a turn of the event loop in which it was rung. Everything else that ends in that turn travels in
   * the same call to the store, and errors that a handler left behind are known by then.
   */
  rung(): Promise<void> {
    return new Promise((resolve) => {
      this.#hear = () => {
        this.#hear = undefined;
        atEndOfTurn(() => {
          this.#isRung = false;
          resolve();
        });
      };
      if (this.#isRung) this.#hear();
    });
  }
}
