/**
 * The loop of a running worker: decides when to reserve and when to stop, and knows nothing of jobs themselves.
 *
 * It takes a step at the end of each turn of the event loop in which something happened: it settles the jobs that have ended
 * and reserves for the free slots, in one call if the driver can. Where a connection carries several calls at once, a busy
 * worker has several under way: the store works on one part of the slots while the other part runs.
 */
import { callerOf, callFrom } from '../container/scope';
import type { HookEvents } from '../job/hook-events';
import { Calls } from './calls';
import type { Emptiness } from './emptiness';
import { LoopLag, type WorkerGlance, type WorkerHealth } from './health';
import { logUnsettled } from './job-log';
import { type Parts, partsOf, type WorkerSettings } from './parts';
import type { RunningJob } from './running-job';
import { RAN_OUT, type StopReason } from './stopping';
import { hearUncaught } from './uncaught';

export class WorkLoop {
  readonly #settings: WorkerSettings;
  readonly #parts: Parts;
  readonly #calls: Calls;
  readonly #lag: LoopLag;
  #reason: StopReason | undefined;
  /** Number of started jobs when the `idle` hooks were last called. */
  #idleAfter: number | undefined;

  constructor(settings: WorkerSettings) {
    this.#settings = settings;
    this.#parts = partsOf(settings, this);
    this.#calls = new Calls(settings, this.#parts);
    this.#lag = new LoopLag(settings.application.clock);
  }

  /** Asks the loop to end. `run` resolves when it has. */
  stop(reason: 'stopped' | 'uncaught' = 'stopped'): void {
    const { stopping, runs, idle } = this.#parts;
    stopping.requested ??= reason;
    runs.stop();
    stopping.begin(runs.open > 0);
    idle.ring();
  }

  /** Whether the code that asks is code that this worker waits for. */
  get isCaller(): boolean {
    return callerOf() === this || this.#parts.runs.isCaller;
  }

  get running(): readonly RunningJob[] {
    return this.#parts.runs.running;
  }

  /** The job on its last chance that waits to run alone. */
  get waiting(): RunningJob | undefined {
    return this.#parts.runs.waiting;
  }

  get health(): WorkerHealth {
    const { name, connection, application, options } = this.#settings;
    const { store, runs, leases } = this.#parts;
    const { sinceHeard, isTroubled } = store;
    const isStuck = (this.#calls.mayAsk && store.isSilent(options.sleep)) || runs.areStuck;
    const { glance } = this;
    const { state } = glance;
    const standIns = [...application.drivers].flatMap(({ name, standIn }) =>
      standIn === undefined ? [] : [[name, standIn] as const],
    );
    return {
      ...glance,
      reason: this.#reason,
      live: state !== 'running' || !isStuck || isTroubled,
      ready: state === 'running' && sinceHeard !== undefined && !isStuck && !isTroubled,
      name,
      connection: connection.name,
      lastPoll: sinceHeard === undefined ? undefined : new Date(application.clock.now() - sinceHeard * 1000),
      sinceLastPoll: sinceHeard,
      leasesAtRisk: leases.atRisk,
      standIns: Object.fromEntries(standIns),
    };
  }

  get glance(): WorkerGlance {
    const { store, runs, stopping, settler } = this.#parts;
    return {
      state: stopping.state,
      queues: this.#settings.queues.map(({ name }) => name),
      paused: store.paused,
      running: runs.busy,
      lag: this.#lag.now,
      outcomes: settler.counts,
    };
  }

  /** Whether the log says that the store does not answer. */
  get isOut(): boolean {
    return this.#parts.store.isOut;
  }

  async run(): Promise<StopReason> {
    const { application, process, connection } = this.#settings;
    const { executor, settler, store, stopping, runs, leases, idle } = this.#parts;
    const stopHearing = hearUncaught(application, process.uncaught, () => this.stop('uncaught'));
    stopping.state = 'running';
    this.#lag.beat();
    // A call that is not answered would not wake the loop.
    const untilEnd = stopping.endsAt - application.clock.monotonic();
    const timeOver = untilEnd < Infinity ? application.clock.after(untilEnd, () => idle.ring()) : undefined;
    try {
      await this.#tell('starting', this.#event);
      const reason = (this.#reason = await this.#until(() => this.#work()));
      stopping.state = 'stopping';
      if (!RAN_OUT.includes(reason)) runs.stop();
      process.changed?.();
      idle.pause();
      await this.#until(() => this.#drain());
      await this.#finish();
      await this.#tell('stopping', { connectionName: connection.name, reason });
      return reason;
    } finally {
      stopHearing();
      timeOver?.cancel();
      for (const part of [executor, settler, store, stopping, this.#lag]) part.close();
      stopping.state = 'stopped';
      await leases.close();
      await idle.end();
    }
  }

  /** Takes steps until one of them returns a value. */
  async #until<T>(step: () => T | undefined | Promise<T | undefined>): Promise<T> {
    for (;;) {
      let result = step();
      if (result instanceof Promise) result = await result;
      if (result !== undefined) return result;
      await this.#parts.idle.rung();
    }
  }

  async #tell<Name extends 'starting' | 'stopping'>(hook: Name, event: HookEvents[Name]): Promise<void> {
    const telling = callFrom(this, () => this.#settings.application.hooks.emit(hook, event));
    if (telling !== undefined) await this.#parts.stopping.within(telling);
  }

  #work(): StopReason | undefined | Promise<StopReason | undefined> {
    const { stopping, runs, idle, emptiness, store } = this.#parts;
    idle.tellTime();
    const asked = stopping.reason(runs.started);
    if (asked !== undefined) return asked;
    if (this.#isSettled) runs.startHeld();
    // A synchronous job has ended by now and has to be settled.
    if (!this.#isSettled) return this.#goOn();
    const isOver = this.#isOnceOver;
    if (isOver || emptiness !== undefined) {
      // A veto counts as an empty queue, as in Laravel: a worker that is held back can still end when it has nothing to do.
      if (isOver || idle.isVetoed) return 'empty';
      if (!this.#calls.haveAskedAll) idle.lookAgain();
      if (!(idle.mayHaveMore && this.#calls.free > 0) && !store.isPausing) return this.#count(emptiness!);
    }
    return runs.stuck() ?? this.#goOn();
  }

  #goOn(): undefined {
    this.#calls.send();
    return this.#calls.areBusy ? undefined : this.#wait();
  }

  /** Sets the events that wake the loop. */
  #wait(): undefined {
    const { idle, stopping, store, runs } = this.#parts;
    const isIdle = this.#calls.mayAsk && !idle.mayHaveMore && !store.isPausing;
    const onceUntil = runs.open === 0 && this.#hasLooked ? stopping.onceUntil : Infinity;
    const wakeAt = Math.min(stopping.endsAt, onceUntil);
    if (isIdle) this.#tellIdle();
    else idle.pause();
    idle.wait(wakeAt, isIdle, isIdle && !this.#calls.await());
    return undefined;
  }

  // Once each time that jobs run out. Nobody waits for the hooks.
  #tellIdle(): void {
    const { started } = this.#parts.runs;
    if (!this.#isSettled || started === this.#idleAfter) return;
    this.#idleAfter = started;
    void callFrom(this, () => this.#settings.application.hooks.emit('idle', this.#event));
  }

  /** Asks the store what is left. */
  async #count(emptiness: Emptiness): Promise<StopReason | undefined> {
    const { idle, stopping, store, runs } = this.#parts;
    let isEmpty = false;
    const look = async (): Promise<void> => {
      if (!(await emptiness.holds(idle.mayHaveMore ? undefined : idle.nextLook, store.paused))) return;
      // No count includes a job that the store has just handed to the wait. Ending the wait puts it back; then a last look
      // decides.
      isEmpty = !(await idle.end()) || this.#calls.free <= 0;
      if (!isEmpty) idle.lookAgain();
    };
    try {
      await stopping.within(look());
    } catch (error) {
      store.failed(error, 'counting');
    }
    return isEmpty ? 'empty' : (runs.stuck() ?? this.#goOn());
  }

  // Runs finish and are settled; after `stop()` only within the grace, and then they are given back.
  #drain(): true | undefined {
    const { runs, settler, stopping } = this.#parts;
    runs.giveHeldBack();
    if (this.#unsettled + this.#calls.underWay === 0 || stopping.isOver) return true;
    // Only a reserve is left: a store that stands still must not hold up the end.
    if (this.#unsettled === 0) stopping.begin(settler.announcing > 0);
    this.#calls.settle();
    return undefined;
  }

  async #finish(): Promise<void> {
    const { runs, settler, store, stopping } = this.#parts;
    const { connection, application } = this.#settings;
    const { open, ended } = runs;
    const unstored = this.#unsettled + settler.held - open;
    if (open + unstored > 0) {
      const silence = unstored > ended ? 'the store has not answered' : 'there was no time left to do so';
      const why = store.lastMessage ?? settler.lastRefusal ?? silence;
      logUnsettled(application.logger, connection.name, open, unstored, why);
    }
    if (this.#unsettled > 0) return;
    // Only the user's hooks are left. They too have a deadline, even if nobody called stop().
    stopping.begin(true);
    await stopping.within(settler.announced());
  }

  get #event(): { readonly connectionName: string; readonly queue: string } {
    const { connection, queues } = this.#settings;
    return { connectionName: connection.name, queue: queues.map(({ name }) => name).join(',') };
  }

  // A worker with `once` does not give up before it has seen its queues: the first look may come late.
  get #hasLooked(): boolean {
    return this.#parts.store.sinceHeard !== undefined || this.#parts.idle.isVetoed;
  }

  get #isOnceOver(): boolean {
    const { onceUntil } = this.#parts.stopping;
    return onceUntil < Infinity && this.#hasLooked && this.#settings.application.clock.monotonic() >= onceUntil;
  }

  // Everything known is stored and announced: ending now leaves nothing behind but handlers that were given up.
  get #isSettled(): boolean {
    return this.#calls.underWay + this.#unsettled + this.#parts.settler.announcing === 0;
  }

  get #unsettled(): number {
    return this.#parts.runs.size + this.#parts.settler.unanswered;
  }
}
