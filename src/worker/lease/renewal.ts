/**
 * Renews the leases of running jobs, on either side, and says what the store answered.
 *
 * The first renewal comes when a third of the lease is over, so that short jobs never send their text again. One that the
 * store does not answer is repeated after short growing pauses, also beyond the end of the lease: the job is ours until
 * somebody else has taken it.
 */
import { pauseAfter } from '../../base/backoff';
import { DenseSet, type DenseSetMember } from '../../base/dense-set';
import { type Clock, type Milliseconds, type Moment, momentOf, type Seconds, type Timer } from '../../base/clock';
import type { Connection, RenewResult, Reservation } from '../../connections/contract';
import { pagesOf } from '../../base/pages';
import type { LeaseRecord } from './record';

/** Between two tries to renew what the store has not renewed. */
export const BACKOFF = { first: 50, longest: 1000 };

/** Part of a lease between two looks. A renewal takes along what falls due within it. */
export const LOOK = 1 / 12;

/** Part of a lease after which it is renewed. */
export const THIRD = 1 / 3;

/** A job that is held under a lease. */
export interface Held extends DenseSetMember {
  /** The number of its run, by which both sides know it. */
  readonly number: number;
  readonly reservation: Reservation;
  readonly record: LeaseRecord;
}

export interface LeaseRenewalSettings<H extends Held> {
  readonly lease: Seconds;
  /** Part of the lease after which it is renewed. Default: a third. */
  readonly after?: number | undefined;
  readonly clock: Clock;
  /** Longest pause between two looks at what is held. Default: none. */
  readonly lookEvery?: Milliseconds | undefined;
  readonly renew: Connection['renew'];
  /** Called with each look, to bring what is held up to date. False: there is nothing to look for any more. */
  readonly refresh?: (() => boolean) | undefined;
  /** It is no longer ours. */
  readonly lost: (held: H) => void;
  /** It is ours, and is to end. Said with each renewal. */
  readonly cancelled: (held: H) => void;
  /** Its lease is over, and the store has not answered yet. Said with each look. */
  readonly ended: (held: H) => void;
  /** Called once for each streak of failures. */
  readonly failed: (error: unknown) => void;
  /** Called when such a streak ends by an answer. */
  readonly recovered?: (() => void) | undefined;
}

export class LeaseRenewal<H extends Held> {
  readonly #settings: LeaseRenewalSettings<H>;
  readonly #span: Milliseconds;
  readonly #held = new DenseSet<H>();
  /** Those that a part of the store has left unanswered so far: asked for once. */
  readonly #unanswered = new Map<H, Promise<RenewResult>>();
  #after: number;
  #timer: Timer | undefined;
  #pause: Timer | undefined;
  #renewing = false;
  #failing = false;

  constructor(settings: LeaseRenewalSettings<H>) {
    this.#settings = settings;
    this.#span = settings.lease * 1000;
    this.#after = settings.after ?? THIRD;
  }

  /** Jobs of one call. They may come late, to a thread that was not up yet. */
  keep(held: readonly H[]): void {
    for (const one of held) this.#held.add(one);
    const [first] = held;
    if (first !== undefined) this.#lookIn(this.#left(first, momentOf(this.#settings.clock)));
  }

  /** Looks from here on, if it does not. */
  start(): void {
    this.#lookIn(Infinity);
  }

  /** All of them. */
  get held(): Iterable<H> {
    return this.#held;
  }

  /** Nobody needs the lease any more. */
  drop(held: H): void {
    this.#held.delete(held);
  }

  /** From here on leases are renewed after this part of them. */
  renewAfter(part: number): void {
    this.#after = part;
    if (this.#held.size > 0) this.#lookIn(0);
  }

  /**
   * Renews those whose lease may have ended; gives the queues of those that stay unanswered, and waits where these are all
   * there are. Undefined: there are none.
   *
   * @param queues how many there are
   * @throws what the store throws
   */
  renewEnded(queues: number): Promise<ReadonlySet<string>> | undefined {
    const ended = this.#olderThan(this.#span);
    return ended.length === 0 ? undefined : this.#renewPages(ended, queues);
  }

  mayHaveEnded({ record }: H): boolean {
    return record.age(momentOf(this.#settings.clock)) >= this.#span;
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

  // The clocks are read once for all: a worker asks before each reserve, and may hold thousands.
  #olderThan(age: Milliseconds): readonly H[] {
    const now = momentOf(this.#settings.clock);
    const found: H[] = [];
    for (const held of this.#held) if (held.record.age(now) >= age) found.push(held);
    return found;
  }

  // What is held already began before what comes: a look that is due stays, unless it would be late.
  #lookIn(milliseconds: Milliseconds): void {
    if (this.#timer !== undefined && milliseconds > 0) return;
    this.#timer?.cancel();
    const { clock, lookEvery = Infinity } = this.#settings;
    this.#timer = clock.after(Math.max(0, Math.min(milliseconds, lookEvery)), () => this.#look());
  }

  // Until it is to be renewed.
  #left({ record }: H, now: Moment): Milliseconds {
    return this.#after * this.#span - record.age(now);
  }

  #look(): void {
    const { clock, refresh, ended } = this.#settings;
    this.#timer = undefined;
    const goesOn = refresh?.() ?? this.#held.size > 0;
    if (!goesOn) return;
    const now = momentOf(clock);
    let left = Infinity;
    for (const held of this.#held) {
      left = Math.min(left, this.#left(held, now));
      // By this clock alone: somebody who sets the other one must not have all jobs aborted.
      if (now.monotonic - held.record.leasedAt >= this.#span) ended(held);
    }
    this.#lookIn(left > 0 ? left : LOOK * this.#span);
    if (left <= 0 && !this.#renewing) void this.#renewDue();
  }

  // Each round asks for all that are due: leases that the store does not take must not keep others waiting.
  async #renewDue(): Promise<void> {
    this.#renewing = true;
    for (let tries = 0; ; tries += 1) {
      if (await this.#renewAll(this.#olderThan((this.#after - LOOK) * this.#span))) break;
      await new Promise<void>((resolve) => {
        this.#pause = this.#settings.clock.after(pauseAfter(tries, BACKOFF), resolve);
      });
    }
    this.#renewing = false;
  }

  // False: some were not renewed.
  async #renewAll(due: readonly H[]): Promise<boolean> {
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

  async #renewPages(due: readonly H[], queues: number): Promise<ReadonlySet<string>> {
    for (const page of pagesOf(due, bytesOf)) await this.#renewPage(page);
    const left = new Set<string>();
    for (const held of due) if (this.#unanswered.has(held)) left.add(held.reservation.queue);
    if (left.size < queues) return left;
    await Promise.all(this.#unanswered.values());
    return new Set();
  }

  async #renewPage(page: readonly H[]): Promise<void> {
    const { clock, lease, renew } = this.#settings;
    // Some may have ended while the page before was asked for.
    const asked = page.filter((held) => this.#held.has(held) && !this.#unanswered.has(held));
    if (asked.length === 0) return;
    const askedAt = momentOf(clock);
    const answers = await renew(
      asked.map(({ reservation }) => reservation),
      lease,
    );
    asked.forEach((held, index) => {
      const answer = answers[index]!;
      if (typeof answer === 'string') this.#answered(held, answer, askedAt);
      else void this.#answeredLater(held, answer.later, askedAt);
    });
  }

  // One that fails is due with the next look.
  async #answeredLater(held: H, later: Promise<RenewResult>, askedAt: Moment): Promise<void> {
    this.#unanswered.set(held, later);
    const result = await later.catch((error: unknown) => ({ error }));
    this.#unanswered.delete(held);
    if (typeof result === 'string') {
      this.#answered(held, result, askedAt);
      this.#recover();
    } else if (this.#held.has(held)) this.#fail(result.error);
  }

  #answered(held: H, result: RenewResult, askedAt: Moment): void {
    const { lost, cancelled } = this.#settings;
    if (!this.#held.has(held)) return;
    if (result === 'lost') {
      this.#held.delete(held);
      return lost(held);
    }
    held.record.renew(askedAt);
    if (result === 'cancelled') cancelled(held);
  }
}

/** Their texts travel with them. */
export const bytesOf = ({ reservation }: { readonly reservation: Reservation }): number => reservation.payload.length;
