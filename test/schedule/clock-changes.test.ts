/** Times of day around clock changes, in five zones and for both changes of a year, computed with `Intl` alone. */
import '../../src/composition';
import { Job } from '../../src/job/job';
import { CronCadence, Zone } from '../../src/schedule/cadence';
import { testApplication } from '../support/application';

const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;

interface Shown {
  readonly moment: number;
  /** `2027-03-28 02:30` */
  readonly wall: string;
}

/** What the clocks of a zone show in each minute, from noon to noon, around each change of 2027. */
function changesOf(timeZone: string): readonly (readonly Shown[])[] {
  const format = new Intl.DateTimeFormat('sv-SE', { timeZone, dateStyle: 'short', timeStyle: 'short' });
  const hourOf = (moment: number): number => Number(format.format(moment).slice(11, 13));
  const changes: Shown[][] = [];
  for (let noon = Date.UTC(2027, 0, 1, 12); noon < Date.UTC(2028, 0, 1); noon += DAY) {
    const half = format.format(noon).slice(14) === format.format(noon + DAY).slice(14);
    if (half && hourOf(noon) === hourOf(noon + DAY)) continue;
    const minutes = Array.from({ length: 2 * 1440 }, (_, minute) => noon - DAY / 2 + minute * MINUTE);
    changes.push(minutes.map((moment) => ({ moment, wall: format.format(moment) })));
  }
  return changes;
}

/** All local times of the days, whether clocks show them or not. */
function wallsOf(shown: readonly Shown[]): readonly string[] {
  const days = [...new Set(shown.map(({ wall }) => wall.slice(0, 10)))];
  const times = Array.from({ length: 1440 }, (_, minute) => new Date(minute * MINUTE).toISOString().slice(11, 16));
  const all = days.flatMap((day) => times.map((time) => `${day} ${time}`));
  const [first, last] = [shown[0]!.wall, shown.at(-1)!.wall];
  return all.filter((wall) => wall >= first && wall <= last);
}

const timeOf = (wall: string): readonly [hour: number, minute: number] => [
  Number(wall.slice(11, 13)),
  Number(wall.slice(14)),
];

type Means = (hour: number, minute: number) => boolean;

/** Fixed times occur once: the first time that clocks show them, or else as soon as clocks show a later time. */
function oncePerTime(shown: readonly Shown[], means: Means): readonly number[] {
  const meant = wallsOf(shown).filter((wall) => means(...timeOf(wall)));
  const moments = meant.map((wall) => {
    const at = shown.find((one) => one.wall === wall);
    if (at !== undefined) return at.moment;
    const before = shown.findLastIndex((one, place) => one.wall < wall && (shown[place + 1]?.wall ?? '') > wall);
    return shown[before + 1]!.moment;
  });
  return [...new Set(moments)].toSorted((a, b) => a - b);
}

/** Times within repeated hours occur as often as clocks show them. */
function eachTime(shown: readonly Shown[], means: Means): readonly number[] {
  return shown.filter(({ wall }) => means(...timeOf(wall))).map(({ moment }) => moment);
}

const ZONES = ['Europe/Amsterdam', 'America/New_York', 'America/Santiago', 'Asia/Beirut', 'Australia/Lord_Howe'];

const CHANGES = new Map(ZONES.map((zone) => [zone, changesOf(zone)]));

const TIMES: readonly (readonly [cron: string, expected: typeof eachTime, means: Means])[] = [
  ['30 2 * * *', oncePerTime, (hour, minute) => hour === 2 && minute === 30],
  ['0 0 * * *', oncePerTime, (hour, minute) => hour === 0 && minute === 0],
  ['45 1 * * *', oncePerTime, (hour, minute) => hour === 1 && minute === 45],
  ['15 0,1,2,23 * * *', oncePerTime, (hour, minute) => [0, 1, 2, 23].includes(hour) && minute === 15],
  ['*/10 2 * * *', oncePerTime, (hour, minute) => hour === 2 && minute % 10 === 0],
  ['30 * * * *', eachTime, (_hour, minute) => minute === 30],
  ['*/15 1-3 * * *', eachTime, (hour, minute) => hour >= 1 && hour <= 3 && minute % 15 === 0],
  ['0 */2 * * *', eachTime, (hour, minute) => hour % 2 === 0 && minute === 0],
];

const table = ZONES.flatMap((zone) => TIMES.map(([cron, expected, means]) => [cron, zone, expected, means] as const));

test.each(table)('%s in %s is due at the right moments around clock changes', (cron, zone, expected, means) => {
  const changes = CHANGES.get(zone)!;
  const cadence = new CronCadence(cron, new Zone(zone));
  expect(changes).toHaveLength(2);
  for (const shown of changes) {
    // Not at the ends, where expected moments may lie outside.
    const [from, to] = [shown[60]!.moment, shown.at(-60)!.moment];
    const within = (moment: number): boolean => moment > from && moment <= to;
    const found: number[] = [];
    for (let at = cadence.next(from)!; at <= to; at = cadence.next(at)!) found.push(at);
    expect(found.map((moment) => new Date(moment).toISOString())).toEqual(
      expected(shown, means)
        .filter(within)
        .map((moment) => new Date(moment).toISOString()),
    );
  }
});

test.each(ZONES)('from any minute around a change in %s, the next occurrence is the first one to come', (zone) => {
  for (const [cron, expected, means] of TIMES) {
    const cadence = new CronCadence(cron, new Zone(zone));
    for (const shown of CHANGES.get(zone)!) {
      const all = expected(shown, means);
      const last = all.findLast((moment) => moment < shown.at(-60)!.moment)!;
      const asked = shown.map(({ moment }) => moment).filter((moment) => moment >= all[0]! && moment < last);
      for (const after of asked.filter((_, place) => place % 13 === 0))
        expect([cron, cadence.next(after)]).toEqual([cron, all.find((moment) => moment > after)]);
    }
  }
});

test('a day that a zone skips altogether is made up for right after it', () => {
  const cadence = new CronCadence('0 12 * * *', new Zone('Pacific/Apia'));
  const noon = Date.UTC(2011, 11, 29, 22);
  expect(cadence.next(noon)).toBe(Date.UTC(2011, 11, 30, 10));
  expect(cadence.next(Date.UTC(2011, 11, 30, 10))).toBe(Date.UTC(2011, 11, 30, 22));
});

test('a day that occurs every four years is found across many clock changes', () => {
  const cadence = new CronCadence('0 3 29 2 *', new Zone('America/New_York'));
  expect(cadence.next(Date.UTC(2096, 2, 1))).toBe(Date.UTC(2104, 1, 29, 8));
});

@Job()
class Noon extends Job {
  handle(): void {}
}

test.each([
  ['America/Havana', 'forward right at midnight', '2026-03-05', ['03-08']],
  ['America/Havana', 'back at one', '2026-10-29', ['11-01']],
  ['Asia/Beirut', 'back right at midnight', '2026-10-22', ['10-24']],
  ['Australia/Lord_Howe', 'by half an hour', '2026-10-01', ['10-04']],
  // The skipped noon is made up for right afterwards, on the next day.
  ['Pacific/Apia', 'by a whole day', '2011-12-27', ['12-31', '12-31']],
])('in %s, %s: the day of the clock change is marked, and not the day before', async (timezone, _, from, days) => {
  const { manager } = testApplication();
  manager
    .schedule(() => new Noon())
    .daily()
    .at('12:00')
    .timezone(timezone);
  const coming = await manager.schedules.occurrences('Noon', { from: new Date(from), count: 6 });
  const marked = coming.filter(({ isClockChange }) => isClockChange);
  expect(marked.map(({ wall }) => wall.slice(5, 10))).toEqual(days);
});
