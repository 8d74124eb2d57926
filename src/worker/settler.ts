/**
 * Writes outcomes to the store, and once they are confirmed tells the log, the job and the hooks. The only writer.
 *
 * Where the driver can, the next reserve travels in the same round trip.
 */
import type { Clock, Seconds } from '../base/clock';
import { errorMessage } from '../base/exception-text';
import type { Logger } from '../base/logger';
import { groupsOf } from '../base/groups';
import { FailedCap } from '../application/failed/failed-cap';
import type {
  Connection,
  Reservation,
  ReserveReply,
  ReserveRequest,
  SetAside,
  Settlement,
  SettleResult,
} from '../connections/contract';
import { isStoreAway } from '../connections/errors';
import type { FailedStore } from '../connections/failed-store';
import { givenBack } from '../connections/given-back';
import type { Announcer } from './announcer';
import type { OutcomeCounts } from './health';
import { logLost, logOutcome, logSetAside } from './job-log';
import { KeptFailures } from './kept-failures';
import { RefusedOutcomes } from './refused-outcomes';
import type { Finished } from './runs';
import type { RunningJob } from './running-job';

export interface SettlerSettings {
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
  /**
   * Called with those that were not taken while others were, as the store is away since: they are to be settled again. With
   * none, where nothing but a reserve failed.
   */
  readonly untaken: (finished: readonly Finished[], error: unknown) => void;
  /** Called when a part of the store has answered that others do not wait for. */
  readonly answered: () => void;
  /** Called when a job that had somebody to tell has told them. */
  readonly announced: () => void;
}

/** What was sent along with some outcomes. */
interface Answered {
  readonly results: readonly SettleResult[];
  readonly reply?: ReserveReply;
}

export class Settler {
  readonly #settings: SettlerSettings;
  readonly #announcements = new Set<Promise<void>>();
  readonly #failures: KeptFailures;
  readonly #cap: FailedCap | undefined;
  readonly #refused: RefusedOutcomes;
  #unanswered = 0;
  readonly #counts = { completed: 0, released: 0, failed: 0, cancelled: 0, lost: 0 };

  constructor(settings: SettlerSettings) {
    this.#settings = settings;
    this.#cap = capOf(settings);
    this.#failures = new KeptFailures(settings);
    const { connection } = settings;
    this.#refused = new RefusedOutcomes({
      ...settings,
      write: async (settlement) => this.#writeAlone(await this.#failures.keep(settlement)),
      bury: connection.buried === undefined ? undefined : (settlement) => this.#writeAlone(settlement),
      concluded: (one, result) => this.#conclude(one, result),
      letGo: ({ job }) => settings.settled(job),
    });
  }

  /** How many jobs still hear of their outcome: they count as busy, so that slow hooks do not pile up. */
  get announcing(): number {
    return this.#announcements.size;
  }

  /** Outcomes that are on their way, while others go on: in calls that nobody waits for, or offered again. */
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

  /** Whether what has ended is settled with the next reserve, or beside it. */
  get combines(): boolean {
    const { connection } = this.#settings;
    return connection.settleAndReserve !== undefined || connection.isDivided === true;
  }

  /**
   * Settles, and then reserves what `request` asks for. Undefined: nothing was asked for, or some outcomes were refused, or
   * the reserve of a divided connection was, and nothing was reserved.
   *
   * @throws what the store throws when it is away; then nothing of `finished` may be taken as settled
   */
  async settle(finished: readonly Finished[], request?: ReserveRequest): Promise<ReserveReply | undefined> {
    const { connection } = this.#settings;
    if (connection.isDivided !== true) return this.#settle(finished, request);
    for (const ended of groupsOf(finished, ({ job }) => job.queue).values()) void this.#settleApart(ended);
    try {
      return request && (await connection.reserve(request));
    } catch (error) {
      // Thrown, it would have all of them settled a second time.
      this.#settings.untaken([], error);
      return undefined;
    }
  }

  /** Settles one queue, while others go on. */
  async #settleApart(finished: readonly Finished[]): Promise<void> {
    const { untaken, answered } = this.#settings;
    this.#unanswered += finished.length;
    const failure = await this.#settle(finished).then(
      () => undefined,
      (error: unknown) => ({ error }),
    );
    this.#unanswered -= finished.length;
    if (failure === undefined) answered();
    else untaken(finished, failure.error);
  }

  async #settle(finished: readonly Finished[], request?: ReserveRequest): Promise<ReserveReply | undefined> {
    if (!this.#failures.areElsewhere) {
      return this.#send(
        finished,
        finished.map(({ outcome }) => outcome.settlement),
        request,
      );
    }
    // A failed store that is away, or refuses one, keeps no other outcome from being written.
    const kept = await Promise.allSettled(finished.map(({ outcome }) => this.#failures.keep(outcome.settlement)));
    const ready = finished.filter((_, index) => kept[index]!.status === 'fulfilled');
    const settlements = kept.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
    const reply = await this.#send(ready, settlements, request);
    for (const [index, one] of kept.entries()) {
      if (one.status === 'rejected') this.#notWritten(finished[index]!, one.reason);
    }
    return reply;
  }

  /**
   * For what was reserved and is not started: back it goes, at no cost in tries; one that is refused keeps no other.
   *
   * @throws what the store throws
   */
  async giveBack(reservations: readonly Reservation[]): Promise<void> {
    if (reservations.length === 0) return;
    try {
      await this.#settings.connection.settle(reservations.map(givenBack));
    } catch (error) {
      if (isStoreAway(error) || reservations.length === 1) throw error;
      const back = await Promise.allSettled(reservations.map((reservation) => this.giveBack([reservation])));
      if (back.some(({ status }) => status === 'rejected')) throw error;
    }
  }

  /** What a reserve has met, and nobody can run, is among the failed jobs of its queue. */
  setAside(one: SetAside): void {
    logSetAside(this.#settings.logger, one);
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

  async #send(
    finished: readonly Finished[],
    settlements: readonly Settlement[],
    request: ReserveRequest | undefined,
  ): Promise<ReserveReply | undefined> {
    let answered: Answered;
    try {
      answered = await this.#exchange(settlements, request);
    } catch (error) {
      if (isStoreAway(error) || finished.length === 0) throw error;
      await this.#sendOneByOne(finished, settlements);
      return undefined;
    }
    this.#confirm(finished, answered.results);
    return answered.reply;
  }

  async #exchange(settlements: readonly Settlement[], request: ReserveRequest | undefined): Promise<Answered> {
    const { connection } = this.#settings;
    if (request === undefined) {
      return { results: settlements.length === 0 ? [] : await connection.settle(settlements) };
    }
    if (settlements.length === 0) return { results: [], reply: await connection.reserve(request) };
    return connection.settleAndReserve!(settlements, request);
  }

  // One of them is the reason, or what was to be reserved is: alone each shows whether it is the one.
  async #sendOneByOne(finished: readonly Finished[], settlements: readonly Settlement[]): Promise<void> {
    for (const [index, one] of finished.entries()) {
      try {
        this.#confirm([one], await this.#settings.connection.settle([settlements[index]!]));
      } catch (error) {
        if (isStoreAway(error)) return this.#settings.untaken(finished.slice(index), error);
        this.#refused.take(one, error);
      }
    }
  }

  #notWritten(one: Finished, error: unknown): void {
    if (isStoreAway(error)) this.#settings.untaken([one], error);
    else this.#refused.take(one, error);
  }

  async #writeAlone(settlement: Settlement): Promise<SettleResult> {
    const [result] = await this.#settings.connection.settle([settlement]);
    return result!;
  }

  #confirm(finished: readonly Finished[], results: readonly SettleResult[]): void {
    for (let index = 0; index < finished.length; index += 1) this.#conclude(finished[index]!, results[index]!);
  }

  #conclude(one: Finished, result: SettleResult): void {
    const { job, outcome } = one;
    const { announcer, logger, settled } = this.#settings;
    this.#refused.taken();
    settled(job);
    if (result === 'lost') {
      this.#counts.lost += 1;
      logLost(logger, one);
      this.#announce(this.#failures.takeBack(job.reservation));
      return this.#announce(announcer.announceLost(job, outcome));
    }
    this.#counts[outcome.settlement.outcome] += 1;
    logOutcome(logger, one);
    // It may take long, where very many are kept: no slot waits for it.
    if (outcome.settlement.outcome === 'failed') void this.#cap?.kept(job.queue);
    this.#announce(announcer.announce(job, outcome));
  }

  #announce(telling: Promise<void> | undefined): void {
    if (telling === undefined) return;
    const announcement = telling.finally(() => {
      this.#announcements.delete(announcement);
      this.#settings.announced();
    });
    this.#announcements.add(announcement);
  }
}

// Buried jobs are for the store to keep.
function capOf({ connection, failedStore, mostFailures, logger }: SettlerSettings): FailedCap | undefined {
  if (failedStore === undefined) return undefined;
  const failed = (error: unknown): void => {
    const message = `Failed jobs beyond the newest ${mostFailures} were not removed: ${errorMessage(error)}`;
    logger.warn({ connection: connection.name }, message);
  };
  return new FailedCap({ store: failedStore, keep: mostFailures, failed });
}
