/**
 * A connection that reserves jobs and holds them. Only it can renew or end them, and the server takes them all back when it
 * ends: then they are lost.
 *
 * Silence does not end a connection that holds jobs: as long as their leases may last, the server may come back, and the
 * jobs with it.
 */
import { Silence, within, type Milliseconds, type Seconds, type Clock } from '../../base/clock';
import type { RenewResult } from '../contract';
import type { BeanstalkdCaller } from './caller';
import { knownJob, type Held, type KnownJob, type RawJob } from './settle';
import { LinkEnded, fieldsOf, type Command, type Link, type Reply } from './link';
import { unseenPriority } from './marks';

/** Part of a job's time to run after which we touch it, unless renewals come as often. */
const THIRD = 1 / 3;

export interface Catch {
  readonly jobs: readonly RawJob[];
  /** The replies to the other commands. */
  readonly others: readonly Reply[];
}

export class Reserver {
  readonly link: Link;
  readonly caller: BeanstalkdCaller;
  /** A reserve is waiting on the server: nothing else can be asked. */
  isBlocked = false;
  readonly #held = new Map<string, Held>();
  /** What the last wait has brought, until it is held or goes back. */
  #brought: KnownJob | undefined;
  /** Calls that will bring jobs that nobody runs. */
  #unseen = 0;

  constructor(link: Link, caller: BeanstalkdCaller) {
    this.link = link;
    this.caller = caller;
    void link.ended.then(() => this.#end());
  }

  get isUsable(): boolean {
    return this.link.isOpen && !this.isBlocked && !this.link.isOverdue;
  }

  /** Whether it may wait: while it waits, no job that it has can be renewed or settled. */
  get isEmpty(): boolean {
    return this.#held.size === 0 && this.#brought === undefined;
  }

  get held(): Iterable<Held> {
    return this.#held.values();
  }

  /** Whether a reservation is the latest of its job, and not over. */
  holds(held: Held): boolean {
    return !held.isOver && this.#held.get(held.job.id) === held;
  }

  /**
   * Reserves up to `limit` ready jobs of a tube, and sends other commands along.
   *
   * @throws QueueUnavailableError
   */
  async take(tube: string, limit: number, others: readonly Command[] = []): Promise<Catch> {
    const reserves = Array.from({ length: limit }, () => 'reserve-with-timeout 0');
    return this.#reserve([tube], reserves, others, this.caller.deadline);
  }

  /** Waits on the server until a job of these tubes is ready, for whole `seconds`. @throws QueueUnavailableError */
  async wait(tubes: readonly string[], seconds: Seconds): Promise<KnownJob | undefined> {
    this.isBlocked = true;
    try {
      const longest = this.caller.deadline + seconds * 1000;
      const { jobs } = await this.#reserve(tubes, [`reserve-with-timeout ${seconds}`], [], longest);
      this.#brought = (await this.describe(jobs))[0];
      return this.#brought;
    } finally {
      this.isBlocked = false;
    }
  }

  /** Asks the server about jobs that were just reserved; omits those that are gone. @throws QueueUnavailableError */
  async describe(jobs: readonly RawJob[]): Promise<readonly KnownJob[]> {
    const described = this.#described(jobs);
    try {
      return await within(this.caller.settings.clock, this.caller.deadline, described);
    } catch (error) {
      if (error instanceof Silence) this.#giveBackUnseen(described);
      throw this.failed(error, 'no job was reserved');
    }
  }

  async #described(jobs: readonly RawJob[]): Promise<readonly KnownJob[]> {
    const commands = jobs.map(({ id }) => `stats-job ${id}`);
    const replies = await this.link.ask(commands, this.caller.deadline);
    const known = jobs.map((job, index) => knownJob(job, fieldsOf(replies[index]!.body), this));
    return known.filter((_, index) => replies[index]!.word === 'OK');
  }

  /** Seconds until the first delayed job of one of these tubes is ready, rounded up. @throws QueueUnavailableError */
  async nextDue(tubes: readonly string[]): Promise<Seconds> {
    const consequence = 'the delayed jobs were not looked at';
    let next = Infinity;
    for (const tube of tubes) {
      const first = (await this.#call([...this.link.use(tube), 'peek-delayed'], consequence)).at(-1)!;
      // The tube had delayed jobs a moment ago. They became ready, and a worker waiting for nothing else would miss them.
      if (first.word !== 'FOUND') return 0;
      const [known] = await this.#call([`stats-job ${first.args[0]}`], consequence);
      next = Math.min(next, Number(fieldsOf(known!.body).get('time-left') ?? 0) + 1);
    }
    return next;
  }

  /** From here on the job is kept for `lease` seconds from when it was asked for. */
  keep(held: Held, lease: Seconds): void {
    // Replaces an older reservation, if the server had taken the job back and gave it to this very connection again.
    this.#held.set(held.job.id, held);
    this.leave(held.job);
    held.leaseEnd = held.keptAt + lease * 1000;
    this.#keepShort(held);
  }

  /** What a wait has brought is held from now on, or no longer ours. */
  leave(job: KnownJob): void {
    if (this.#brought === job) this.#brought = undefined;
  }

  /** Gives back a job that nobody has run, at no cost. If its connection has ended, the server has taken it back itself. */
  async giveBack(job: KnownJob): Promise<void> {
    this.leave(job);
    const release = `release ${job.id} ${unseenPriority(job.facts)} 0`;
    await this.#call([release], 'a job was not given back').catch(() => undefined);
  }

  /**
   * Gives back jobs that were reserved and not described, at no cost: ending the connection would count as a crash of each.
   */
  abandon(jobs: readonly RawJob[]): void {
    if (jobs.length > 0) this.#giveBackUnseen(this.#described(jobs));
  }

  /** Deletes a job that it holds, even if a worker runs it. False if it was gone. @throws QueueUnavailableError */
  async end(held: Held): Promise<boolean> {
    const [reply] = await this.#call([`delete ${held.job.id}`], 'a job that runs was not removed');
    this.drop(held);
    return reply!.word === 'DELETED';
  }

  drop(held: Held): void {
    held.isOver = true;
    held.keeping?.cancel();
    if (this.#held.get(held.job.id) === held) this.#held.delete(held.job.id);
  }

  /** @throws QueueUnavailableError */
  async renew(held: Held, lease: Seconds): Promise<RenewResult> {
    const { clock } = this.caller.settings;
    const leaseEnd = clock.monotonic() + lease * 1000;
    try {
      if (!(await within(clock, this.caller.deadline, this.touch(held)))) return 'lost';
      held.leaseEnd = leaseEnd;
      this.#keepShort(held);
      return 'renewed';
    } catch (error) {
      throw this.failed(error, 'the lease of a job was not renewed');
    }
  }

  /** False if it is no longer ours. Waits as long as the connection lives. */
  touch(held: Held): Promise<boolean> {
    if (!this.holds(held)) return Promise.resolve(false);
    held.touching ??= this.#touch(held).finally(() => {
      held.touching = undefined;
    });
    return held.touching;
  }

  async #touch(held: Held): Promise<boolean> {
    const { clock } = this.caller.settings;
    const askedAt = clock.monotonic();
    try {
      const [reply] = await this.link.ask([`touch ${held.job.id}`], this.caller.deadline);
      if (reply!.word === 'TOUCHED') {
        held.keptAt = askedAt;
        return true;
      }
    } catch (error) {
      if (!(error instanceof LinkEnded)) throw error;
    }
    this.drop(held);
    return false;
  }

  async #reserve(
    tubes: readonly string[],
    reserves: readonly string[],
    others: readonly Command[],
    milliseconds: Milliseconds,
  ): Promise<Catch> {
    const { clock } = this.caller.settings;
    const watch = this.link.watch(tubes);
    const askedAt = clock.monotonic();
    const asking = this.link.ask([...watch, ...reserves, ...others], milliseconds);
    const sorted = asking.then((replies): Catch => {
      const answers = replies.slice(watch.length, watch.length + reserves.length);
      const jobs = answers
        .filter(({ word }) => word === 'RESERVED')
        .map(({ args, body }) => ({ id: args[0]!, body: body!, askedAt }));
      return { jobs, others: replies.slice(watch.length + reserves.length) };
    });
    try {
      return await within(clock, milliseconds, sorted);
    } catch (error) {
      if (error instanceof Silence) this.#giveBackUnseen(sorted.then(({ jobs }) => this.#described(jobs)));
      throw this.failed(error, 'no job was reserved');
    }
  }

  // Gives back jobs that arrive too late for anybody to run them. If they do not come soon, we end the connection, and the
  // server hands them to others: that counts as a crash of each.
  #giveBackUnseen(coming: Promise<readonly KnownJob[]>): void {
    const { clock } = this.caller.settings;
    const given = coming.then((jobs) => Promise.all(jobs.map((job) => this.giveBack(job))));
    this.#unseen += 1;
    const over = (error?: unknown): void => {
      this.#unseen -= 1;
      if (error instanceof Silence) this.failed(error, 'a job was not given back');
    };
    within(clock, this.caller.deadline, given, false).then(() => over(), over);
  }

  async #call(commands: readonly Command[], consequence: string): Promise<readonly Reply[]> {
    try {
      return await this.link.call(commands, this.caller.deadline);
    } catch (error) {
      throw this.failed(error, consequence);
    }
  }

  /**
   * The error to throw for a link that ended or was silent. A silent link is given up once none of its jobs can be ours any
   * more, and none may come.
   */
  failed(error: unknown, consequence: string, uncertain = false): unknown {
    const now = this.caller.settings.clock.monotonic();
    const isNeeded = this.#unseen > 0 || [...this.#held.values()].some((held) => held.mayLast(now));
    if (!isNeeded) this.link.close();
    return this.caller.explainLink(error, consequence, uncertain);
  }

  #end(): void {
    for (const held of this.#held.values()) this.drop(held);
  }

  // The server uses the lease that the job was pushed with. If the worker's is longer, we touch the job meanwhile.
  #keepShort(held: Held): void {
    const { clock } = this.caller.settings;
    const { job, keptAt, leaseEnd } = held;
    held.keeping?.cancel();
    if (keptAt + job.ttr >= leaseEnd) return;
    held.keeping = clock.after(keptAt + job.ttr * THIRD - clock.monotonic(), () => {
      const goOn = (isOurs: boolean): void => {
        if (isOurs) this.#keepShort(held);
      };
      // A renewal of the worker, which comes as well, says what is wrong.
      this.touch(held).then(goOn, () => undefined);
    });
  }
}

/** Most connections. If all of them hold jobs, a wait is only a pause. */
const MOST = 8;

/** A worker that was woken reserves much sooner than this. One that was told to reserve nothing may not do so for hours. */
const LONGEST_KEPT: Milliseconds = 5000;
/** Part of the time to run that may be over when a job is handed out. */
const STALE = 1 / 3;

/**
 * The connections that hold jobs: one that reserves, one for each wait, and as many more as hold jobs that a wait has
 * brought.
 */
export class Reservers {
  readonly #caller: BeanstalkdCaller;
  readonly #all = new Set<Reserver>();
  /** Jobs that waits have brought, in order of arrival. */
  readonly #awaited: KnownJob[] = [];
  #opening = 0;

  constructor(caller: BeanstalkdCaller) {
    this.#caller = caller;
  }

  get clock(): Clock {
    return this.#caller.settings.clock;
  }

  /** A connection to reserve with. @throws QueueUnavailableError */
  async usable(consequence: string): Promise<Reserver> {
    return this.current ?? this.#open(consequence);
  }

  /**
   * A connection to wait on. It holds no jobs, because a connection that waits can renew nothing. Undefined if there are too
   * many.
   *
   * @throws QueueUnavailableError
   */
  async idle(consequence: string): Promise<Reserver | undefined> {
    const [reserving, ...others] = [...this.#all].filter(({ isUsable }) => isUsable);
    const idle = others.toReversed().find(({ isEmpty }) => isEmpty);
    if (idle !== undefined) return idle;
    // All others hold jobs, and reserves go on with those. An only connection stays free for reserves.
    if (reserving !== undefined && reserving.isEmpty && others.length > 0) return reserving;
    return this.#all.size + this.#opening < MOST ? this.#open(consequence) : undefined;
  }

  /** The connection that `usable` returns, if there is one already. */
  get current(): Reserver | undefined {
    for (const reserver of this.#all) if (reserver.isUsable) return reserver;
    return undefined;
  }

  hasAwaited(tubes: readonly string[]): boolean {
    return this.#awaited.some(({ tube }) => tubes.includes(tube));
  }

  /** Keeps a job that a wait has brought for the next reserve from its tube. If none comes, the job goes back at no cost. */
  bring(job: KnownJob): void {
    this.#awaited.push(job);
    this.clock.after(Math.min(LONGEST_KEPT, job.ttr * STALE), () => {
      const at = this.#awaited.indexOf(job);
      if (at < 0) return;
      this.#awaited.splice(at, 1);
      void job.reserver.giveBack(job);
    });
  }

  /** Hands over the jobs that waits have brought from these tubes. */
  takeAwaited(tubes: readonly string[]): readonly KnownJob[] {
    const taken = this.#awaited.filter(({ tube }) => tubes.includes(tube));
    const left = this.#awaited.filter(({ tube }) => !tubes.includes(tube));
    this.#awaited.splice(0, Infinity, ...left);
    const now = this.clock.monotonic();
    return taken.filter((job) => {
      const { reserver, askedAt, ttr } = job;
      if (reserver.link.isOpen && now < askedAt + ttr) return true;
      // Others may have it: the server has taken it back, with its connection or at the end of its lease.
      reserver.leave(job);
      return false;
    });
  }

  /** All held jobs of all connections. */
  *held(): Generator<Held> {
    for (const reserver of this.#all) yield* reserver.held;
  }

  /** No more calls may be made on it. */
  remove(reserver: Reserver): void {
    this.#all.delete(reserver);
  }

  close(): void {
    for (const { link } of this.#all) link.close();
    this.#all.clear();
  }

  async #open(consequence: string): Promise<Reserver> {
    this.#opening += 1;
    try {
      const reserver = new Reserver(await this.#caller.open(consequence), this.#caller);
      this.#all.add(reserver);
      void reserver.link.ended.then(() => this.#all.delete(reserver));
      return reserver;
    } finally {
      this.#opening -= 1;
    }
  }
}
