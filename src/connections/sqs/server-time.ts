/** What time it is for SQS, by the head of its answers: no clock of ours decides when a job is due. */
import { type Milliseconds, systemClock } from '../../clock/clock';

export class ServerTime {
  #ahead: Milliseconds | undefined;

  /** SQS has said what time it is. */
  get isKnown(): boolean {
    return this.#ahead !== undefined;
  }

  /** A date is cut to the second, so that what we take for now is never later than it is. */
  note(date: string | undefined): void {
    const moment = date === undefined ? NaN : Date.parse(date);
    if (!Number.isNaN(moment)) this.#ahead = moment - systemClock.now();
  }

  /** At most a second, and the time that the last answer took, behind the server. */
  now(): Milliseconds {
    return systemClock.now() + (this.#ahead ?? 0);
  }
}
