/**
 * Renews the leases of running jobs, on whichever thread it is, and says what the store answered.
 *
 * The first renewal comes when a third of the lease is over, so that short jobs never send their text again. One that the
 * store did not answer is repeated after short growing pauses, also beyond the end of the lease: as long as nobody else
 * has taken the job, it is ours.
 */
import { type Clock, type Milliseconds, type Moment, momentOf, type Seconds, type Timer } from '../../base/clock';
import type { Connection, RenewResult, Reservation } from '../../connections/contract';
import { pagesOf } from '../../base/pages';
import { type Member, Roster } from '../roster';

export const FIRST_PAUSE: Milliseconds = 50;
export const LONGEST_PAUSE: Milliseconds = 1000;

/** Part of a lease between two looks: what falls due until the next one is renewed with this one. */
export const LOOK = 1 / 12;

/** Part of a lease after which it is renewed. */
export const THIRD = 1 / 3;

/** One reservation under a lease. */
export interface Leased extends Member {
  readonly reservation: Reservation;
  /** When the lease last began, by the clock of the renewal. */
  leasedAt: Milliseconds;
  /**
   * How far the wall clock was ahead of the monotonic one when the lease began, as far as this renewal knows; undefined: it does
   * not. The monotonic clock stands still while a machine sleeps: by it a lease would not have ended that is over.
   */
  ahead?: Milliseconds | undefined;
}

export interface LeaseRenewalSettings<L extends Leased> {
  readonly lease: Seconds;
  /** Part of the lease after which it is renewed. Default: a third. */
  readonly after?: number | undefined;
  readonly clock: Clock;
  readonly renew: Connection['renew'];
  /** Called before each look at what is held: to drop what is not any more. */
  readonly refresh?: (() => void) | undefined;
  /** It is no longer ours. */
  readonly lost: (leased: L) => void;
  /** It is ours, and is to end. Said with each renewal. */
  readonly cancelled: (leased: L) => void;
  /** Its lease is over, and the store has not answered yet. Said with each look. */
  readonly ended: (leased: L) => void;
  /** Called once for each streak of failures. */
  readonly failed: (error: unknown) => void;
  /** Called when such a streak ends by an answer. */
  readonly recovered?: (() => void) | undefined;
}

export class LeaseRenewal<L extends Leased> {
  readonly #settings: LeaseRenewalSettings<L>;
  readonly #span: Milliseconds;
  readonly #held = new Roster<L>();
  /** Those that a part of the store has left unanswered so far: asked for once. */
  readonly #unanswered = new Map<L, Promise<RenewResult>>();
  #after: number;
  #timer: Timer | undefined;
  #pause: Timer | undefined;
  #renewing = false;
  #failing = false;

  constructor(settings: LeaseRenewalSettings<L>) {
    this.#settings = settings;
    this.#span = settings.lease * 1000;
    this.#after = settings.after ?? THIRD;
  }

  /** Reservations of one call. They may come late, to a thread that was not up yet. */
  keep(leased: readonly L[]): void {
    const [first] = leased;
    if (first === undefined) return;
    for (const one of leased) this.#held.add(one);
    const left = first.leasedAt + this.#after * this.#span - this.#settings.clock.monotonic();
    // What is held already began before these.
    if (this.#timer === undefined || left <= 0) this.#lookIn(left);
  }

  /** All of them. */
  get held(): Iterable<L> {
    return this.#held;
  }

  /** Nobody needs the lease from here on. */
  drop(leased: L): void {
    this.#held.delete(leased);
  }

  /** From here on leases are renewed after this part of them; what is due is renewed at once. */
  renewAfter(part: number): void {
    this.#after = part;
    if (this.#held.size > 0) this.#lookIn(0);
  }

  /**
   * Renews those whose lease has ended; gives the queues of those that stay unanswered, and waits where these are all
   * there are. Undefined: none has.
   *
   * @param queues how many there are
   * @throws what the store throws
   */
  renewEnded(queues: number): Promise<ReadonlySet<string>> | undefined {
    // Once for all: a worker asks on each turn, and may hold thousands.
    const now = momentOf(this.#settings.clock);
    const ended: L[] = [];
    for (const leased of this.#held) if (this.#mayHaveEndedBy(now, leased)) ended.push(leased);
    return ended.length === 0 ? undefined : this.#renewPages(ended, queues);
  }

  /**
   * By one clock or the other. It is enough to ask the store again, and no reason to abort anything: somebody may have set the
   * wall clock.
   */
  mayHaveEnded(leased: Leased): boolean {
    return this.#mayHaveEndedBy(momentOf(this.#settings.clock), leased);
  }

  /** How many leases are more than half over. */
  get atRisk(): number {
    return this.#olderThan(this.#span / 2).length;
  }

  /** Leaves no timer behind. */
  close(): void {
    this.#held.clear();
    this.#timer?.cancel();
    this.#pause?.cancel();
  }

  #mayHaveEndedBy({ monotonic, wall }: Moment, { leasedAt, ahead }: Leased): boolean {
    const slept = ahead === undefined ? 0 : wall - monotonic - ahead;
    return monotonic - leasedAt + Math.max(slept, 0) >= this.#span;
  }

  #olderThan(age: Milliseconds): readonly L[] {
    const youngest = this.#settings.clock.monotonic() - age;
    const found: L[] = [];
    for (const leased of this.#held) if (leased.leasedAt <= youngest) found.push(leased);
    return found;
  }

  #lookIn(milliseconds: Milliseconds): void {
    this.#timer?.cancel();
    this.#timer = this.#settings.clock.after(Math.max(0, milliseconds), () => this.#look());
  }

  #look(): void {
    this.#timer = undefined;
    this.#settings.refresh?.();
    if (this.#held.size === 0) return;
    let oldest = Infinity;
    for (const { leasedAt } of this.#held) oldest = Math.min(oldest, leasedAt);
    const left = oldest + this.#after * this.#span - this.#settings.clock.monotonic();
    this.#lookIn(Math.max(left, LOOK * this.#span));
    for (const leased of this.#olderThan(this.#span)) this.#settings.ended(leased);
    if (!this.#renewing) void this.#renewDue();
  }

  // Each round asks for all that are due: leases that the store does not take must not keep others waiting.
  async #renewDue(): Promise<void> {
    this.#renewing = true;
    for (let pause = FIRST_PAUSE; ; pause = Math.min(pause * 2, LONGEST_PAUSE)) {
      this.#settings.refresh?.();
      const due = this.#olderThan((this.#after - LOOK) * this.#span);
      if (await this.#renewAll(due)) break;
      await new Promise<void>((resolve) => {
        this.#pause = this.#settings.clock.after(pause, resolve);
      });
    }
    this.#renewing = false;
  }

  // False: some were not renewed.
  async #renewAll(due: readonly L[]): Promise<boolean> {
    let failure: { readonly error: unknown } | undefined;
    for (const page of pagesOf(due, bytesOf)) {
      try {
        await this.#renewPage(page);
      } catch (error) {
        failure = { error };
      }
    }
    if (failure !== undefined) this.#fail(failure.error);
    else if (due.length > 0) this.#recover();
    else this.#failing &&= this.#unanswered.size > 0;
    return failure === undefined;
  }

  #fail(error: unknown): void {
    if (!this.#failing) this.#settings.failed(error);
    this.#failing = true;
  }

  #recover(): void {
    if (!this.#failing || this.#unanswered.size > 0) return;
    this.#failing = false;
    this.#settings.recovered?.();
  }

  async #renewPages(due: readonly L[], queues: number): Promise<ReadonlySet<string>> {
    for (const page of pagesOf(due, bytesOf)) await this.#renewPage(page);
    const left = new Set<string>();
    for (const leased of due) if (this.#unanswered.has(leased)) left.add(leased.reservation.queue);
    if (left.size < queues) return left;
    await Promise.all(this.#unanswered.values());
    return new Set();
  }

  async #renewPage(page: readonly L[]): Promise<void> {
    const { clock, lease, renew } = this.#settings;
    // Some may have ended while the page before was asked for.
    const held = page.filter((leased) => this.#held.has(leased) && !this.#unanswered.has(leased));
    if (held.length === 0) return;
    const askedAt = momentOf(clock);
    const answers = await renew(
      held.map(({ reservation }) => reservation),
      lease,
    );
    held.forEach((leased, index) => {
      const answer = answers[index]!;
      if (typeof answer === 'string') this.#heed(leased, answer, askedAt);
      else void this.#heedLater(leased, answer.later, askedAt);
    });
  }

  // One that fails is due with the next look.
  async #heedLater(leased: L, later: Promise<RenewResult>, askedAt: Moment): Promise<void> {
    this.#unanswered.set(leased, later);
    const result = await later.catch((error: unknown) => ({ error }));
    this.#unanswered.delete(leased);
    if (typeof result === 'string') {
      this.#heed(leased, result, askedAt);
      this.#recover();
    } else if (this.#held.has(leased)) this.#fail(result.error);
  }

  #heed(leased: L, result: RenewResult, askedAt: Moment): void {
    const { lost, cancelled } = this.#settings;
    if (!this.#held.has(leased)) return;
    if (result === 'lost') {
      this.#held.delete(leased);
      lost(leased);
      return;
    }
    // An answer that comes late may be older than what another thread was told, or than the job that has the place since.
    leased.leasedAt = Math.max(leased.leasedAt, askedAt.monotonic);
    leased.ahead = askedAt.wall - askedAt.monotonic;
    if (result === 'cancelled') cancelled(leased);
  }
}

/** Their texts travel with them. */
export const bytesOf = ({ reservation }: { readonly reservation: Reservation }): number => reservation.payload.length;
