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
import { groupsOf } from '../../base/groups';
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
  /** Calls without an answer, by their queues: a queue that is asked is not asked again, and holds up no other. */
  readonly #asked = new Map<string, Promise<void>>();
  /** Queues that are asked until all their leases that were due are renewed. */
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

  /** Renews those whose lease may have ended, each queue by itself. Undefined: there are none. */
  renewEnded(): ReadonlyMap<string, Promise<void>> | undefined {
    const ended = this.#olderThan(this.#span);
    if (ended.length === 0) return undefined;
    return new Map(Array.from(groupsOf(ended, queueOf), ([queue, held]) => [queue, this.#renew(queue, held)]));
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
    for (const pause of this.#pauses) pause.cancel();
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
    let next = Infinity;
    const due = new Set<string>();
    for (const held of this.#held) {
      const left = this.#left(held, now);
      next = Math.min(next, left);
      if (left <= 0) due.add(held.reservation.queue);
      // By this clock alone: somebody who sets the other one must not have all jobs aborted.
      if (now.monotonic - held.record.leasedAt >= this.#span) ended(held);
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

  /** A call under way may have been sent before some of them were due: they are due again. */
  #renew(queue: string, due: readonly H[]): Promise<void> {
    let asked = this.#asked.get(queue);
    if (asked === undefined) {
      asked = this.#renewPages(queue, due).finally(() => this.#asked.delete(queue));
      this.#asked.set(queue, asked);
      // It was told, and who waits for it hears of it as well.
      asked.catch(() => undefined);
    }
    return asked;
  }

  // Leases that the store does not take must not keep others waiting.
  async #renewPages(queue: string, due: readonly H[]): Promise<void> {
    let failure: { readonly error: unknown } | undefined;
    for (const page of pagesOf(due, bytesOf)) {
      // Some may have ended while the page before was asked for.
      await this.#renewPage(page.filter((held) => this.#held.has(held))).catch(
        (error: unknown) => (failure = { error }),
      );
    }
    if (failure !== undefined) {
      if (due.some((held) => this.#held.has(held))) this.#fail(queue, failure.error);
      throw failure.error;
    }
    const isOver = this.#failing.delete(queue) && this.#failing.size === 0;
    if (isOver && due.length > 0) this.#settings.recovered?.();
  }

  #fail(queue: string, error: unknown): void {
    if (this.#failing.size === 0) this.#settings.failed(error);
    this.#failing.add(queue);
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

/** Their texts travel with them. */
export const bytesOf = ({ reservation }: { readonly reservation: Reservation }): number => reservation.payload.length;
