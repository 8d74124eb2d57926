/**
 * The connections that hold jobs: one that reserves, one for each wait, and as many more as hold jobs that a wait has
 * brought.
 */
import type { Clock, Milliseconds } from '../../base/clock';
import type { BeanstalkdCaller } from './caller';
import type { Held, KnownJob } from './held';
import { Reserver } from './reserver';

/** Most connections. If all of them hold jobs, a wait is only a pause. */
const MOST = 8;

/** A worker that was woken reserves much sooner than this. One that was told to reserve nothing may not do so for hours. */
const LONGEST_KEPT: Milliseconds = 5000;
/** Part of the time to run that may be over when a job is handed out. */
const STALE = 1 / 3;

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
    // Others may have jobs that the server has taken back, with their connection or at the end of their lease.
    return taken.filter(({ reserver, askedAt, ttr }) => reserver.link.isOpen && now < askedAt + ttr);
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
