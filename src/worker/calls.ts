/**
 * A worker's calls to the store: each settles what has ended and reserves for the slots that are free.
 *
 * Where a connection carries several calls at once, a busy worker has several under way, each for its share of the slots:
 * the store works on one share while the jobs of another run.
 */
import { type Moment, momentOf } from '../base/clock';
import { MOST_JOBS } from '../base/pages';
import type { ReserveReply } from '../connections/contract';
import { isStoreAway } from '../connections/errors';
import type { Parts, WorkLoopSettings } from './parts';
import { reserveOrder } from './queue-order';
import { RunningJob } from './running-job';
import type { Finished } from './runs';

/** Of fewer slots, two calls of half the size cost more than they gain: measured up to 16 slots, on two cores. */
const SLOTS_FOR_TWO = 24;

/** What came of a call. */
interface Came {
  readonly reply?: ReserveReply | undefined;
  /** Queues that were not asked, because they would have handed out what runs here already. */
  readonly unasked?: ReadonlySet<string> | undefined;
  readonly failure?: { readonly error: unknown };
}

/** What was so when a call was sent. */
interface Sent {
  readonly finished: readonly Finished[];
  /** How many jobs it asks for. */
  readonly limit: number;
  readonly at: Moment;
  readonly news: number;
  /** It waits in the store until there is a job. */
  readonly waits: boolean;
}

export class Calls {
  readonly #settings: WorkLoopSettings;
  readonly #parts: Parts;
  readonly #ring: () => void;
  readonly #isEnding: () => boolean;
  /** How many there may be at once, and how many jobs one of them moves at most. */
  readonly #most: number;
  readonly #share: number;
  /** How many jobs one beside another has to move at least. */
  readonly #worthwhile: number;
  #underWay = 0;
  #isWaiting = false;
  /** Slots that those under way are to fill. */
  #asked = 0;
  #haveAskedAll = true;
  /** Those whose end has the loop look again. */
  readonly #renewals = new WeakSet<Promise<void>>();

  /** @param ring called when one is over */
  constructor(settings: WorkLoopSettings, parts: Parts, ring: () => void, isEnding: () => boolean) {
    const { connection, options } = settings;
    this.#settings = settings;
    this.#parts = parts;
    this.#ring = ring;
    this.#isEnding = isEnding;
    this.#most = options.concurrency < SLOTS_FOR_TWO ? 1 : (connection.callsAtOnce ?? 1);
    this.#share = Math.min(MOST_JOBS, Math.ceil(options.concurrency / this.#most));
    this.#worthwhile = Math.min(MOST_JOBS, Math.floor(options.concurrency / this.#most));
  }

  get underWay(): number {
    return this.#underWay + (this.#isWaiting ? 1 : 0);
  }

  /** Whether there is one that is answered soon. */
  get areBusy(): boolean {
    return this.#underWay > 0;
  }

  /** Whether the last reserve has asked all queues. */
  get haveAskedAll(): boolean {
    return this.#haveAskedAll;
  }

  /** Slots for more jobs; some may be asked for already. */
  get free(): number {
    const { runs, settler } = this.#parts;
    return this.#settings.options.concurrency - runs.busy - settler.announcing;
  }

  get mayAsk(): boolean {
    return this.free > 0 && this.#parts.looping.vetoedUntil === undefined && !this.#parts.apart.isTaken;
  }

  /** Sends what calls there are to send. */
  send(): void {
    const { store, runs, idle, looping } = this.#parts;
    if (this.#isWaiting) {
      if (idle.mayHaveMore || runs.ended > 0) idle.cutShort();
      return;
    }
    while (this.#underWay < this.#most && !store.isPausing) {
      const isFirst = this.#underWay === 0;
      const limit = this.#limit();
      const ended = Math.min(runs.ended, this.#share);
      // A second call costs as much as the first: it goes out only once its share of the slots waits for it, and there are jobs.
      const least = isFirst ? 1 : this.#worthwhile;
      const reserves = limit >= least && (isFirst || idle.hasMore);
      if (!reserves && ended < least) return;
      // Asked last, as an answer holds for one call. Those that have ended do not wait for it.
      const isAllowed = limit > 0 && looping.isAllowed();
      if (!isAllowed && ended < least) return;
      void this.#call(isAllowed ? limit : 0);
    }
  }

  /**
   * Has the store hand out a job the moment that it comes, to a worker that is idle. False: it cannot, or the worker may not.
   *
   * Only while nothing runs: what the store has handed out is nobody's until it is read, and a handler may block the event loop.
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

  /** Only settles. */
  settle(): void {
    const { store, runs } = this.#parts;
    while (this.#underWay < this.#most && !store.isPausing && runs.ended > 0) void this.#call(0);
  }

  start(job: RunningJob): void {
    this.#parts.stopping.started += 1;
    this.#parts.runs.start(job);
  }

  #limit(): number {
    const { idle, stopping, apart } = this.#parts;
    if (!idle.mayHaveMore || !this.mayAsk) return 0;
    const most = Math.min(this.free - this.#asked, stopping.jobsLeft - this.#asked, this.#share, apart.most);
    return Math.max(most, 0);
  }

  async #call(limit: number, waits = false): Promise<void> {
    const { runs, settler, store, idle } = this.#parts;
    const finished = waits ? [] : runs.depart(this.#share);
    const sent: Sent = {
      finished,
      limit: finished.length === 0 || settler.combines ? limit : 0,
      at: momentOf(this.#settings.application.clock),
      news: idle.news,
      waits,
    };
    if (waits) this.#isWaiting = true;
    else this.#underWay += 1;
    this.#asked += sent.limit;
    const came = await this.#sent(sent);
    const { reply, failure } = came;
    this.#asked -= sent.limit;
    runs.arrive(finished, failure === undefined);
    if (failure !== undefined) store.failed(failure.error, 'settling and reserving');
    else if (waits && reply === undefined) idle.lookAgain();
    else await this.#answered(sent, came);
    if (waits) this.#isWaiting = false;
    else this.#underWay -= 1;
    this.#ring();
  }

  async #sent(sent: Sent): Promise<Came> {
    const { finished, limit, waits } = sent;
    const { options, application, lease, queues } = this.#settings;
    const { settler, leases, idle } = this.#parts;
    try {
      if (limit === 0) {
        await settler.settle(finished);
        return {};
      }
      const renewals = leases.renewEnded();
      const unasked = renewals && (await this.#leftOut(renewals));
      const random = options.fair ? application.random : undefined;
      const request = { queues: reserveOrder(queues, random, unasked), limit, lease };
      const reply = await (waits ? idle.reserve(request) : settler.settle(finished, request));
      return { reply, unasked };
    } catch (error) {
      return { failure: { error } };
    }
  }

  /** Queues to be asked once what runs here is renewed: waits for the first where these are all there are. */
  async #leftOut(renewals: ReadonlyMap<string, Promise<void>>): Promise<ReadonlySet<string>> {
    const renewed = (): void => {
      this.#parts.idle.lookAgain();
      this.#ring();
    };
    for (const renewal of renewals.values()) {
      // It is met by each reserve until it is answered.
      if (this.#renewals.has(renewal)) continue;
      this.#renewals.add(renewal);
      renewal.then(renewed, () => undefined);
    }
    if (renewals.size < this.#settings.queues.length) return new Set(renewals.keys());
    await Promise.race(renewals.values());
    return new Set(this.#parts.leases.renewEnded()?.keys());
  }

  #answered(sent: Sent, { reply, unasked }: Came): Promise<void> | undefined {
    const { settler, store, emptiness, idle, storeClock, orders, stopping, runs } = this.#parts;
    // One part of the store may answer while another does not, or has just refused what it had left unanswered.
    if (settler.unanswered === 0 && !store.isPausing) store.recovered();
    if (sent.finished.length + (reply?.reservations.length ?? 0) > 0) emptiness.disturb();
    if (reply === undefined) {
      idle.lookAgain();
      return undefined;
    }
    store.heard();
    for (const one of reply.setAside) settler.setAside(one);
    if (reply.now !== undefined) storeClock.told(reply.now);
    this.#haveAskedAll = (unasked?.size ?? 0) === 0;
    if (orders.heard(reply, unasked)) stopping.requested ??= 'restart';
    if (!this.#isEnding()) {
      this.#take(sent, reply);
      return undefined;
    }
    // Asked for before the end: when the loop has ended, nobody renews their leases or settles them.
    return settler.giveBack(reply.reservations).catch((error: unknown) => {
      store.failed(error, 'giving jobs back');
      // Again, with what is settled last. Where the store has refused some, the others are back.
      if (isStoreAway(error)) for (const job of this.#jobsOf(reply)) runs.giveBack(job);
    });
  }

  #jobsOf({ reservations }: ReserveReply): readonly RunningJob[] {
    const { name } = this.#settings.connection;
    return reservations.map((reservation) => new RunningJob(reservation, name, this.#parts.storeClock));
  }

  #take({ limit, at, news, waits }: Sent, reply: ReserveReply): void {
    const { leases, apart, idle, runs } = this.#parts;
    const { reservations, nextIn } = reply;
    const jobs = this.#jobsOf(reply);
    // Before any handler starts: it may block the event loop at once, and its lease is to be kept all the same.
    leases.keep(jobs, at);
    const { start, back } = apart.split(jobs);
    const isFull = reservations.length === limit && !waits;
    idle.answered(news, isFull || nextIn <= 0 || back.length > 0, nextIn);
    for (const job of back) runs.giveBack(job);
    for (const job of start) this.start(job);
  }
}
