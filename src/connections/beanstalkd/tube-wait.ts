/**
 * Waits for work by a reserve that the server answers when there is some. The next reserve hands out the job that it brings;
 * if nobody waits any more, the job is given back unseen.
 */
import { sleep, type Seconds } from '../../base/clock';
import type { Listening, Wake } from '../kit/connection';
import { within } from '../kit/caller';
import { wholeSeconds } from './protocol';
import type { Reserver } from './reserver';
import type { Reservers } from './reservers';

/** Pause if no connection is left to wait on. */
const PAUSE: Seconds = 0.25;

/** The wait of all workers of these tubes. */
export class TubeWait implements Listening {
  /** How long a reserve waits on the server, even if nobody waits for it any more. */
  readonly longest: Seconds = 2;
  readonly #reservers: Reservers;
  readonly #tubes: readonly string[];
  readonly #wakes = new Set<Wake>();
  #isReserving = false;
  #isOver = false;
  /** The connection it waits on. */
  #reserver: Reserver | undefined;

  constructor(reservers: Reservers, tubes: readonly string[]) {
    this.#reservers = reservers;
    this.#tubes = tubes;
  }

  readonly listen = (wake: Wake, seconds: Seconds): (() => void) => {
    if (this.#reservers.hasAwaited(this.#tubes)) wake();
    else {
      this.#wakes.add(wake);
      if (!this.#isReserving) void this.#reserve(wholeSeconds(seconds));
    }
    return () => void this.#wakes.delete(wake);
  };

  get isIdle(): boolean {
    return this.#wakes.size === 0 && !this.#isReserving;
  }

  /** The connection closes. */
  async end(): Promise<void> {
    this.#isOver = true;
    for (const job of this.#reservers.takeAwaited(this.#tubes)) await job.reserver.giveBack(job);
    const reserver = this.#reserver;
    if (reserver === undefined) return;
    const { link, caller } = reserver;
    this.#reservers.remove(reserver);
    // The server answers a wait at once when it hears that nothing more will come.
    link.finish();
    await within(caller.settings.clock, caller.deadline, link.ended).catch(() => link.close());
  }

  async #reserve(seconds: Seconds): Promise<void> {
    this.#isReserving = true;
    try {
      const reserver = await this.#reservers.idle('no job was waited for');
      if (reserver === undefined) await sleep(this.#reservers.clock, PAUSE * 1000, false);
      else if (!this.#isOver) {
        this.#reserver = reserver;
        const job = await reserver.wait(this.#tubes, seconds);
        if (job !== undefined && this.#wakes.size > 0) this.#reservers.bring(job);
        else if (job !== undefined) await reserver.giveBack(job);
      }
    } catch {
      // The reserve that follows meets the same trouble, and reports it.
    }
    this.#reserver = undefined;
    this.#isReserving = false;
    for (const wake of [...this.#wakes]) wake();
  }
}
