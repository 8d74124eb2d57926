/** When a schedule is due, at the times of a cron text in a time zone or at multiples of a span since 1970, and what happens to late and overlapping occurrences. */
import { spanText } from '../base/span';
import { isName, NAME_RULE, nearest } from '../base/text';
import { Cron } from 'croner';
import type { Milliseconds, Seconds } from '../base/clock';
import { durationSeconds } from '../job/duration';
import { membersOf, type Kind, type Place } from '../job/option-kinds';
import type { MissedPolicy, OverlapPolicy, ScheduleOptions } from '../job/options';

export interface Cadence {
  /** To keep and to compare cadences: `0 3 * * * (Europe/Amsterdam)`, `every 900 s`. */
  readonly text: string;
  readonly zone: Zone;
  /** The first occurrence after a moment. Undefined if there is none any more. */
  next(after: Milliseconds): Milliseconds | undefined;
}

/** For display: `every 15 min`. A span that two units cannot tell exactly stays in seconds. */
export function cadenceText(text: string): string {
  const seconds = Number(/^every (\d+) s$/.exec(text)?.[1] ?? 0);
  const isExact = seconds % (seconds < 3600 ? 1 : seconds < 86_400 ? 60 : 3600) === 0;
  return seconds > 0 && isExact ? `every ${spanText(seconds * 1000)}` : text;
}

export interface Timing {
  readonly cadence: Cadence;
  readonly missed: Missed;
  /** Undefined if not given. */
  readonly overlap: OverlapPolicy | undefined;
}

export interface Missed {
  readonly policy: MissedPolicy;
  /** How late a missed occurrence may be sent. */
  readonly within: Seconds;
}

const MINUTE = 60_000;

/** How far `changeAfter` looks at most: no zone changes its clocks twice within this time. */
const FARTHEST_CHANGE: Milliseconds = 2 * 24 * 60 * MINUTE;

/** No zone sets its clocks back by more. */
const LONGEST_REPEAT: Milliseconds = 4 * 60 * MINUTE;

/** A moment when the clocks are changed. */
interface ClockChange {
  readonly at: Milliseconds;
  readonly before: Milliseconds;
  readonly after: Milliseconds;
}

/** The wall clocks of a time zone, by `Intl`. A wall time is represented by the moment at which UTC clocks show it. */
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

class SpanCadence implements Cadence {
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

/** The default limits. */
const WITHIN: Readonly<Record<MissedPolicy, Seconds>> = { latest: 3600, skip: 60, all: 24 * 3600 };

export const LATEST: Missed = { policy: 'latest', within: WITHIN.latest };

/** The longest limit: the state of a schedule is kept for that long, and each occurrence leaves a mark until then. */
const LONGEST_LOOK: Seconds = 7 * 24 * 3600;

/** A name is part of a key in the store, together with the moment. */
const LONGEST_NAME = 200;

const members = membersOf<keyof ScheduleOptions>(
  ['cron', 'every', 'timezone', 'name', 'missed', 'overlap'],
  'give an object with cron or every, and perhaps timezone, name, missed, overlap',
);

/** `schedule` of `@Job()`. */
export const timing: Kind<Timing> = (value, place) => {
  const { cron, every, timezone, name, missed: late, overlap: twice } = members(value, place);
  if ((cron === undefined) === (every === undefined)) throw place.refuse(value, 'give one of the two: cron or every');
  if (every !== undefined && timezone !== undefined) throw place.refuse(value, SPANS_HAVE_NO_ZONE);
  if (name !== undefined) scheduleName(name, place);
  const cadence =
    every === undefined
      ? cronIn(cron, timezone === undefined ? UTC : zone(timezone, place), place)
      : span(every, place);
  const missedPolicy = late === undefined ? LATEST : missed(Array.isArray(late) ? late : [late], place);
  const overlapPolicy = twice === undefined ? undefined : overlap(twice, place);
  return together({ cadence, missed: missedPolicy, overlap: overlapPolicy }, place);
};

export const SPANS_HAVE_NO_ZONE =
  'every counts from 1970 in UTC, whatever clocks show; leave timezone out, or write a cron';

export const scheduleName: Kind<string> = (value, place) => {
  if (isName(value) && value.length <= LONGEST_NAME) return value;
  throw place.refuse(value, `a name has ${NAME_RULE.replace(/\d\d+/, String(LONGEST_NAME))}`);
};

/** The policy, and optionally the limit. */
export const missed: Kind<Missed> = (value, place) => {
  const [policy, within, ...more] = value as readonly unknown[];
  if (typeof policy !== 'string' || !Object.hasOwn(WITHIN, policy) || more.length > 0)
    throw place.refuse(
      value,
      "for what was missed, give 'latest', 'skip' or 'all', and perhaps how far back is looked",
    );
  const known = policy as MissedPolicy;
  if (within === undefined) return { policy: known, within: WITHIN[known] };
  const seconds = durationSeconds(within, place.subject);
  if (seconds >= 1 && seconds <= LONGEST_LOOK) return { policy: known, within: seconds };
  throw place.refuse(within, 'look back a second or more, and seven days at most');
};

export const overlap: Kind<OverlapPolicy> = (value, place) => {
  if (value === 'skip' || value === 'allow') return value;
  throw place.refuse(value, "for overlap, give 'skip' or 'allow'");
};

/** Refuses combinations that make no sense. */
export function together(timing: Timing, place: Place): Timing {
  if (timing.missed.policy === 'all' && timing.overlap === 'skip')
    throw place.refuse(
      'skip',
      "missed is 'all', and of those that come up together 'skip' would leave all but one out; give 'allow'",
    );
  return timing;
}
