/**
 * Renews the leases of the jobs that a worker runs, and tells a job when its lease is lost.
 *
 * The first renewal comes at a third of the lease, so that short jobs never send their text again. A renewal that the
 * store did not answer is repeated until it does or the lease has ended.
 */
import type { Clock, Seconds, Timer } from '../clock/clock';
import type { Connection } from '../queue/connection';
import { LeaseLostError } from './errors';
import type { RunningJob } from './running-job';

/** One call of a driver moves no more than this. */
const MOST_AT_ONCE = 100;

interface Lease {
  renewAt: number;
  endsAt: number;
}

export class LeaseKeeper {
  readonly #connection: Connection;
  readonly #lease: Seconds;
  readonly #clock: Clock;
  readonly #report: (error: unknown) => void;
  readonly #leases = new Map<RunningJob, Lease>();
  #timer: Timer | undefined;
  #renewing = false;

  constructor(connection: Connection, lease: Seconds, clock: Clock, report: (error: unknown) => void) {
    this.#connection = connection;
    this.#lease = lease;
    this.#clock = clock;
    this.#report = report;
  }

  /** `reservedAt`: `clock.monotonic()` from before the reserve was sent, so that our end is never later than the store's. */
  keep(job: RunningJob, reservedAt: number): void {
    if (!this.#connection.capabilities.renew) return;
    this.#leases.set(job, this.#leaseFrom(reservedAt));
    this.#timer ??= this.#clock.after(this.#third(), () => this.#tick());
  }

  /**
   * Renews those whose lease has ended, as after an outage. To be awaited before a reserve, which would reclaim them and
   * hand them out a second time.
   *
   * @throws what the store throws
   */
  async renewEnded(): Promise<void> {
    const now = this.#clock.monotonic();
    const ended: RunningJob[] = [];
    for (const [job, lease] of this.#leases) if (lease.endsAt <= now) ended.push(job);
    for (let start = 0; start < ended.length; start += MOST_AT_ONCE) {
      await this.#renewPage(ended.slice(start, start + MOST_AT_ONCE));
    }
  }

  /** How many leases are more than half over. */
  get atRisk(): number {
    const half = this.#clock.monotonic() + (this.#lease * 1000) / 2;
    let count = 0;
    for (const { endsAt } of this.#leases.values()) if (endsAt < half) count += 1;
    return count;
  }

  /** The job is settled, or about to be: from here on nobody needs its lease. */
  drop(job: RunningJob): void {
    this.#leases.delete(job);
  }

  close(): void {
    this.#leases.clear();
    this.#timer?.cancel();
    this.#timer = undefined;
  }

  #third(): number {
    return (this.#lease * 1000) / 3;
  }

  #leaseFrom(moment: number): Lease {
    return { renewAt: moment + this.#third(), endsAt: moment + this.#lease * 1000 };
  }

  // Looks often enough that no lease is renewed later than at two thirds of its span.
  #tick(): void {
    this.#timer = undefined;
    if (this.#leases.size === 0) return;
    this.#timer = this.#clock.after(this.#third() / 2, () => this.#tick());
    const now = this.#clock.monotonic();
    // Somebody else may have it from here on. It is renewed all the same: as long as nobody has, it is ours.
    for (const [job, lease] of this.#leases) if (lease.endsAt <= now) this.#abort(job);
    const due = [...this.#leases].filter(([, lease]) => lease.renewAt <= now).map(([job]) => job);
    if (due.length > 0 && !this.#renewing) void this.#renew(due);
  }

  async #renew(jobs: readonly RunningJob[]): Promise<void> {
    this.#renewing = true;
    try {
      for (let start = 0; start < jobs.length; start += MOST_AT_ONCE) {
        await this.#renewPage(jobs.slice(start, start + MOST_AT_ONCE));
      }
    } catch (error) {
      this.#report(error);
    } finally {
      this.#renewing = false;
    }
  }

  async #renewPage(jobs: readonly RunningJob[]): Promise<void> {
    const askedAt = this.#clock.monotonic();
    const reservations = jobs.map(({ reservation }) => reservation);
    const answers = await this.#connection.renew(reservations, this.#lease);
    jobs.forEach((job, index) => {
      if (!this.#leases.has(job)) return;
      if (answers[index] === 'lost') {
        this.#leases.delete(job);
        this.#abort(job);
      } else this.#leases.set(job, this.#leaseFrom(askedAt));
    });
  }

  // The handler is waited for: its outcome is refused by the store if the job is somebody else's now, and right if not.
  #abort(job: RunningJob): void {
    job.abort(new LeaseLostError(job.name, job.id), Infinity);
  }
}
