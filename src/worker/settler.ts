/**
 * Writes outcomes to the store, and once they are confirmed tells the log, the job and the hooks. The only writer.
 *
 * Where the driver can, the next reserve travels in the same round trip.
 */
import type { Announcer } from './announcer';
import type { FailedStore } from '../failed/failed-store';
import type { Logger } from '../logger/logger';
import { afterFreeRelease, bearsCounters, withCounters } from '../payload/counters';
import type {
  Answer,
  Connection,
  Reservation,
  ReserveReply,
  ReserveRequest,
  Settlement,
  SettleResult,
} from '../queue/connection';
import { logLost, logOutcome } from './job-log';
import type { OutcomeCounts } from './health';
import type { Outcome } from './outcome';
import type { RunningJob } from './running-job';

/** A run that has ended and waits to be settled. */
export interface Finished {
  readonly job: RunningJob;
  readonly outcome: Outcome;
  /** Milliseconds that it ran. */
  readonly took: number;
}

export interface SettlerEnvironment {
  readonly connection: Connection;
  readonly announcer: Announcer;
  /** Where failed jobs go of a connection that keeps none itself. Undefined: it buries them. */
  readonly failedStore: FailedStore | undefined;
  readonly logger: Logger;
  /** Called for each run whose outcome is written, or was refused. */
  readonly settled: (job: RunningJob) => void;
  /** Called for each whose outcome a part of the store has left unanswered, and now will not take: it is to be settled again. */
  readonly untaken: (finished: Finished, error: unknown) => void;
  /** Called when a job that had somebody to tell has told them. */
  readonly announced: () => void;
}

export class Settler {
  readonly #environment: SettlerEnvironment;
  readonly #announcements = new Set<Promise<void>>();
  #unanswered = 0;
  readonly #counts = { completed: 0, released: 0, failed: 0, cancelled: 0, lost: 0 };

  constructor(environment: SettlerEnvironment) {
    this.#environment = environment;
  }

  /** How many jobs still hear of their outcome: they count as busy, so that slow hooks do not pile up. */
  get announcing(): number {
    return this.#announcements.size;
  }

  /** Outcomes that a part of the store has left unanswered, while others go on. */
  get unanswered(): number {
    return this.#unanswered;
  }

  get counts(): OutcomeCounts {
    return { ...this.#counts };
  }

  /** Whether the driver settles and reserves in one round trip. */
  get combines(): boolean {
    return this.#environment.connection.settleAndReserve !== undefined;
  }

  /** Settles, then reserves. @throws what the store throws; then nothing of `finished` may be taken as settled. */
  async settleAndReserve(finished: readonly Finished[], request: ReserveRequest): Promise<ReserveReply> {
    const { connection } = this.#environment;
    if (connection.settleAndReserve === undefined) throw new TypeError(`${connection.driver} cannot do both at once`);
    const settlements = this.#own(finished) ?? (await this.#withFailuresKept(finished));
    const { results, reply } = await connection.settleAndReserve(settlements, request);
    this.#confirm(finished, results);
    return reply;
  }

  /** Settles only. @throws what the store throws; then nothing of `finished` may be taken as settled. */
  async settle(finished: readonly Finished[]): Promise<void> {
    const settlements = this.#own(finished) ?? (await this.#withFailuresKept(finished));
    this.#confirm(finished, await this.#environment.connection.settle(settlements));
  }

  /** For what was reserved and is not started: back it goes, at no cost in tries. @throws what the store throws */
  async giveBack(reservations: readonly Reservation[]): Promise<void> {
    if (reservations.length === 0) return;
    const settlements = reservations.map((reservation) => {
      const counters = afterFreeRelease(reservation.counters);
      return { outcome: 'released', reservation, delay: 0, counters } as const;
    });
    await this.#environment.connection.settle(settlements);
  }

  /** Resolves when all that were settled have been told. */
  async announced(): Promise<void> {
    while (this.#announcements.size > 0) await Promise.all(this.#announcements);
  }

  // Undefined: failures go to a store of their own first.
  #own(finished: readonly Finished[]): readonly Settlement[] | undefined {
    const { connection, failedStore } = this.#environment;
    if (!connection.capabilities.failed && failedStore !== undefined) return undefined;
    return finished.map(({ outcome }) => outcome.settlement);
  }

  // A failure is first written to the store of failed jobs, then the job is removed: a crash between the two repeats
  // the first step, which changes nothing, and never loses the failure.
  async #withFailuresKept(finished: readonly Finished[]): Promise<readonly Settlement[]> {
    const { connection, failedStore } = this.#environment;
    return Promise.all(
      finished.map(async ({ outcome: { settlement } }) => {
        if (settlement.outcome !== 'failed') return settlement;
        const { reservation, failure, counters } = settlement;
        const { queue } = reservation;
        // What is no JSON object is kept with the bytes that it has.
        const given = reservation.payload;
        const payload = bearsCounters(given) ? withCounters(given, counters) : given;
        const { attempts } = counters;
        await failedStore!.put({ ...failure, connection: connection.name, queue, payload, attempts });
        return { outcome: 'completed', reservation } as const;
      }),
    );
  }

  #confirm(finished: readonly Finished[], answers: readonly Answer<SettleResult>[]): void {
    finished.forEach((one, index) => {
      const answer = answers[index]!;
      if (typeof answer === 'string') this.#conclude(one, answer);
      else void this.#confirmLater(one, answer.later);
    });
  }

  async #confirmLater(one: Finished, later: Promise<SettleResult>): Promise<void> {
    this.#unanswered += 1;
    const result = await later.catch((error: unknown) => ({ error }));
    this.#unanswered -= 1;
    if (typeof result === 'string') this.#conclude(one, result);
    else this.#environment.untaken(one, result.error);
  }

  #conclude(one: Finished, result: SettleResult): void {
    const { announcer, logger, settled } = this.#environment;
    settled(one.job);
    if (result === 'lost') {
      this.#counts.lost += 1;
      logLost(logger, one);
      return this.#announce(announcer.announceLost(one.job, one.outcome));
    }
    this.#counts[one.outcome.settlement.outcome] += 1;
    logOutcome(logger, one);
    this.#announce(announcer.announce(one.job, one.outcome));
  }

  #announce(telling: Promise<void> | undefined): void {
    if (telling === undefined) return;
    const announcement = telling.finally(() => {
      this.#announcements.delete(announcement);
      this.#environment.announced();
    });
    this.#announcements.add(announcement);
  }
}
