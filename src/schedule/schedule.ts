/** One schedule, as it was declared: what sends which job, when, and where to. */
import { hash } from 'node:crypto';
import type { Milliseconds } from '../base/clock';
import { uniqueKey } from '../payload/ties';
import type { Timing } from './timing';

export interface ScheduleParts extends Timing {
  readonly name: string;
  /** The name of the job that it sends. */
  readonly job: string;
  /** Where it says so itself. */
  readonly connection?: string | undefined;
  readonly queue?: string | undefined;
  readonly make: () => object;
  /** Where it was declared, for people. */
  readonly origin: string;
}

export class Schedule {
  readonly parts: ScheduleParts;
  /** All that decides what it sends, but the data of the job: who has another one has another version of the program. */
  readonly spec: string;
  /** The same, short. */
  readonly digest: string;
  /** Held by the job of an occurrence, so that the next one can be left out. */
  readonly overlapKey: string;

  constructor(parts: ScheduleParts) {
    const { name, job, connection, queue, cadence, missed, overlap } = parts;
    this.parts = parts;
    const said = [
      `${cadence.text}: ${job}`,
      connection === undefined ? '' : `connection ${connection}`,
      queue === undefined ? '' : `queue ${queue}`,
      `missed ${missed.policy} within ${missed.within} s`,
      overlap === undefined ? '' : `overlap ${overlap}`,
    ];
    this.spec = said.filter((part) => part !== '').join(', ');
    this.digest = hash('sha256', this.spec, 'base64url').slice(0, 12);
    this.overlapKey = uniqueKey('onqueue:schedule', name);
  }

  get name(): string {
    return this.parts.name;
  }

  /** Occurrences behind `after`, up to `to`, the first of them first; at most so many. */
  between(after: Milliseconds, to: Milliseconds, most: number): Milliseconds[] {
    const found: Milliseconds[] = [];
    let at = this.parts.cadence.next(after);
    while (at !== undefined && at <= to && found.length < most) {
      found.push(at);
      at = this.parts.cadence.next(at);
    }
    return found;
  }

  /** The last of those, up to so many. Looks back in steps that grow: of a short span there may be millions. */
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
