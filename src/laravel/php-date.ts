/** Moments of PHP: objects of DateTime, DateTimeImmutable, Carbon, and the like. They have a time on the wall and a zone. */
import { PhpObject, type PhpValue } from './php-text';

/** A moment whose zone this platform does not know, or which is too far away for a Date. */
interface WrittenMoment {
  readonly date: string;
  readonly timezone: string;
}

/** As `timezone_type` says it. */
const OFFSET = 1;
const NAME = 3;

/** Undefined if the object is no moment. */
export function momentOf({ properties }: PhpObject): Date | WrittenMoment | undefined {
  const [date, kind, timezone] = ['date', 'timezone_type', 'timezone'].map((name) => properties.get(name));
  if (typeof date !== 'string' || typeof kind !== 'number' || typeof timezone !== 'string') return undefined;
  const wall = wallClock(date);
  const moment = wall === undefined ? undefined : instantOf(wall, kind, timezone);
  return moment === undefined ? { date, timezone } : new Date(moment);
}

/** Undefined if the year does not have four digits, so that PHP would not understand it. */
export function phpMoment(moment: Date, className: string): PhpObject | undefined {
  const text = Number.isNaN(moment.getTime()) ? '' : moment.toISOString();
  if (!/^\d/.test(text)) return undefined;
  const entries: [string, PhpValue][] = [
    ['date', `${text.slice(0, 10)} ${text.slice(11, 23)}000`],
    ['timezone_type', NAME],
    ['timezone', 'UTC'],
  ];
  return new PhpObject(className, new Map(entries));
}

/** In milliseconds, as if the wall were in UTC. */
function wallClock(date: string): number | undefined {
  const [, day, time, fraction] = /^(\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d)\.(\d{6})$/.exec(date) ?? [];
  const wall = fraction === undefined ? Number.NaN : Date.parse(`${day}T${time}.${fraction.slice(0, 3)}Z`);
  return Number.isNaN(wall) ? undefined : wall;
}

function instantOf(wall: number, kind: number, timezone: string): number | undefined {
  if (/^(?:UTC|GMT|Z)$/.test(timezone)) return wall;
  const offset = kind === OFFSET ? offsetIn(timezone) : undefined;
  if (offset !== undefined) return wall - offset;
  // The meaning of an abbreviation, such as CET in summer, differs from library to library.
  return kind === NAME ? inZone(wall, timezone) : undefined;
}

/** PHP takes the earlier moment when clocks are set back, so the offset of the day before comes first. */
function inZone(wall: number, zone: string): number | undefined {
  const candidates = [-DAY, DAY].flatMap((away) => {
    const offset = offsetAt(zone, wall + away);
    return offset === undefined ? [] : [wall - offset];
  });
  return candidates.find((moment) => offsetAt(zone, moment) === wall - moment) ?? candidates[0];
}

const DAY = 86_400_000;

/** Those of the zones that the platform knows, which are a few hundred. */
const formats = new Map<string, Intl.DateTimeFormat>();

function offsetAt(zone: string, moment: number): number | undefined {
  try {
    const known = formats.get(zone) ?? new Intl.DateTimeFormat('en', { timeZone: zone, timeZoneName: 'longOffset' });
    formats.set(zone, known);
    const name = known.formatToParts(moment).find(({ type }) => type === 'timeZoneName')?.value;
    return offsetIn(name?.replace('GMT', '') || '+00:00');
  } catch {
    return undefined;
  }
}

/** Of a text such as +05:30, in milliseconds. */
function offsetIn(text: string): number | undefined {
  const [, sign, hours, minutes, seconds = 0] = /^([+-])(\d\d):(\d\d)(?::(\d\d))?$/.exec(text) ?? [];
  if (sign === undefined) return undefined;
  const offset = Number(hours) * 3_600_000 + Number(minutes) * 60_000 + Number(seconds) * 1000;
  return sign === '-' ? -offset : offset;
}
