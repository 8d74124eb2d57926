/**
 * Keeps the outcomes of runs until the store has taken them and, once they are confirmed, tells the log, the job and the hooks.
 * The only writer.
 *
 * The next reserve travels in the same call.
 */
import type { Milliseconds, Timer } from '../base/clock';
import { endOfPage } from '../base/collections';
import { errorMessage } from '../base/exception-text';
import { wants } from '../base/logger';
import { FailedCap } from '../application/failed/failed-stores';
import type {
  Reservation,
  ReserveReply,
  SetAside,
  Settled,
  Settlement,
  SettleResult,
  Wanted,
} from '../connections/contract';
import { isStoreAway } from '../connections/errors';
import { isStillOurs } from '../connections/kit/connection';
import { sendOnward, type Onward } from '../connections/entries';
import type { OutcomeCounts, StoreHealth } from './health';
import { logLost, logOutcome, logRefused, logSetAside } from './job-log';
import { tellEnded, type Announcer } from './announcer';
import { LeaseLostError } from './errors';
import { isOver, refusedOutcome, unstarted, Finished, type Outcome } from './outcome';
import type { WorkerSettings } from './worker-options';
import type { RunningJob } from './running-job';
import type { Executor } from './run';
import type { LeaseKeeper } from './lease/keeper';
import type { FailedStore, Forgotten } from '../connections/failed-store';
import { hasCounters, withCounters } from '../payload/counters';
import type { Application, JobEnd } from '../connections/application';
import { keptResult } from '../job/resolve-options';
import { keepEnd } from '../operations/results';

/** How soon an outcome is sent again whose server has not answered. */
const UNANSWERED_PAUSE: Milliseconds = 1000;

/** A store that takes no outcome in either form takes nothing at all if this happens more often in a row. */
const MOST_REFUSALS = 3;

interface SettlerParts {
  readonly executor: Executor;
  readonly leases: LeaseKeeper;
  readonly store: StoreHealth;
  /** Wakes the loop: an outcome waits or is stored. */
  readonly ring: () => void;
  /** Wakes the loop: a slot is free. */
  readonly wake: () => void;
}

export class Settler {
  readonly #settings: WorkerSettings;
  readonly #parts: SettlerParts;
  readonly #announcer: Announcer;
  readonly #announcements = new Set<Promise<void>>();
  /** Undefined if failures are kept in the store of their jobs. */
  readonly #failures: KeptFailures | undefined;
  readonly #cap: FailedCap | undefined;
  /** Outcomes that were left to their leases since the store last took one. */
  #refusals = 0;
  /** Jobs whose followers were sent, until they are settled. */
  readonly #sent = new WeakSet<RunningJob>();
  // What follows is for the loop to read.
  /** Outcomes that are not on their way yet. */
  readonly ended: Finished[] = [];
  /** How many outcomes the store has not taken. */
  unsettled = 0;
  /** Outcomes of a silent server, until they are sent again. */
  readonly unanswered = new Set<Timer>();
  /** How many jobs are still being told of their outcome: they count as busy, so that slow hooks do not pile up. */
  announcing = 0;
  readonly counts: { -readonly [Kind in keyof OutcomeCounts]: number } = {
    completed: 0,
    released: 0,
    failed: 0,
    cancelled: 0,
    lost: 0,
  };

  constructor(settings: WorkerSettings, parts: SettlerParts) {
    this.#settings = settings;
    this.#parts = parts;
    this.#announcer = parts.executor.announcer;
    const { connection, failedStore } = settings;
    this.#cap = capOf(settings);
    if (failedStore !== undefined && connection.failed === undefined)
      this.#failures = new KeptFailures(settings, failedStore);
  }

  add(finished: Finished): void {
    this.unsettled += 1;
    this.ended.push(finished);
    this.#parts.ring();
  }

  /** Back to its queue without having run; by default to the head, at no cost in tries. */
  giveBack(job: RunningJob, outcome = unstarted(job)): void {
    job.endedAs = 'released';
    job.startedAt = this.#settings.application.clock.monotonic();
    this.add(new Finished(job, outcome));
  }

  /**
   * Settles up to `most` of the outcomes that wait, and then reserves what is wanted. Undefined if nothing was wanted, or if some
   * outcomes were refused; then nothing was reserved.
   *
   * @throws what the store throws when it is away; then these outcomes wait again
   */
  async exchange(most: number, wanted?: Wanted): Promise<ReserveReply | undefined> {
    const finished = this.#depart(most);
    let reply: ReserveReply | undefined;
    try {
      const isPlain = this.#failures === undefined && finished.every(needsNothing);
      reply = isPlain
        ? await this.#send(finished, finished.map(settlementOf), wanted)
        : await this.#exchangePrepared(finished, wanted);
    } catch (error) {
      this.ended.unshift(...finished);
      throw error;
    }
    // From here on the outcomes are taken.
    if (reply !== undefined) for (const one of reply.setAside) this.#setAside(one);
    return reply;
  }

  /** Takes up to `most` outcomes for one call to the store. */
  #depart(most: number): readonly Finished[] {
    if (most === 0) return [];
    const page = this.ended.splice(0, endOfPage(this.ended, textOf, 0, most));
    for (const [index, { job, outcome }] of page.entries()) {
      job.isFinal = true;
      // An error turned up that the handler had left behind.
      if (job.stray !== undefined && outcome.error === undefined)
        page[index] = new Finished(job, this.#parts.executor.judge(job));
    }
    return page;
  }

  async #exchangePrepared(
    finished: readonly Finished[],
    wanted: Wanted | undefined,
  ): Promise<ReserveReply | undefined> {
    // A failed store that is away or refuses one outcome must not keep the others from being written.
    const kept = await Promise.allSettled(finished.map((one) => this.#prepare(one)));
    const ready = finished.filter((_, index) => kept[index]!.status === 'fulfilled');
    const settlements = kept.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
    const reply = await this.#send(ready, settlements, wanted);
    for (const [index, one] of kept.entries()) {
      if (one.status !== 'rejected') continue;
      const again = isStoreAway(one.reason) ? one.reason : await this.#refused(finished[index]!, one.reason);
      if (again !== undefined) this.#untaken([finished[index]!], again);
    }
    return reply;
  }

  /**
   * Does what has to happen before the outcome is written; returns what is left to settle. @throws what either store throws
   */
  async #prepare({ job, outcome }: Finished): Promise<Settlement> {
    await keepEndOf(this.#settings.application, job, outcome);
    if (outcome.onward !== undefined) await this.#sendOnward(job, outcome.onward);
    return this.#failures?.keep(outcome.settlement) ?? outcome.settlement;
  }

  async #sendOnward(job: RunningJob, onward: readonly Onward[]): Promise<void> {
    const { connection, application, lease } = this.#settings;
    // A frozen worker may no longer hold the job: whoever holds it sends what follows.
    if (this.#sent.has(job) || !(await isStillOurs(connection, job.reservation, lease))) return;
    for (const one of onward) {
      const entry = await sendOnward(application, one);
      // Not awaited: a hook that never returns must not keep the outcome from being written.
      this.#announce(this.#announcer.tellQueued(job, one, entry));
    }
    // A failed settle is repeated, but the followers are not sent again.
    this.#sent.add(job);
  }

  /** A reserve met a payload that nobody can run, and moved it to the failed jobs of its queue. */
  #setAside(one: SetAside): void {
    logSetAside(this.#settings.application.logger, one);
    void this.#cap?.kept(one.queue);
  }

  /** Resolves when everybody has been told of the settled jobs, and failed jobs beyond the cap are removed. */
  async announced(): Promise<void> {
    while (this.#announcements.size > 0) await Promise.all(this.#announcements);
    await this.#cap?.idle();
  }

  /** Leaves outcomes that the store has not taken by now to the ends of their leases. */
  close(): void {
    for (const timer of this.unanswered) timer.cancel();
  }

  async #send(
    finished: readonly Finished[],
    settlements: readonly Settlement[],
    wanted: Wanted | undefined,
  ): Promise<ReserveReply | undefined> {
    if (settlements.length === 0 && wanted === undefined) return undefined;
    let settled: Settled;
    try {
      settled = await this.#settings.connection.exchange(settlements, wanted);
    } catch (error) {
      if (isStoreAway(error) || finished.length === 0) throw error;
      await this.#sendOneByOne(finished, settlements);
      return undefined;
    }
    for (let index = 0; index < finished.length; index += 1) this.#conclude(finished[index]!, settled.results[index]!);
    return wanted && settled.reply;
  }

  // Either one of the outcomes is the reason, or the reserve is. Sent alone, each shows whether it is the one.
  async #sendOneByOne(finished: readonly Finished[], settlements: readonly Settlement[]): Promise<void> {
    for (const [index, one] of finished.entries()) {
      try {
        this.#conclude(one, await this.#writeAlone(settlements[index]!));
      } catch (error) {
        const again = isStoreAway(error) ? error : await this.#refused(one, error);
        if (again !== undefined) return this.#untaken(finished.slice(index), again);
      }
    }
  }

  /**
   * The store refuses an outcome, but renews the job's lease: so it is the outcome that it refuses. The job fails, with what
   * fits; if that is refused as well, it is left to its lease. Returns the error if the outcome has to be written again, because
   * the store is away or takes nothing at all.
   */
  async #refused(one: Finished, refusal: unknown): Promise<unknown> {
    const { connection, lease, application } = this.#settings;
    const { job, outcome } = one;
    try {
      if (!(await isStillOurs(connection, job.reservation, lease))) {
        this.#conclude(one, 'lost');
        return undefined;
      }
      // It is still cancelled when it comes back.
      if (outcome.settlement.outcome === 'cancelled') throw refusal;
      const fitting = new Finished(job, refusedOutcome(outcome, job, refusal, application));
      const instead = await this.#writeFitting(fitting);
      logRefused(application.logger, one, refusal, instead.form);
      this.#conclude(fitting, instead.result);
    } catch (error) {
      if (isStoreAway(error)) return error;
      this.#refusals += 1;
      if (this.#refusals > MOST_REFUSALS) return refusal;
      logRefused(application.logger, one, refusal, 'left');
      this.#letGo(job);
    }
    return undefined;
  }

  async #writeFitting(
    fitting: Finished,
  ): Promise<{ readonly form: 'failed' | 'buried'; readonly result: SettleResult }> {
    try {
      return { form: 'failed', result: await this.#writeAlone(await this.#prepare(fitting)) };
    } catch (error) {
      // The failed store of another connection may refuse what its own store can still bury.
      if (isStoreAway(error) || this.#settings.connection.buried === undefined) throw error;
      return { form: 'buried', result: await this.#writeAlone(fitting.outcome.settlement) };
    }
  }

  /**
   * These have to be settled again: others were written, but the store has gone away since. If empty, only a reserve has
   * failed.
   */
  #untaken(finished: readonly Finished[], error: unknown): void {
    this.ended.push(...finished);
    this.#parts.store.failed(error, finished.length === 0 ? 'reserving' : 'settling');
  }

  async #writeAlone(settlement: Settlement): Promise<SettleResult> {
    const { results } = await this.#settings.connection.exchange([settlement]);
    return results[0]!;
  }

  #conclude(one: Finished, result: SettleResult): void {
    if (result === 'unanswered') return this.#askLater(one);
    const { job, outcome } = one;
    const { application, name } = this.#settings;
    const { logger } = application;
    this.#refusals = 0;
    this.#letGo(job);
    if (application.observers.size > 0) tellEnded(application, name, one, result);
    if (result === 'lost') {
      this.counts.lost += 1;
      logLost(logger, one);
      this.#announce(this.#failures?.takeBack(job.reservation));
      return this.#announce(this.#announcer.announceLost(job, outcome));
    }
    this.counts[outcome.settlement.outcome] += 1;
    if ((outcome.error ?? outcome.reason) !== undefined || wants(logger, 'info')) logOutcome(logger, one);
    // This may take long if very many are kept: no slot waits for it.
    if (outcome.settlement.outcome === 'failed') void this.#cap?.kept(job.queue);
    this.#announce(this.#announcer.announce(job, outcome));
  }

  /** One of the store's servers is silent: the others go on. */
  #askLater(one: Finished): void {
    const timer = this.#settings.application.clock.after(UNANSWERED_PAUSE, () => {
      this.unanswered.delete(timer);
      this.ended.push(one);
      this.#parts.ring();
    });
    this.unanswered.add(timer);
  }

  /** The outcome is written, or no longer ours to write. */
  #letGo(job: RunningJob): void {
    this.unsettled -= 1;
    this.#parts.leases.drop(job);
    this.#parts.ring();
  }

  #announce(telling: Promise<void> | undefined): void {
    if (telling === undefined) return;
    const announcement = telling.finally(() => {
      this.#announcements.delete(announcement);
      this.announcing -= 1;
      this.#parts.wake();
    });
    this.#announcements.add(announcement);
    this.announcing += 1;
  }
}

const settlementOf = ({ outcome }: Finished): Settlement => outcome.settlement;

/** Whether the outcome can be written as it is. */
const needsNothing = ({ job, outcome }: Finished): boolean =>
  (outcome.onward ?? job.kept ?? keptResult(job.definition)) === undefined;

/** Bytes that travel in addition to its token. */
const textOf = ({ outcome: { settlement }, job: { reservation } }: Finished): number =>
  settlement.outcome === 'failed' ? reservation.payload.length + settlement.failure.exception.length : 0;

// The store itself manages buried jobs.
function capOf({ connection, failedStore, application }: WorkerSettings): FailedCap | undefined {
  if (failedStore === undefined) return undefined;
  const { keptFailures: mostFailures, logger } = application;
  const failed = (error: unknown): void => {
    const message = `Failed jobs beyond the newest ${mostFailures} were not removed: ${errorMessage(error)}`;
    logger.warn({ connection: connection.name }, message);
  };
  return new FailedCap({ store: failedStore, keep: mostFailures, failed });
}

/**
 * Keeps the failed jobs of a connection that cannot keep them itself in the failed store of another connection.
 *
 * The failure is written there before the job is removed. After a crash between the two, the first step is repeated, which
 * changes nothing; a failure is never lost.
 */
export class KeptFailures {
  readonly #settings: WorkerSettings;
  readonly #failedStore: FailedStore;
  readonly #kept = new WeakMap<Reservation, Forgotten>();

  constructor(settings: WorkerSettings, failedStore: FailedStore) {
    this.#settings = settings;
    this.#failedStore = failedStore;
  }

  /** Keeps a failure, and returns the settlement that is left to write. @throws what either store throws */
  async keep(settlement: Settlement): Promise<Settlement> {
    if (settlement.outcome !== 'failed') return settlement;
    const { connection, lease } = this.#settings;
    const { reservation, failure, counters, next } = settlement;
    const removed = { outcome: 'completed', reservation, next } as const;
    // A frozen worker may no longer hold the job: a job that somebody else runs has not failed.
    if (!(await isStillOurs(connection, reservation, lease))) return removed;
    const { queue, payload: given } = reservation;
    // A payload that is not a JSON object is kept byte for byte.
    const payload = hasCounters(given) ? withCounters(given, counters) : given;
    const { attempts } = counters;
    const id = await this.#failedStore.put({ ...failure, connection: connection.name, queue, payload, attempts });
    this.#kept.set(reservation, { id, queue, payload });
    return removed;
  }

  /** The job turned out to be somebody else's, so it has not failed. Never rejects. */
  async takeBack(reservation: Reservation): Promise<void> {
    const kept = this.#kept.get(reservation);
    if (kept === undefined) return;
    const { connection, application } = this.#settings;
    try {
      await this.#failedStore.forget(kept);
    } catch (error) {
      const { id } = kept;
      const why = errorMessage(error);
      const message = `The failed job ${id} is kept although another worker has the job; it could not be removed: ${why}`;
      application.logger.warn({ connection: connection.name, id }, message);
    }
  }
}

/**
 * Keeps the result or the error of a job whose class asks for that, and what its next attempt goes on with. Written before the
 * outcome, so that it is there once the job counts as ended.
 *
 * @throws QueueUnavailableError the store that should keep it is away
 */
export async function keepEndOf(application: Application, job: RunningJob, outcome: Outcome): Promise<void> {
  try {
    await job.kept?.end(isOver(outcome));
  } catch (error) {
    if (isStoreAway(error)) throw error;
    // Whoever has the job now keeps its own.
    if (!(error instanceof LeaseLostError))
      application.report(error, { job, during: `keeping the steps of ${job.name}` });
  }
  const keep = keptResult(job.definition);
  const end = keep === undefined ? undefined : endOf(job, outcome);
  if (end !== undefined) await keepEnd(application, job, end, keep!);
}

/** Undefined if the job goes back to its queue. */
function endOf(job: RunningJob, { settlement, error, cancelReason }: Outcome): JobEnd | undefined {
  if (settlement.outcome === 'completed') return { kind: 'completed', value: job.value, isSealed: job.isEncrypted };
  if (settlement.outcome === 'cancelled') return { kind: 'cancelled', reason: cancelReason };
  return settlement.outcome === 'failed' && error !== undefined ? { kind: 'failed', error } : undefined;
}
