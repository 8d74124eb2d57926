/**
 * Keeps the leases of a worker's jobs, and tells a job when its lease has ended or is lost, or when it is cancelled.
 *
 * Where the store can be reached from a thread, one thread for all workers of the process renews the leases, so that a
 * handler that blocks the event loop loses neither its own lease nor those of its neighbours. The event loop watches the
 * same leases, and renews those that the thread has not renewed for half of their span, because it failed or ended. Without
 * a thread, the event loop renews all of them.
 */
import { existsSync } from 'node:fs';
import {
  pauseAfter,
  sleep,
  momentOf,
  systemClock,
  type Clock,
  type Milliseconds,
  type Moment,
  type Seconds,
  type Timer,
} from '../../base/clock';
import { usualFormat, type LogFormat, type Logger } from '../../base/logger';
import type { Connection, Reservation, Control } from '../../connections/contract';
import { JobCancelledError, LeaseLostError } from '../errors';
import { PROGRAM, LeaseLink, type Heard } from './link';
import { LeaseTable, type LeaseRecord } from './record';
import { BACKOFF, bytesOf, LeaseRenewal, THIRD, type Held } from './renewal';
import type { Lease, RunningJob } from '../running-job';
import { pagesOf } from '../../base/collections';

export interface LeaseKeeperSettings {
  readonly connection: Connection;
  readonly lease: Seconds;
  readonly clock: Clock;
  readonly logger: Logger;
  /** How long a cancelled job may take to return. */
  readonly grace: Seconds;
  /** Whether the process may be ended when a handler blocks its event loop past timeout and grace. Default false. */
  readonly endsProcess?: boolean | undefined;
  /** The format of log lines on standard error. Default: as the default logger chooses it. */
  readonly log?: LogFormat | undefined;
  /** Called when leases are renewed on whose account queues were left out. */
  readonly renewed?: (() => void) | undefined;
  /** Called when renewals fail, once per streak. */
  readonly report: (error: unknown) => void;
  /** Called when such a streak is over. */
  readonly recovered?: (() => void) | undefined;
}

/** Part of a lease after which the event loop renews it in place of the thread. */
const HALF = 1 / 2;

export class LeaseKeeper {
  readonly #settings: LeaseKeeperSettings;
  readonly #table: LeaseTable;
  readonly #renewal: LeaseRenewal<HeldJob>;
  readonly #cancels: CancelWatch | undefined;
  #link: LeaseLink | undefined;
  /** Renewals that somebody is told of when they end. */
  readonly #heard = new WeakSet<Promise<void>>();

  constructor(settings: LeaseKeeperSettings) {
    const { connection, lease, clock, report, recovered } = settings;
    this.#settings = settings;
    this.#table = new LeaseTable(momentOf(clock));
    this.#link = this.#newLink();
    this.#renewal = new LeaseRenewal<HeldJob>({
      lease,
      after: this.#link === undefined ? THIRD : HALF,
      clock,
      renew: (reservations, seconds) => connection.renew!(reservations, seconds),
      lost: (held) => this.#lose(held),
      cancelled: (held) => this.#hearCancelled(held),
      // From here on somebody else may take the job. We keep renewing: until somebody has taken it, it is ours. A job that
      // has not started waits until the store has said whose it is.
      ended: ({ job }) => {
        if (job.handler !== 'not-called') abortAsLost(job);
      },
      failed: report,
      recovered,
    });
    const { control } = connection;
    if (control?.cancelled !== undefined)
      this.#cancels = new CancelWatch(clock, (reservations) => control.cancelled!(reservations), this.#renewal.held);
  }

  /**
   * Takes all jobs of one reserve, before the first of their handlers starts: it may block the event loop at once.
   *
   * `reservedAt`: the moment before the reserve was sent, so that the lease's end as we know it is never later than the
   * store's.
   */
  keep(jobs: readonly RunningJob[], reservedAt: Moment): void {
    if (this.#settings.connection.renew === undefined || jobs.length === 0) return;
    const held = jobs.map((job) => {
      const record = this.#table.take(reservedAt);
      return (job.lease = new HeldJob(job, record, this.#renewal, this.#settings));
    });
    this.#renewal.keep(held);
    this.#link?.keep(held);
    this.#cancels?.start();
  }

  /**
   * Renews the leases that have ended, for example after an outage, and gives their queues: a reserve has to leave them out until
   * then, or it would reclaim their jobs and hand them out a second time. If these would be all of `queues`, waits for the first
   * renewal. Undefined if there are none.
   */
  leftOut(queues: readonly string[]): Promise<ReadonlySet<string>> | undefined {
    const renewals = this.#renewal.renewEnded();
    return renewals && this.#leftOut(renewals, queues);
  }

  /** How many leases are more than half over. */
  atRisk(): number {
    return this.#renewal.atRisk();
  }

  /** The job is settled: nobody needs its lease any more. */
  drop(job: RunningJob): void {
    if (job.lease !== undefined) this.#forget(job.lease as HeldJob);
  }

  /** Ends within a deadline, and leaves no timer and no thread behind. */
  async close(): Promise<void> {
    this.#renewal.close();
    this.#cancels?.close();
    await this.#link?.close();
  }

  async #leftOut(
    renewals: ReadonlyMap<string, Promise<void>>,
    queues: readonly string[],
  ): Promise<ReadonlySet<string>> {
    for (const renewal of renewals.values()) {
      // Each reserve finds the same renewal here until the store answers it.
      if (this.#heard.has(renewal)) continue;
      this.#heard.add(renewal);
      renewal.then(this.#settings.renewed, () => undefined);
    }
    if (renewals.size < queues.length) return new Set(renewals.keys());
    await Promise.race(renewals.values());
    return new Set(this.#renewal.renewEnded()?.keys());
  }

  #newLink(): LeaseLink | undefined {
    const { connection, lease, clock, logger, endsProcess = false, log = usualFormat(process.stderr) } = this.#settings;
    const { threadAccess } = connection;
    // A store in this thread (memory) stands still together with its workers. A clock that a test moves does not move the
    // thread's clock.
    if (connection.renew === undefined || threadAccess === null || clock !== systemClock) return undefined;
    const missing = threadAccess && [PROGRAM, threadAccess.module].find((file) => !existsSync(file));
    if (threadAccess !== undefined && missing === undefined) {
      const heard = (message: Heard): void => this.#hear(message);
      const gone = (why: string): void => this.#doWithout(why);
      return new LeaseLink({ threadAccess, lease, table: this.#table, endsProcess, log, heard, gone });
    }
    const why = missing === undefined ? 'the driver gives a thread no access' : `${missing} is not there`;
    logger.info(
      { connection: connection.name, driver: connection.driver },
      `Leases on ${connection.name} are renewed from the event loop (${why}): ` +
        'a handler that blocks it for longer than retryAfter loses its lease.',
    );
    return undefined;
  }

  #hear(message: Heard): void {
    const { connection, logger, report, recovered } = this.#settings;
    switch (message.kind) {
      case 'failed':
        return report(new Error(message.message));
      case 'recovered':
        return recovered?.();
      case 'lost':
        return this.#lose(this.#find(message.number));
      case 'cancelled':
        return this.#hearCancelled(this.#find(message.number));
      case 'blocked': {
        const { account, numbers } = message;
        if (account !== undefined) logger.error({ connection: connection.name, jobs: numbers.length }, account);
        for (const number of numbers) this.#lose(this.#find(number));
      }
    }
  }

  #doWithout(why: string): void {
    const { connection, logger } = this.#settings;
    this.#link = undefined;
    logger.warn(
      { connection: connection.name },
      `The thread that renewed the leases on ${connection.name} is gone (${why}). They are renewed from the event loop ` +
        'from here on: a handler that blocks it for longer than retryAfter loses its lease.',
    );
    this.#renewal.renewAfter(THIRD);
  }

  // The thread's message may arrive after the job was settled.
  #find(number: number): HeldJob | undefined {
    for (const held of this.#renewal.held) if (held.number === number) return held;
    return undefined;
  }

  #lose(held: HeldJob | undefined): void {
    if (held === undefined) return;
    this.#forget(held);
    abortAsLost(held.job);
  }

  #forget(held: HeldJob): void {
    // From here on its record may belong to another job.
    held.job.lease = undefined;
    this.#renewal.drop(held);
    this.#table.leave(held.record);
  }

  // A renewal says only that the job is cancelled; the watch also finds out why.
  #hearCancelled(held: HeldJob | undefined): void {
    if (held === undefined || held.isCancelled) return;
    if (this.#cancels === undefined) held.cancel();
    else void this.#cancels.hear(held);
  }
}

/** The thread sees the number as 31 bits. */
const LARGEST_NUMBER = 2 ** 31 - 1;

let numbers = 0;

class HeldJob implements Held, Lease {
  position: number | undefined;
  readonly job: RunningJob;
  /** From 1. */
  readonly number = (numbers = (numbers % LARGEST_NUMBER) + 1);
  readonly reservation: Reservation;
  readonly record: LeaseRecord;
  isCancelled = false;
  readonly #renewal: LeaseRenewal<HeldJob>;
  readonly #settings: LeaseKeeperSettings;

  constructor(job: RunningJob, record: LeaseRecord, renewal: LeaseRenewal<HeldJob>, settings: LeaseKeeperSettings) {
    this.job = job;
    this.reservation = job.reservation;
    this.record = record;
    this.#renewal = renewal;
    this.#settings = settings;
  }

  confirm(): Promise<void> | undefined {
    return this.#renewal.mayHaveEnded(this) ? this.#confirmed() : undefined;
  }

  foresee(within: Milliseconds, delay: Seconds): void {
    this.record.foresee(this.#settings.clock.monotonic() + within, delay);
  }

  end(): void {
    this.record.end();
  }

  /**
   * May be called again: a second abort would grant another grace. The job may have been settled meanwhile.
   *
   * @param told the reason, if the store knows one
   */
  cancel(told?: boolean | string): void {
    const { job } = this;
    if (this.isCancelled || job.lease !== this) return;
    this.isCancelled = true;
    const reason = typeof told === 'string' ? told : undefined;
    job.abort(new JobCancelledError(job.name, job.id, reason), this.#settings.grace);
  }

  async #confirmed(): Promise<void> {
    const { job, reservation } = this;
    const { clock, report } = this.#settings;
    const isOpen = (): boolean =>
      job.lease === this && job.abortReason === undefined && this.#renewal.mayHaveEnded(this);
    for (let tries = 0; isOpen(); tries += 1) {
      await this.#renewal.renewEnded()?.get(reservation.queue)?.catch(report);
      if (isOpen()) await sleep(clock, pauseAfter(tries, BACKOFF), false);
    }
  }
}

// We wait for the handler. If the job is somebody else's by then, the store refuses the outcome; if not, the outcome is
// right.
function abortAsLost(job: RunningJob): void {
  job.abort(new LeaseLostError(job.name, job.id), Infinity);
}

/** A job that began just after a look is asked about in the second look after it. */
const BETWEEN_LOOKS: Milliseconds = 450;

/**
 * Tells running jobs within a second that they were cancelled: a renewal would do so up to a third of the lease later.
 *
 * Asks the store only about jobs that have run for a while, so that short jobs cost nothing.
 */
class CancelWatch {
  readonly #clock: Clock;
  readonly #ask: NonNullable<Control['cancelled']>;
  readonly #held: Iterable<HeldJob>;
  /** Those that the last look saw. */
  #seen = new Set<HeldJob>();
  #timer: Timer | undefined;
  #closed = false;

  constructor(clock: Clock, ask: NonNullable<Control['cancelled']>, held: Iterable<HeldJob>) {
    this.#clock = clock;
    this.#ask = ask;
    this.#held = held;
  }

  /** To be called when a job is held. */
  start(): void {
    if (this.#closed) return;
    this.#timer ??= this.#clock.after(BETWEEN_LOOKS, () => void this.#look());
  }

  /** A renewal noticed the cancellation before a look did, but does not know the reason. */
  async hear(held: HeldJob): Promise<void> {
    const [answer] = await this.#ask([held.reservation]).catch(() => []);
    held.cancel(answer);
  }

  close(): void {
    this.#closed = true;
    this.#timer?.cancel();
  }

  async #look(): Promise<void> {
    const longer = [...this.#held].filter((held) => this.#seen.has(held));
    this.#seen = new Set(this.#held);
    try {
      for (const page of pagesOf(longer, bytesOf)) {
        const answers = await this.#ask(page.map(({ reservation }) => reservation));
        for (const [index, held] of page.entries())
          if ((answers[index] ?? false) !== false) held.cancel(answers[index]);
      }
    } catch {
      // The renewal reports a store that is away, and notices cancellations too.
    }
    this.#timer = undefined;
    if (this.#seen.size > 0) this.start();
  }
}
