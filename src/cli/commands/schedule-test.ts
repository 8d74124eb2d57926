/** `schedule:test`: when a schedule comes up. */
import { defineCommand } from '../command';
import { invalidOption } from '../errors';
import { type Flag, ofKind } from '../flags';
import { momentText } from '../moments';
import { openForSchedules, SCHEDULE_WORD } from '../schedule-text';

const DEFAULT_COUNT = 5;
const MOST = 1000;

const from: Flag<Date> = {
  value: '<moment>',
  help: 'start after this moment: 2027-03-27, 2027-03-27T12:00 or 2027-03-27T12:00+01:00; UTC unless given (default: now)',
  read(value, flag) {
    const [, day, time = 'T00:00', offset = 'Z'] =
      /^(\d{4}-\d\d-\d\d)([T ]\d\d:\d\d(?::\d\d)?)?(Z|[+-]\d\d:\d\d)?$/.exec(value) ?? [];
    const midnight = new Date(`${day}T00:00Z`);
    const moment = new Date(`${day}${time.replace(' ', 'T')}${offset}`);
    // The 31st of February would be read as the 3rd of March.
    const isInCalendar = !Number.isNaN(midnight.getTime()) && midnight.toISOString().startsWith(`${day}T`);
    if (isInCalendar && !Number.isNaN(moment.getTime())) return moment;
    throw invalidOption(flag, value, 'Give a day or a moment, such as 2027-03-27 or 2027-03-27T12:00.');
  },
};

const count: Flag<number> = ofKind<number>(
  (value, place) => {
    if (Number.isInteger(value) && Number(value) >= 1 && Number(value) <= MOST) return Number(value);
    throw place.refuse(value, `give a whole number from 1 to ${MOST}`);
  },
  { value: '<count>', help: `number of occurrences (default: ${DEFAULT_COUNT})` },
);

export const scheduleTest = defineCommand({
  name: 'schedule:test',
  summary: 'show when a schedule comes up, and where clocks change',
  description: 'Looks only at its declaration, paused or not. Sends nothing.',
  examples: [
    ['onqueue schedule:test prune', 'the next 5 occurrences'],
    ['onqueue schedule:test prune --from=2027-03-27 --count=3', 'around the change to summer time'],
    ['onqueue schedule:test prune --json', 'for a program'],
  ],
  words: SCHEDULE_WORD,
  flags: { from, count },
  async run(call) {
    const { output, flags } = call;
    const [schedule = ''] = call.words;
    const manager = await openForSchedules(call);
    const occurrences = await manager.schedules.occurrences(schedule, { count: DEFAULT_COUNT, ...flags });
    const { cadence } = manager.schedules.all.find(({ name }) => name === schedule)!.parts;
    const shown = occurrences.map(({ at, wall, isClockChange }) => ({ at, wall, clockChange: isClockChange }));
    output.result({ schedule, cadence: cadence.text, timezone: cadence.zone.name, occurrences: shown });
    output.line(`${schedule}: ${cadence.text}`);
    const zone = cadence.zone.name;
    const headings = zone === 'UTC' ? ['in UTC'] : [`in ${zone}`, 'in UTC', ''];
    const rows = shown.map(({ at, wall, clockChange }) =>
      zone === 'UTC' ? [momentText(at)] : [wall, momentText(at), clockChange ? 'clocks change' : ''],
    );
    if (rows.length > 0) output.table(headings, rows);
    if (rows.length < (flags.count ?? DEFAULT_COUNT))
      output.line(rows.length === 0 ? 'It never comes up again.' : 'There are no more.');
  },
});
