/**
 * A worker's calls to the store. Each settles the jobs that have ended and reserves new ones for the free slots.
 *
 * Where a connection carries several calls at once, a busy worker keeps several under way, each for its share of the slots:
 * the store works on one share while the jobs of another run.
 */
import { type Moment, momentOf } from '../base/clock';
import { MOST_JOBS } from '../base/pages';
import type { ReserveReply } from '../connections/contract';
import { isStoreAway } from '../connections/errors';
import type { Parts, WorkerSettings } from './parts';
import { drawOrder } from './queue-order';
import { RunningJob } from './running-job';
import type { Finished } from './runs';

/** With fewer slots, two calls of half the size cost more than they gain. Measured up to 16 slots, on two cores. */
const SLOTS_FOR_TWO = 24;

/** One call, and the state at the time it was sent. */
interface Call {
  readonly finished: readonly Finished[];
  /** How many jobs it asks for. */
  readonly limit: number;
  readonly at: Moment;
  readonly news: number;
  /** The call waits in the store until there is a job. */
  readonly waits: boolean;
  /** Queues left out, because they would hand out jobs that are already running here. */
  unasked?: ReadonlySet<string> | undefined;
}

export class Calls {
  readonly #settings: WorkerSettings;
  readonly #parts: Parts;
  readonly #queues: readonly string[];
  /** How many calls may be under way at once, and the most jobs that one of them moves. */
  readonly #most: number;
  readonly #share: number;
  /** How many jobs a second call has to move to be worth its cost. */
  readonly #worthwhile: number;
  #underWay = 0;
  #isWaiting = false;
  /** Slots that the calls under way may fill. */
  #asked = 0;
  #haveAskedAll = true;
  /** Renewals that wake the loop when they end. */
  readonly #renewals = new WeakSet<Promise<void>>();

  constructor(settings: WorkerSettings, parts: Parts) {
    const { connection, options, queues } = settings;
    this.#settings = settings;
    this.#parts = parts;
    this.#queues = queues.map(({ name }) => name);
    this.#most = options.concurrency < SLOTS_FOR_TWO ? 1 : (connection.callsAtOnce ?? 1);
    this.#share = Math.min(MOST_JOBS, Math.ceil(options.concurrency / this.#most));
    this.#worthwhile = Math.min(MOST_JOBS, Math.floor(options.concurrency / this.#most));
  }

  get underWay(): number {
    return this.#underWay + (this.#isWaiting ? 1 : 0);
  }

  /** Whether a call is under way that the store answers at once, unlike one that waits for a job. */
  get areBusy(): boolean {
    return this.#underWay > 0;
  }

  /** Whether the last reserve asked all queues. */
  get haveAskedAll(): boolean {
    return this.#haveAskedAll;
  }

  /** Free slots. A call under way may fill some of them. */
  get free(): number {
    const { runs, settler } = this.#parts;
    return this.#settings.options.concurrency - runs.busy - settler.announcing;
  }

  get mayAsk(): boolean {
    const { idle, runs } = this.#parts;
    return this.free > 0 && !idle.isHeldBack && runs.takesMore;
  }

  /** Sends all calls that are due. */
  send(): void {
    const { store, runs, idle } = this.#parts;
    if (this.#isWaiting) {
      if (idle.mayHaveMore || runs.ended > 0) idle.cutShort();
      return;
    }
    while (this.#underWay < this.#most && !store.isPausing) {
      const isFirst = this.#underWay === 0;
      const limit = this.#limit();
      const ended = Math.min(runs.ended, this.#share);
      // A second call costs as much as the first, so we send it only if there are jobs and its whole share of the slots is
      // free.
      const least = isFirst ? 1 : this.#worthwhile;
      const reserves = limit >= least && (isFirst || idle.hasMore);
      if (!reserves && ended < least) return;
      // Asked last, because one answer allows only one call. Jobs that have ended do not wait for it.
      const isAllowed = limit > 0 && idle.isAllowed();
      if (!isAllowed && ended < least) return;
      void this.#call(isAllowed ? limit : 0);
    }
  }

  /**
   * Has the store hand out a job to an idle worker the moment it arrives. False if the store cannot, or the worker must not.
   *
   * Only while nothing runs: a job that the store has handed out belongs to nobody until we read it, and a handler may block
   * the event loop.
   */
  await(): boolean {
    if (this.#isWaiting) return true;
    const { idle, runs, leases } = this.#parts;
    const { options, application } = this.#settings;
    const isAsked = options.stopWhenEmpty || options.once || application.hooks.has('looping');
    if (isAsked || runs.busy + runs.size + leases.atRisk > 0 || !idle.canReserve) return false;
    idle.pause();
    void this.#call(1, true);
    return true;
  }

  /** Settles without reserving. */
  settle(): void {
    const { store, runs } = this.#parts;
    while (this.#underWay < this.#most && !store.isPausing && runs.ended > 0) void this.#call(0);
  }

  #limit(): number {
    const { idle, runs } = this.#parts;
    if (!idle.mayHaveMore || !this.mayAsk) return 0;
    const left = this.#settings.options.maxJobs - runs.started;
    return Math.max(Math.min(Math.min(this.free, left) - this.#asked, this.#share, runs.mostAtOnce), 0);
  }

  async #call(wanted: number, waits = false): Promise<void> {
    const { runs, settler, store, idle } = this.#parts;
    const finished = waits ? [] : runs.depart(this.#share);
    const limit = finished.length === 0 || settler.combines ? wanted : 0;
    const call: Call = { finished, limit, at: momentOf(this.#settings.application.clock), news: idle.news, waits };
    if (waits) this.#isWaiting = true;
    else this.#underWay += 1;
    this.#asked += limit;
    let reply: ReserveReply | undefined;
    let failure: { readonly error: unknown } | undefined;
    try {
      reply = await this.#sent(call);
    } catch (error) {
      failure = { error };
    }
    this.#asked -= limit;
    runs.arrive(finished, failure === undefined);
    if (failure !== undefined) store.failed(failure.error, 'settling and reserving');
    else if (waits && reply === undefined) idle.lookAgain();
    else {
      const givingBack = this.#answered(call, reply);
      if (givingBack !== undefined) await givingBack;
    }
    if (waits) this.#isWaiting = false;
    else this.#underWay -= 1;
    idle.ring();
  }

  /** @throws what the store throws when it is away; a waiting call throws what a reserve throws */
  #sent(call: Call): Promise<ReserveReply | undefined> {
    const { settler, leases } = this.#parts;
    if (call.limit === 0) return settler.settle(call.finished);
    const renewals = leases.renewEnded();
    if (renewals === undefined) return this.#ask(call);
    return this.#leftOut(renewals).then((unasked) => {
      call.unasked = unasked;
      return this.#ask(call);
    });
  }

  #ask(call: Call): Promise<ReserveReply | undefined> {
    const { finished, limit, waits, unasked } = call;
    const { options, application, lease } = this.#settings;
    const { settler, idle } = this.#parts;
    const order = options.fair ? drawOrder(this.#settings.queues, application.random) : this.#queues;
    const queues = unasked === undefined ? order : order.filter((name) => !unasked.has(name));
    const request = { queues, limit, lease };
    return waits ? idle.reserve(request) : settler.settle(finished, request);
  }

  /** Queues to leave out until their ended leases are renewed. If that would be all queues, waits for the first renewal. */
  async #leftOut(renewals: ReadonlyMap<string, Promise<void>>): Promise<ReadonlySet<string>> {
    for (const renewal of renewals.values()) {
      // Each reserve finds the same renewal here until the store answers it.
      if (this.#renewals.has(renewal)) continue;
      this.#renewals.add(renewal);
      renewal.then(this.#parts.idle.wake, () => undefined);
    }
    if (renewals.size < this.#queues.length) return new Set(renewals.keys());
    await Promise.race(renewals.values());
    return new Set(this.#parts.leases.renewEnded()?.keys());
  }

  #answered(call: Call, reply: ReserveReply | undefined): Promise<void> | undefined {
    const { settler, store, emptiness, idle, stopping, runs } = this.#parts;
    // Other outcomes may be unanswered, or the store may just have refused some: then one good answer does not end the
    // streak of failures.
    if (settler.unanswered === 0 && !store.isPausing) store.recovered();
    if (call.finished.length + (reply?.reservations.length ?? 0) > 0) emptiness?.disturb();
    if (reply === undefined) {
      idle.lookAgain();
      return undefined;
    }
    for (const one of reply.setAside) settler.setAside(one);
    this.#haveAskedAll = (call.unasked?.size ?? 0) === 0;
    if (store.heard(reply, call.unasked)) stopping.requested ??= 'restart';
    if (!stopping.isEnding) {
      this.#take(call, reply);
      return undefined;
    }
    // These were asked for before the end. Once the loop has ended, nobody would renew their leases or settle them.
    return settler.giveBack(reply.reservations).catch((error: unknown) => {
      store.failed(error, 'giving jobs back');
      // Try again with the last outcomes. If the store refused only some, the others are already back.
      if (isStoreAway(error)) for (const job of this.#jobsOf(reply)) runs.giveBack(job);
    });
  }

  #jobsOf({ reservations }: ReserveReply): readonly RunningJob[] {
    const { name } = this.#settings.connection;
    return reservations.map((reservation) => new RunningJob(reservation, name, this.#parts.store.storeClock));
  }

  #take({ limit, at, news, waits }: Call, reply: ReserveReply): void {
    const { leases, idle, runs } = this.#parts;
    const { reservations, nextIn } = reply;
    const jobs = this.#jobsOf(reply);
    // Before any handler starts: it may block the event loop at once, and its lease has to be kept all the same.
    leases.keep(jobs, at);
    idle.answered(news, nextIn <= 0 || (reservations.length === limit && !waits), nextIn);
    if (runs.take(jobs)) idle.haveMore();
  }
}
