/** When a schedule is due: at the times of a cron text in a time zone, or at multiples of a span since 1970. */
import { Cron } from 'croner';
import type { Milliseconds } from '../base/clock';
import { nearest } from '../base/text';
import { durationSeconds } from '../job/duration';
import type { Kind, Place } from '../job/option-kinds';
import { FARTHEST_CHANGE, Zone } from './zone';

export interface Cadence {
  /** For display, and to compare cadences: `0 3 * * * (Europe/Amsterdam)`, `every 900 s`. */
  readonly text: string;
  readonly zone: Zone;
  /** The first occurrence after a moment. Undefined if there is none any more. */
  next(after: Milliseconds): Milliseconds | undefined;
}

export const UTC = new Zone('UTC');

/** The data of a zone take a hundred kilobytes, and many schedules share one. */
const zones = new Map<string, Zone>();

/** For croner: cron has no seconds. */
const OPTIONS = { timezone: 'UTC', paused: true, mode: '5-part' } as const;

/** Five fields, or a nickname such as `@daily`. */
const SHAPE = /^(?:@\w+|\s*\S+(?:\s+\S+){4}\s*)$/;

/** Any moment: a text without a time after it has none at all. */
const LONG_AGO = Date.UTC(2000, 0, 1);

const SECOND: Milliseconds = 1000;

/** Explicit hours: `3`, `2,14`. Not `*`, `8-18` or `*` with steps. */
const FIXED_HOURS = /^(?:\d{1,2},)*\d{1,2}$/;

/** croner's nicknames that mean more than one time a day. */
const HOURLY = /^@hourly$/i;

/**
 * We ask croner which calendar times a text means, on clocks that never change. What happens when clocks do change is
 * decided here. A fixed time that is skipped comes up once, right when the clocks have changed; a fixed time that occurs
 * twice comes up the first time. Times with `*` or a range as hour come up as often as clocks show them.
 */
export class CronCadence implements Cadence {
  readonly text: string;
  readonly zone: Zone;
  readonly #cron: Cron;
  readonly #isFixed: boolean;
  /** The last answer: the same question is asked again and again, and finding it takes a tenth of a millisecond. */
  #known: { readonly after: Milliseconds; readonly next: Milliseconds | undefined } | undefined;

  /** @throws what croner throws if the text is not a cron */
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
        // Nothing comes up before the change. Skipped and repeated times lie on either side of it.
        if (this.#isFixed && wall < change.at + change.after) return change.at;
        from = this.#isFixed ? Math.max(change.at, change.at + change.before - change.after) : change.at;
      } else if (match - from > FARTHEST_CHANGE) from = match - FARTHEST_CHANGE;
      else return match;
    }
  }

  /** The first matching wall time, at this one or later. */
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

/** @throws what `place` makes of a text that is not a cron, or that never comes up */
export function cronIn(text: unknown, zone: Zone, place: Place): Cadence {
  if (typeof text !== 'string') throw place.refuse(text, "give a cron text such as '0 3 * * *'");
  const words = text.trim().split(/\s+/).length;
  if (words === 6)
    throw place.refuse(text, "a cron has five fields, and no seconds; for a span of seconds, give every('10s')");
  const fields = "give five fields, as in '0 3 * * *': minute, hour, day, month, weekday";
  // croner would say that six and seven are right too.
  if (!text.startsWith('@') && words !== 5) throw place.refuse(text, fields);
  let cadence: CronCadence;
  try {
    cadence = new CronCadence(text, zone);
  } catch (error) {
    const problem = error instanceof Error ? error.message.replace(/^CronPattern: /, '') : String(error);
    throw place.refuse(text, `${fields} (${problem})`);
  }
  // croner also accepts the text of a moment.
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
    // Reported below.
  }
  const [meant] = typeof name === 'string' ? nearest(name, Intl.supportedValuesOf('timeZone'), 1) : [];
  throw place.refuse(name, `give the name of a time zone, such as '${meant ?? 'Europe/Amsterdam'}'`);
};

/** @throws E_INVALID_DURATION, and what `place` makes of a span that is too short, or not a whole number of milliseconds */
export const span: Kind<Cadence> = (value, place) => {
  const length = durationSeconds(value, place.subject) * SECOND;
  if (length >= SECOND && Number.isInteger(length)) return new SpanCadence(length);
  throw place.refuse(value, 'give one second or more');
};
