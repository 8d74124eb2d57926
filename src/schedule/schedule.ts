/** One schedule as declared: what sends which job, when, and where to. */
import { hash } from 'node:crypto';
import type { Milliseconds } from '../base/clock';
import { overlapKey } from '../payload/ties';
import type { Timing } from './timing';

export interface ScheduleParts extends Timing {
  readonly name: string;
  /** The name of the job that it sends. */
  readonly job: string;
  /** The connection, if it names one. */
  readonly connection?: string | undefined;
  readonly queue?: string | undefined;
  readonly make: () => object;
  /** Where it was declared, for display. */
  readonly origin: string;
}

export class Schedule {
  /**
   * Everything that decides what it sends, except the job's data. A process with another spec runs another version of the
   * program.
   */
  readonly spec: string;
  /** The spec, hashed. */
  readonly digest: string;
  /** The unique key that the job of an occurrence holds, so that the next occurrence can be skipped. */
  readonly overlapKey: string;

  constructor(readonly parts: ScheduleParts) {
    const { name, job, connection, queue, cadence, missed, overlap } = parts;
    const said = [
      `${cadence.text}: ${job}`,
      connection === undefined ? '' : `connection ${connection}`,
      queue === undefined ? '' : `queue ${queue}`,
      `missed ${missed.policy} within ${missed.within} s`,
      overlap === undefined ? '' : `overlap ${overlap}`,
    ];
    this.spec = said.filter((part) => part !== '').join(', ');
    this.digest = hash('sha256', this.spec, 'base64url').slice(0, 12);
    this.overlapKey = overlapKey(name);
  }

  get name(): string {
    return this.parts.name;
  }

  /** Up to `most` occurrences after `after`, up to `to`, the earliest first. */
  between(after: Milliseconds, to: Milliseconds, most: number): Milliseconds[] {
    const found: Milliseconds[] = [];
    let at = this.parts.cadence.next(after);
    while (at !== undefined && at <= to && found.length < most) {
      found.push(at);
      at = this.parts.cadence.next(at);
    }
    return found;
  }

  /** The last `most` of these. Looks back in growing steps: a short span may have millions. */
  lastBetween(after: Milliseconds, to: Milliseconds, most: number): Milliseconds[] {
    if (this.between(after, to, 1).length === 0) return [];
    for (let back = FIRST_LOOK; ; back *= 2) {
      const from = Math.max(after, to - back);
      const found = this.between(from, to, Infinity);
      if (found.length >= most || from === after) return found.slice(-most);
    }
  }
}

const FIRST_LOOK: Milliseconds = 1000;
