/** The wall clocks of a time zone, by `Intl`. A wall time is represented by the moment at which UTC clocks show it. */
import type { Milliseconds } from '../base/clock';

const MINUTE = 60_000;
/** How far `changeAfter` looks at most: no zone changes its clocks twice within this time. */
export const FARTHEST_CHANGE: Milliseconds = 2 * 24 * 60 * MINUTE;
/** No zone sets its clocks back by more. */
const LONGEST_REPEAT: Milliseconds = 4 * 60 * MINUTE;

/** A moment when the clocks are changed. */
export interface ClockChange {
  readonly at: Milliseconds;
  readonly before: Milliseconds;
  readonly after: Milliseconds;
}

export class Zone {
  /** Undefined for UTC, which every process uses from its start: creating an `Intl` format takes a while. */
  readonly #offsets: Intl.DateTimeFormat | undefined;

  /** @throws RangeError there is no such zone */
  constructor(readonly name: string) {
    if (name !== 'UTC')
      this.#offsets = new Intl.DateTimeFormat('en-US', { timeZone: name, timeZoneName: 'longOffset' });
  }

  /** How far its clocks are ahead of UTC. */
  offsetAt(moment: Milliseconds): Milliseconds {
    if (this.#offsets === undefined) return 0;
    // `11/23/2026, GMT+05:30`; `GMT` alone is UTC, and offsets had seconds a century ago.
    const [, sign, hours = 0, minutes = 0, seconds = 0] =
      /GMT(?:([+-])(\d\d):(\d\d)(?::(\d\d))?)?$/.exec(this.#offsets.format(moment)) ?? [];
    const size = Number(hours) * 60 * MINUTE + Number(minutes) * MINUTE + Number(seconds) * 1000;
    return sign === '-' ? -size : size;
  }

  /** What its clocks show: `2027-03-28 03:00`, with seconds if they are not 0. */
  wallText(moment: Milliseconds): string {
    const wall = new Date(moment + this.offsetAt(moment)).toISOString();
    return wall.slice(0, wall.slice(17, 19) === '00' ? 16 : 19).replace('T', ' ');
  }

  /** The first change after `from`, up to `to`, or up to two days later. */
  changeAfter(from: Milliseconds, to: Milliseconds): ClockChange | undefined {
    const end = Math.min(to, from + FARTHEST_CHANGE);
    const [before, after] = [this.offsetAt(from), this.offsetAt(end)];
    if (before === after) return undefined;
    let [still, already] = [from, end];
    while (already - still > 1) {
      const middle = Math.floor((still + already) / 2);
      if (this.offsetAt(middle) === before) still = middle;
      else already = middle;
    }
    return { at: already, before, after };
  }

  /** Until when clocks repeat times that they have shown before. Undefined if they show this one for the first time. */
  repeatedUntil(moment: Milliseconds): Milliseconds | undefined {
    const change = this.changeAfter(moment - LONGEST_REPEAT, moment);
    if (change === undefined) return undefined;
    const end = change.at + change.before - change.after;
    return moment < end ? end : undefined;
  }
}
