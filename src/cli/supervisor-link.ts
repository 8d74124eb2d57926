/** The link to the supervisor that started this process: reports the worker's health, and exits when told to. */
import type { JobCounters } from '../operations/figures/job-counters';
import { endOfTurn, type Milliseconds, type Timer } from '../base/clock';
import {
  type HealthReport,
  type HeldJob,
  isDeathReport,
  isEndOrder,
  type SeenDeath,
} from '../worker/supervisor/supervision';
import type { Worker } from '../worker/worker';
import type { Surroundings } from './session';

const INTERVAL: Milliseconds = 1000;

/** The shortest time between two reports: thousands of jobs may start within a second. */
const LEAST_INTERVAL: Milliseconds = 100;

/** How many running jobs a report names. */
const NAMED = 10;

export class SupervisorLink {
  readonly #surroundings: Surroundings;
  readonly #worker: Worker;
  readonly #counters: JobCounters;
  readonly #undo: (() => void)[] = [];
  #timer: Timer | undefined;
  #nextAt: Milliseconds = Infinity;
  #toldAt: Milliseconds = -Infinity;
  /** Whether the last report named jobs. */
  #hasNamed = false;
  #isOver = false;

  /** @param deaths told of processes that died at work */
  constructor(
    surroundings: Surroundings,
    worker: Worker,
    counters: JobCounters,
    deaths: (deaths: readonly SeenDeath[]) => void,
  ) {
    this.#surroundings = surroundings;
    this.#worker = worker;
    this.#counters = counters;
    const { channel, onExit, exit } = surroundings;
    if (channel === undefined) return;
    const stopHearing = channel.hear((message) => {
      if (isEndOrder(message)) exit(message.code);
      else if (isDeathReport(message)) deaths(message.deaths);
    });
    // If a handler ends the process, this last report names the job.
    this.#undo.push(
      stopHearing,
      onExit(() => this.tell()),
    );
  }

  /**
   * The first report says that the worker has started. It waits for the end of this turn, because a failed start throws within
   * it.
   */
  begin(): void {
    void endOfTurn().then(() => this.#report());
  }

  /**
   * Reports soon, or at once if the last report named no job: a job that starts may kill the process before anything else is
   * sent.
   */
  changed(): void {
    const { clock } = this.#surroundings;
    const at = this.#toldAt + LEAST_INTERVAL;
    if (!this.#hasNamed || at <= clock.monotonic()) this.#report();
    else if (at < this.#nextAt) this.#reportAt(at);
  }

  close(): void {
    this.#isOver = true;
    this.#timer?.cancel();
    for (const undo of this.#undo) undo();
  }

  #report(): void {
    if (this.#isOver) return;
    this.tell();
    this.#reportAt(this.#toldAt + INTERVAL);
  }

  #reportAt(at: Milliseconds): void {
    const { clock } = this.#surroundings;
    this.#timer?.cancel();
    this.#nextAt = at;
    this.#timer = clock.after(at - clock.monotonic(), () => this.#report());
  }

  /** Reports now. At its end the worker reports why it has ended, unless it could not start. */
  tell(): void {
    const { channel, clock } = this.#surroundings;
    this.#toldAt = clock.monotonic();
    const jobs = this.#jobs;
    this.#hasNamed = jobs.length > 0;
    const counted = this.#counters.news('supervisor');
    const health = this.#worker.health();
    const report: HealthReport = { onqueue: 'health', health, jobs, counted: counted.length > 0 ? counted : undefined };
    channel?.tell(report);
  }

  get #jobs(): readonly HeldJob[] {
    return this.#worker.running.slice(0, NAMED).map(({ name, id, queue, fence }) => ({ job: name, id, queue, fence }));
  }
}
