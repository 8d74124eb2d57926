/**
 * The slots of a worker, as many as its concurrency: held by runs, by those that rest after one, and by handlers that were
 * given up and have not come back. No handler can be ended from outside: where all slots are held so, the worker is stuck.
 */
import type { Clock, Milliseconds } from '../base/clock';
import type { Logger } from '../base/logger';
import { logStuck } from './job-log';
import type { RunningJob } from './running-job';
import type { ResolvedWorkerOptions } from './worker-options';

export interface SlotsSettings {
  readonly options: Pick<ResolvedWorkerOptions, 'concurrency' | 'rest'>;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Whether somebody starts another process in the place of one that is stuck. */
  readonly endsProcess: boolean;
  /** Called when a slot is free again. */
  readonly freed: () => void;
}

export class Slots {
  readonly #settings: SlotsSettings;
  #busy = 0;
  /** With the moments at which they began. */
  readonly #givenUp = new Map<RunningJob, Milliseconds>();
  #isTold = false;

  constructor(settings: SlotsSettings) {
    this.#settings = settings;
  }

  get busy(): number {
    return this.#busy;
  }

  get free(): number {
    return this.#settings.options.concurrency - this.#busy;
  }

  get areStuck(): boolean {
    return this.#givenUp.size >= this.#settings.options.concurrency;
  }

  take(): void {
    this.#busy += 1;
  }

  leave(): void {
    const { options, clock, freed } = this.#settings;
    const leave = (): void => {
      this.#busy -= 1;
      freed();
    };
    if (options.rest === 0) leave();
    else clock.after(options.rest * 1000, leave);
  }

  /** The outcome was recorded without the handler, which goes on. */
  giveUp(job: RunningJob, startedAt: Milliseconds): void {
    this.#givenUp.set(job, startedAt);
    job.onLateReturn = () => {
      this.#givenUp.delete(job);
      this.#isTold = false;
      this.leave();
    };
  }

  /** Says once by which jobs they are stuck, if they are. Gives a reason to end where another process follows this one. */
  stuck(): 'stuck' | undefined {
    if (!this.areStuck) return undefined;
    const { clock, logger, endsProcess } = this.#settings;
    if (!this.#isTold) {
      const now = clock.monotonic();
      const held = Array.from(this.#givenUp, ([job, since]) => ({ job, seconds: Math.round((now - since) / 1000) }));
      logStuck(logger, held, endsProcess);
    }
    this.#isTold = true;
    return endsProcess ? 'stuck' : undefined;
  }
}
