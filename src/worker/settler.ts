/**
 * Writes outcomes to the store, and once they are confirmed tells the log, the job and the hooks. The only writer.
 *
 * Where the driver can, the next reserve travels in the same round trip.
 */
import type { Clock, Seconds } from '../base/clock';
import type { Announcer } from './announcer';
import { errorMessage } from '../base/exception-text';
import { FailedCap } from '../application/failed/failed-cap';
import type { FailedStore } from '../connections/failed-store';
import type { Logger } from '../base/logger';
import { resultOf } from '../connections/answer';
import type {
  Answer,
  Connection,
  Reservation,
  ReserveReply,
  ReserveRequest,
  SetAside,
  Settlement,
  SettleResult,
} from '../connections/contract';
import { isStoreAway } from '../connections/errors';
import { givenBack } from '../connections/given-back';
import { logLost, logOutcome, logSetAside } from './job-log';
import type { OutcomeCounts } from './health';
import { KeptFailures } from './kept-failures';
import type { Finished } from './runs';
import { RefusedOutcomes } from './refused-outcomes';
import type { RunningJob } from './running-job';

export interface SettlerEnvironment {
  readonly connection: Connection;
  readonly announcer: Announcer;
  /** Where failed jobs go of a connection that keeps none itself. Undefined: it buries them. */
  readonly failedStore: FailedStore | undefined;
  readonly logger: Logger;
  readonly clock: Clock;
  readonly lease: Seconds;
  readonly concurrency: number;
  /** How many failed jobs are kept of each queue. */
  readonly mostFailures: number;
  /** Called for each run whose outcome is written, or is not ours to write any more. */
  readonly settled: (job: RunningJob) => void;
  /** Called with those that were not taken while others were, as the store is away since: they are to be settled again. */
  readonly untaken: (finished: readonly Finished[], error: unknown) => void;
  /** Called when a job that had somebody to tell has told them. */
  readonly announced: () => void;
}

export class Settler {
  readonly #environment: SettlerEnvironment;
  readonly #announcements = new Set<Promise<void>>();
  readonly #failures: KeptFailures;
  readonly #cap: FailedCap | undefined;
  readonly #refused: RefusedOutcomes;
  #unanswered = 0;
  readonly #counts = { completed: 0, released: 0, failed: 0, cancelled: 0, lost: 0 };

  constructor(environment: SettlerEnvironment) {
    this.#environment = environment;
    this.#cap = capOf(environment);
    this.#failures = new KeptFailures(environment);
    this.#refused = new RefusedOutcomes({
      ...environment,
      write: async (settlement) => this.#writeAlone(await this.#failures.keep(settlement)),
      bury: environment.connection.buried === undefined ? undefined : (settlement) => this.#writeAlone(settlement),
      concluded: (one, result) => this.#conclude(one, result),
      letGo: ({ job }) => environment.settled(job),
    });
  }

  /** How many jobs still hear of their outcome: they count as busy, so that slow hooks do not pile up. */
  get announcing(): number {
    return this.#announcements.size;
  }

  /** Outcomes that are on their way, while others go on: left unanswered by a part of the store, or offered again. */
  get unanswered(): number {
    return this.#unanswered + this.#refused.offered;
  }

  /** Outcomes that the store refuses for good: they are offered now and then, and nobody waits for them. */
  get held(): number {
    return this.#refused.held;
  }

  /** What an outcome was refused with last, in words. */
  get lastRefusal(): string | undefined {
    return this.#refused.lastMessage;
  }

  get counts(): OutcomeCounts {
    return { ...this.#counts };
  }

  /** Whether the driver settles and reserves in one round trip. */
  get combines(): boolean {
    return this.#environment.connection.settleAndReserve !== undefined;
  }

  /**
   * Settles, then reserves. Undefined: some were refused, and what follows from it stands in the way of a reserve.
   *
   * @throws what the store throws when it is away; then nothing of `finished` may be taken as settled
   */
  async settleAndReserve(finished: readonly Finished[], request: ReserveRequest): Promise<ReserveReply | undefined> {
    const { connection } = this.#environment;
    if (connection.settleAndReserve === undefined) throw new TypeError(`${connection.driver} cannot do both at once`);
    let reply: ReserveReply | undefined;
    await this.#settle(finished, async (settlements) => {
      if (settlements.length === 0) {
        reply = await connection.reserve(request);
        return [];
      }
      const both = await connection.settleAndReserve!(settlements, request);
      reply = both.reply;
      return both.results;
    });
    return reply;
  }

  /** Settles only. @throws what the store throws when it is away; then nothing of `finished` may be taken as settled */
  async settle(finished: readonly Finished[]): Promise<void> {
    await this.#settle(finished, async (settlements) =>
      settlements.length === 0 ? [] : this.#environment.connection.settle(settlements),
    );
  }

  /**
   * For what was reserved and is not started: back it goes, at no cost in tries; one that is refused keeps no other.
   *
   * @throws what the store throws
   */
  async giveBack(reservations: readonly Reservation[]): Promise<void> {
    if (reservations.length === 0) return;
    try {
      await this.#environment.connection.settle(reservations.map(givenBack));
    } catch (error) {
      if (isStoreAway(error) || reservations.length === 1) throw error;
      const back = await Promise.allSettled(reservations.map((reservation) => this.giveBack([reservation])));
      if (back.some(({ status }) => status === 'rejected')) throw error;
    }
  }

  /** What a reserve has met, and nobody can run, is among the failed jobs of its queue. */
  setAside(one: SetAside): void {
    logSetAside(this.#environment.logger, one);
    void this.#cap?.kept(one.queue);
  }

  /** Resolves when all that were settled have been told, and what there were too many of is removed. */
  async announced(): Promise<void> {
    while (this.#announcements.size > 0) await Promise.all(this.#announcements);
    await this.#cap?.idle();
  }

  /** What was not taken by now is left to the ends of the leases. */
  close(): void {
    this.#refused.close();
  }

  async #settle(
    finished: readonly Finished[],
    send: (settlements: readonly Settlement[]) => Promise<readonly Answer<SettleResult>[]>,
  ): Promise<void> {
    const kept = this.#failures.areElsewhere ? await this.#withFailuresKept(finished) : undefined;
    const ready = kept?.ready ?? finished;
    const settlements = kept?.settlements ?? finished.map(({ outcome }) => outcome.settlement);
    try {
      this.#confirm(ready, await send(settlements));
    } catch (error) {
      if (isStoreAway(error)) throw error;
      await this.#settleOneByOne(ready, settlements);
    }
    for (const { one, error } of kept?.unkept ?? []) this.#setApart(one, error);
  }

  // One of them is the reason, or what was to be reserved is: alone each shows whether it is the one.
  async #settleOneByOne(ready: readonly Finished[], settlements: readonly Settlement[]): Promise<void> {
    for (const [index, one] of ready.entries()) {
      try {
        this.#confirm([one], await this.#environment.connection.settle([settlements[index]!]));
      } catch (error) {
        if (isStoreAway(error)) return this.#environment.untaken(ready.slice(index), error);
        this.#refused.take(one, error);
      }
    }
  }

  #setApart(one: Finished, error: unknown): void {
    if (isStoreAway(error)) this.#environment.untaken([one], error);
    else this.#refused.take(one, error);
  }

  async #writeAlone(settlement: Settlement): Promise<SettleResult> {
    const [answer] = await this.#environment.connection.settle([settlement]);
    return resultOf(answer!);
  }

  // A failed store that is away, or refuses one, keeps no other outcome from being written.
  async #withFailuresKept(finished: readonly Finished[]): Promise<{
    readonly ready: readonly Finished[];
    readonly settlements: readonly Settlement[];
    readonly unkept: readonly { readonly one: Finished; readonly error: unknown }[];
  }> {
    const ready: Finished[] = [];
    const settlements: Settlement[] = [];
    const unkept: { one: Finished; error: unknown }[] = [];
    const kept = await Promise.allSettled(finished.map(({ outcome }) => this.#failures.keep(outcome.settlement)));
    for (const [index, result] of kept.entries()) {
      const one = finished[index]!;
      if (result.status === 'rejected') unkept.push({ one, error: result.reason as unknown });
      else {
        ready.push(one);
        settlements.push(result.value);
      }
    }
    return { ready, settlements, unkept };
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
    else this.#setApart(one, result.error);
  }

  #conclude(one: Finished, result: SettleResult): void {
    const { announcer, logger, settled } = this.#environment;
    this.#refused.taken();
    settled(one.job);
    if (result === 'lost') {
      this.#counts.lost += 1;
      logLost(logger, one);
      this.#announce(this.#failures.takeBack(one.job.reservation));
      return this.#announce(announcer.announceLost(one.job, one.outcome));
    }
    this.#counts[one.outcome.settlement.outcome] += 1;
    logOutcome(logger, one);
    // It may take long, where very many are kept: no slot waits for it.
    if (one.outcome.settlement.outcome === 'failed') void this.#cap?.kept(one.job.queue);
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

// Buried jobs are for the store to keep.
function capOf({ connection, failedStore, mostFailures, logger }: SettlerEnvironment): FailedCap | undefined {
  if (failedStore === undefined) return undefined;
  const failed = (error: unknown): void => {
    const why = errorMessage(error);
    logger.warn(
      { connection: connection.name },
      `Failed jobs beyond the newest ${mostFailures} were not removed: ${why}`,
    );
  };
  return new FailedCap({ store: failedStore, keep: mostFailures, failed });
}
