/** When a schedule comes up: at the times of a cron text in a time zone, or at the multiples of a span since 1970. */
import { Cron } from 'croner';
import type { Milliseconds } from '../base/clock';
import { nearest } from '../base/nearest';
import { durationSeconds } from '../job/duration';
import type { Kind, Place } from '../job/option-kinds';
import { FARTHEST_CHANGE, Zone } from './zone';

export interface Cadence {
  /** For people, and to tell one from another: `0 3 * * * (Europe/Amsterdam)`, `every 900 s`. */
  readonly text: string;
  readonly zone: Zone;
  /** The first occurrence behind a moment; undefined: there is none any more. */
  next(after: Milliseconds): Milliseconds | undefined;
}

export const UTC = new Zone('UTC');

/** What is known of a zone takes a hundred kilobytes, and many schedules are of one. */
const zones = new Map<string, Zone>();

/** Of croner: seconds are none of cron's. */
const OPTIONS = { timezone: 'UTC', paused: true, mode: '5-part' } as const;

/** Five fields, or such as `@daily`. */
const SHAPE = /^(?:@\w+|\s*\S+(?:\s+\S+){4}\s*)$/;

/** Any moment: a text that has no time behind it has none at all. */
const LONG_AGO = Date.UTC(2000, 0, 1);

const SECOND: Milliseconds = 1000;

/** An hour that is said as such: `3`, `2,14`. Not `*`, `8-18` or `*` by steps. */
const FIXED_HOURS = /^(?:\d{1,2},)*\d{1,2}$/;

/** Those of croner that stand for more than one time a day. */
const HOURLY = /^@hourly$/i;

/**
 * croner is asked what times of the calendar a text means, by clocks that never change. What becomes of them where clocks do is
 * decided here: a fixed time that is left out comes up once, right when the clocks have changed; one that occurs twice comes up the
 * first time. Times of hours that are `*` or a range come up as often as clocks show them.
 */
export class CronCadence implements Cadence {
  readonly text: string;
  readonly zone: Zone;
  readonly #cron: Cron;
  readonly #isFixed: boolean;
  /** The last answer: the same is asked for time and again, and to find it takes a tenth of a millisecond. */
  #known: { readonly after: Milliseconds; readonly next: Milliseconds | undefined } | undefined;

  /** @throws what croner throws of a text that is none */
  constructor(cron: string, zone: Zone) {
    this.text = `${cron} (${zone.name})`;
    this.zone = zone;
    this.#cron = new Cron(cron, OPTIONS);
    this.#isFixed = cron.startsWith('@') ? !HOURLY.test(cron) : FIXED_HOURS.test(cron.trim().split(/\s+/)[1] ?? '');
  }

  next(after: Milliseconds): Milliseconds | undefined {
    const known = this.#known;
    if (known !== undefined && known.after <= after && after < (known.next ?? Infinity)) return known.next;
    const next = this.#find(after + 1);
    this.#known = { after, next };
    return next;
  }

  #find(start: Milliseconds): Milliseconds | undefined {
    let from = start;
    if (this.#isFixed) from = this.zone.repeatedUntil(from) ?? from;
    for (;;) {
      const offset = this.zone.offsetAt(from);
      const wall = this.#wallFrom(from + offset);
      if (wall === undefined) return undefined;
      const match = wall - offset;
      const change = match > from ? this.zone.changeAfter(from, match) : undefined;
      if (change !== undefined) {
        // Nothing comes up before it. What the clocks leave out, and what they show again, lies on either side of it.
        if (this.#isFixed && wall < change.at + change.after) return change.at;
        from = this.#isFixed ? Math.max(change.at, change.at + change.before - change.after) : change.at;
      } else if (match - from > FARTHEST_CHANGE) from = match - FARTHEST_CHANGE;
      else return match;
    }
  }

  /** The first time that is meant, at this wall time or behind it. */
  #wallFrom(wall: Milliseconds): Milliseconds | undefined {
    return this.#cron.nextRun(new Date(Math.ceil(wall / SECOND) * SECOND - SECOND))?.getTime();
  }
}

export class SpanCadence implements Cadence {
  readonly text: string;
  readonly zone = UTC;
  readonly #span: Milliseconds;

  constructor(span: Milliseconds) {
    this.text = `every ${span / SECOND} s`;
    this.#span = span;
  }

  next(after: Milliseconds): Milliseconds {
    return (Math.floor(after / this.#span) + 1) * this.#span;
  }
}

/** @throws what `place` makes of a text that is no cron, or that never comes up */
export function cronIn(text: unknown, zone: Zone, place: Place): Cadence {
  if (typeof text !== 'string') throw place.refuse(text, "give a cron text such as '0 3 * * *'");
  if (text.trim().split(/\s+/).length === 6)
    throw place.refuse(text, "a cron has five fields, and no seconds; for a span of seconds, give every('10s')");
  const fields = "give five fields, as in '0 3 * * *': minute, hour, day, month, weekday";
  let cadence: CronCadence;
  try {
    cadence = new CronCadence(text, zone);
  } catch (error) {
    const problem = error instanceof Error ? error.message.replace(/^CronPattern: /, '') : String(error);
    throw place.refuse(text, `${fields} (${problem})`);
  }
  // croner takes the text of a moment as well.
  if (!SHAPE.test(text)) throw place.refuse(text, fields);
  if (cadence.next(LONG_AGO) !== undefined) return cadence;
  throw place.refuse(text, 'it never comes up: there is no such day in the calendar');
}

export const zone: Kind<Zone> = (name, place) => {
  try {
    if (typeof name === 'string' && name !== '') {
      const found = zones.get(name) ?? new Zone(name);
      zones.set(name, found);
      return found;
    }
  } catch {
    // Said below.
  }
  const [meant] = typeof name === 'string' ? nearest(name, Intl.supportedValuesOf('timeZone'), 1) : [];
  throw place.refuse(name, `give the name of a time zone, such as '${meant ?? 'Europe/Amsterdam'}'`);
};

/** @throws E_INVALID_DURATION, and what `place` makes of a span that is too short, or no whole number of milliseconds */
export const span: Kind<Cadence> = (value, place) => {
  const length = durationSeconds(value, place.subject) * SECOND;
  if (length >= SECOND && Number.isInteger(length)) return new SpanCadence(length);
  throw place.refuse(value, 'give one second or more');
};
