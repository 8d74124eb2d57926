/**
 * Renews the leases of running jobs, in the event loop or in the thread, and passes on what the store answers.
 *
 * The first renewal comes when a third of the lease is over, so that short jobs never send their text again. A renewal that
 * the store does not answer is repeated after short growing pauses, even past the end of the lease: the job is ours until
 * somebody else has taken it.
 */
import {
  pauseAfter,
  momentOf,
  type Clock,
  type Milliseconds,
  type Moment,
  type Seconds,
  type Timer,
} from '../../base/clock';
import { DenseSet, groupsOf, pagesOf, type DenseSetMember } from '../../base/collections';
import type { Connection, RenewResult, Reservation } from '../../connections/contract';
import type { LeaseRecord } from './record';

/** Pauses between two tries to renew. */
export const BACKOFF = { first: 50, longest: 1000 };

/** Part of a lease between two looks. A renewal includes leases that fall due within it. */
export const LOOK = 1 / 12;

/** Part of a lease after which it is renewed. */
export const THIRD = 1 / 3;

/** A job with a lease. */
export interface Held extends DenseSetMember {
  /** The number of its run, which both sides know. */
  readonly number: number;
  readonly reservation: Reservation;
  readonly record: LeaseRecord;
}

export interface LeaseRenewalSettings<H extends Held> {
  readonly lease: Seconds;
  /** Part of the lease after which it is renewed. Default: a third. */
  readonly after?: number | undefined;
  readonly clock: Clock;
  /** Longest pause between two looks at the held jobs. Default: none. */
  readonly lookEvery?: Milliseconds | undefined;
  readonly renew: NonNullable<Connection['renew']>;
  /** Called with each look, to update what is held. False: there is nothing to look for any more. */
  readonly refresh?: (() => boolean) | undefined;
  /** The job is no longer ours. */
  readonly lost: (held: H) => void;
  /** The job is ours and was cancelled. Called with each renewal. */
  readonly cancelled: (held: H) => void;
  /** The lease is over, and the store has not answered yet. Called with each look. */
  readonly ended: (held: H) => void;
  /** Called once for each streak of failures. */
  readonly failed: (error: unknown) => void;
  /** Called when an answer ends such a streak. */
  readonly recovered?: (() => void) | undefined;
}

export class LeaseRenewal<H extends Held> {
  readonly #settings: LeaseRenewalSettings<H>;
  readonly #span: Milliseconds;
  readonly #held = new DenseSet<H>();
  /** Unanswered calls by queue: a queue with an unanswered call is not asked again, and holds up no other. */
  readonly #asked = new Map<string, Promise<void>>();
  /** Queues that are asked until all their due leases are renewed. */
  readonly #renewing = new Set<string>();
  /** Queues whose last call has failed. */
  readonly #failing = new Set<string>();
  #after: number;
  #timer: Timer | undefined;
  readonly #pauses = new Set<Timer>();

  constructor(settings: LeaseRenewalSettings<H>) {
    this.#settings = settings;
    this.#span = settings.lease * 1000;
    this.#after = settings.after ?? THIRD;
  }

  /** Jobs of one reserve. They may arrive late in a thread that was not up yet. */
  keep(held: readonly H[]): void {
    for (const one of held) this.#held.add(one);
    const [first] = held;
    if (first !== undefined) this.#lookIn(this.#left(first, momentOf(this.#settings.clock)));
  }

  /** Starts to look, if it does not look already. */
  start(): void {
    this.#lookIn(Infinity);
  }

  /** All held jobs. */
  get held(): Iterable<H> {
    return this.#held;
  }

  /** Nobody needs the lease any more. */
  drop(held: H): void {
    this.#held.delete(held);
  }

  /** From now on leases are renewed after this part of their span. */
  renewAfter(part: number): void {
    this.#after = part;
    if (this.#held.size > 0) this.#lookIn(0);
  }

  /** Renews the leases that may have ended, each queue by itself. Undefined if there are none. */
  renewEnded(): ReadonlyMap<string, Promise<void>> | undefined {
    const ended = this.#olderThan(this.#span);
    if (ended.length === 0) return undefined;
    return new Map(Array.from(groupsOf(ended, queueOf), ([queue, held]) => [queue, this.#renew(queue, held)]));
  }

  mayHaveEnded({ record }: H): boolean {
    return record.age(momentOf(this.#settings.clock)) >= this.#span;
  }

  /** How many leases are more than half over. */
  atRisk(): number {
    return this.#olderThan(this.#span / 2).length;
  }

  /** Leaves no timer behind. */
  close(): void {
    this.#held.clear();
    this.#timer?.cancel();
    for (const pause of this.#pauses) pause.cancel();
  }

  // Reads the clocks once for all jobs: a worker asks before each reserve, and may hold thousands.
  #olderThan(age: Milliseconds): readonly H[] {
    const now = momentOf(this.#settings.clock);
    const found: H[] = [];
    for (const held of this.#held) if (held.record.age(now) >= age) found.push(held);
    return found;
  }

  // Held jobs began before new ones, so a scheduled look stays, unless it would be late.
  #lookIn(milliseconds: Milliseconds): void {
    if (this.#timer !== undefined && milliseconds > 0) return;
    this.#timer?.cancel();
    const { clock, lookEvery = Infinity } = this.#settings;
    this.#timer = clock.after(Math.max(0, Math.min(milliseconds, lookEvery)), () => this.#look());
  }

  // Time until the lease is due for renewal.
  #left({ record }: H, now: Moment): Milliseconds {
    return this.#after * this.#span - record.age(now);
  }

  #look(): void {
    const { clock, refresh, ended } = this.#settings;
    this.#timer = undefined;
    const goesOn = refresh?.() ?? this.#held.size > 0;
    if (!goesOn) return;
    const now = momentOf(clock);
    let next = Infinity;
    const due = new Set<string>();
    for (const held of this.#held) {
      const left = this.#left(held, now);
      next = Math.min(next, left);
      if (left <= 0) due.add(held.reservation.queue);
      // By this clock alone: setting the wall clock must not abort all jobs.
      if (now.monotonic - held.record.leasedAt() >= this.#span) ended(held);
    }
    this.#lookIn(next > 0 ? next : LOOK * this.#span);
    for (const queue of due) if (!this.#renewing.has(queue)) void this.#renewDue(queue);
  }

  async #renewDue(queue: string): Promise<void> {
    const { clock } = this.#settings;
    this.#renewing.add(queue);
    for (let tries = 0; ; tries += 1) {
      const due = this.#olderThan((this.#after - LOOK) * this.#span).filter((held) => queueOf(held) === queue);
      const isRenewed = await this.#renew(queue, due).then(
        () => true,
        () => false,
      );
      if (isRenewed) break;
      await new Promise<void>((resolve) => {
        const timer = clock.after(pauseAfter(tries, BACKOFF), () => {
          this.#pauses.delete(timer);
          resolve();
        });
        this.#pauses.add(timer);
      });
    }
    this.#renewing.delete(queue);
  }

  /** A call under way may have been sent before some of these were due: they stay due. */
  #renew(queue: string, due: readonly H[]): Promise<void> {
    let asked = this.#asked.get(queue);
    if (asked === undefined) {
      asked = this.#renewPages(queue, due).finally(() => this.#asked.delete(queue));
      this.#asked.set(queue, asked);
      // The failure was reported, and whoever waits for this promise sees it too.
      asked.catch(() => undefined);
    }
    return asked;
  }

  // A page that the store refuses must not hold up the others.
  async #renewPages(queue: string, due: readonly H[]): Promise<void> {
    let failure: { readonly error: unknown } | undefined;
    for (const page of pagesOf(due, bytesOf)) {
      // Some jobs may have ended while the page before was under way.
      await this.#renewPage(page.filter((held) => this.#held.has(held))).catch(
        (error: unknown) => (failure = { error }),
      );
    }
    if (failure !== undefined) {
      if (due.some((held) => this.#held.has(held))) {
        if (this.#failing.size === 0) this.#settings.failed(failure.error);
        this.#failing.add(queue);
      }
      throw failure.error;
    }
    const isRecovered = this.#failing.delete(queue) && this.#failing.size === 0;
    if (isRecovered && due.length > 0) this.#settings.recovered?.();
  }

  async #renewPage(held: readonly H[]): Promise<void> {
    if (held.length === 0) return;
    const { clock, lease, renew } = this.#settings;
    const askedAt = momentOf(clock);
    const results = await renew(
      held.map(({ reservation }) => reservation),
      lease,
    );
    held.forEach((one, index) => this.#answered(one, results[index]!, askedAt));
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

const queueOf = ({ reservation }: Held): string => reservation.queue;

/** Size of a reservation in a call: its payload travels with it. */
export const bytesOf = ({ reservation }: { readonly reservation: Reservation }): number => reservation.payload.length;
