/** `schedule:list`, `:run`, `:pause`, `:resume`, `:remove` and `:test`: the schedules of the project and of its stores. */
import { keepingConnections } from '../../connections/driver';
import type { Milliseconds } from '../../base/clock';
import { oneLine } from '../../base/text';
import { momentIn } from '../../job/duration';
import { count } from '../../job/option-kinds';
import { cadenceText } from '../../schedule/cadence';
import type { ScheduleListing, Schedules } from '../../schedule/schedules';
import { defineCommand, type Call } from '../command';
import { HOW_TO_REGISTER, invalidOption } from '../errors';
import { ofKind, type Flag } from '../flags';
import { openKeeping } from '../named-queues';
import { defineList } from '../list';
import { agoText, counted, momentText, type Tone } from '../output';

/** Columns that a state needs. */
const READABLE_STATE = 24;
const DEFAULT_COUNT = 5;
const COUNTS = count(1, 1000);

/** Opens all connections that keep jobs: stored schedules are looked for in the stores of open ones. `schedule`: the one named. */
async function openSchedules(call: Call): Promise<{ readonly schedules: Schedules; readonly schedule: string }> {
  const manager = await openKeeping(call);
  for (const name of keepingConnections(manager)) manager.driver(name);
  return { schedules: manager.schedules, schedule: call.words[0] ?? '' };
}

const WORD = ['<schedule>', 'the name of the schedule, as listed by onqueue schedule:list'] as const;

export const scheduleList = defineList({
  name: 'schedule:list',
  summary: 'list the schedules, when they come up next, and whether a worker sends them',
  description:
    'Lists schedules declared in this project, stored ones, and others that the stores know. A schedule that is no longer declared anywhere is an orphan: it sends nothing, and is forgotten after seven days.',
  examples: [
    ['onqueue schedule:list', 'all schedules'],
    ["onqueue schedule:list --json | jq '.items[] | select(.kept | not)'", 'for a program'],
  ],
  async run(call) {
    const { output, session } = call;
    const { schedules } = await openSchedules(call);
    const listed = await schedules.list();
    output.result(listed.map(documentOf));
    if (output.isJson) return;
    if (listed.length === 0) return output.note(`No schedule is declared. ${HOW_TO_REGISTER}`);
    const now = session.surroundings.clock.now();
    const rows = listed.map((listing) => {
      const { name, spec, declared, next, last } = listing;
      return [
        declared?.origin === 'stored' ? `${name} (stored)` : name,
        declared?.cadence ?? cadenceText(spec),
        output.ahead(next, now) ?? '–',
        output.past(last, now) ?? 'never yet',
        { text: stateText(listing, now), tone: toneOf(listing) },
      ];
    });
    output.list(['schedule', 'when', 'next', 'last', 'state'], rows, READABLE_STATE);
    const unkept = listed.filter(
      ({ declared, isKept, problem }) => declared !== undefined && !isKept && problem === undefined,
    );
    if (unkept.length === 0) return;
    output.note(
      `No running worker sends ${unkept.map(({ name }) => name).join(', ')}. Start one with the files that declare it or its job, and without --no-schedule.`,
    );
  },
});

function documentOf({ declared, isKept, isOrphan, problem, ...listing }: ScheduleListing): object {
  return { ...listing, ...declared, kept: isKept, orphan: isOrphan, problem: problem?.message };
}

function toneOf({ problem, pausedAt, isKept, heldBy }: ScheduleListing): Tone | undefined {
  if (problem !== undefined) return 'bad';
  return pausedAt !== undefined || !isKept || heldBy !== undefined ? 'warning' : undefined;
}

function stateText(
  { pausedAt, isKept, isOrphan, skipped, heldBy, problem }: ScheduleListing,
  now: Milliseconds,
): string {
  const words = [
    problem === undefined ? '' : oneLine(problem.message),
    pausedAt === undefined ? '' : `paused ${agoText(pausedAt, now)}`,
    isOrphan ? 'orphan: no longer declared' : isKept || problem !== undefined ? '' : 'no worker sends it',
    skipped === 0 ? '' : `${counted(skipped, 'occurrence')} skipped`,
    heldBy === undefined ? '' : oneLine(`held up by ${heldBy.name} ${heldBy.id}: ${heldBy.why}`),
  ].filter((word) => word !== '');
  return words.length === 0 ? 'active' : words.join(', ');
}

export const scheduleRun = defineCommand({
  name: 'schedule:run',
  summary: 'send the job of a schedule now',
  description:
    'Works whether the schedule is paused or not, and even if its last job still runs. Its next occurrences do not change.',
  examples: [
    ['onqueue schedule:run prune', 'send it once'],
    ['onqueue schedule:run prune --json', 'for a program, with the id of the job'],
  ],
  words: WORD,
  async run(call) {
    const { schedules, schedule } = await openSchedules(call);
    const id = await schedules.run(schedule);
    call.output.result({ schedule, id }, `Sent the job of ${schedule}: ${id}`);
  },
});

export const schedulePause = defineCommand({
  name: 'schedule:pause',
  summary: 'stop a schedule from sending jobs until it is resumed',
  description:
    'Applies to all workers, including those that start later. Jobs that were sent up to 15 s ahead still run.',
  examples: [
    ['onqueue schedule:pause prune', 'until onqueue schedule:resume prune'],
    ['onqueue schedule:pause prune --json', 'for a program'],
  ],
  words: WORD,
  async run(call) {
    const { schedules, schedule } = await openSchedules(call);
    const changed = await schedules.pause(schedule);
    const line = changed ? `Paused ${schedule}.` : `${schedule} was already paused.`;
    call.output.result({ schedule, paused: true, changed }, line);
  },
});

export const scheduleResume = defineCommand({
  name: 'schedule:resume',
  summary: 'let a paused schedule go on',
  description: 'Occurrences during the pause are not made up for.',
  examples: [
    ['onqueue schedule:resume prune', 'from its next occurrence'],
    ['onqueue schedule:resume prune --json', 'for a program'],
  ],
  words: WORD,
  async run(call) {
    const { schedules, schedule } = await openSchedules(call);
    const changed = await schedules.resume(schedule);
    const line = changed ? `Resumed ${schedule}.` : `${schedule} was not paused.`;
    call.output.result({ schedule, paused: false, changed }, line);
  },
});

export const scheduleRemove = defineCommand({
  name: 'schedule:remove',
  summary: 'remove a schedule that was stored while the program ran',
  description:
    'Removes what Queue.schedules.put() stored. A schedule that the program declares is removed from its code, or paused.',
  examples: [
    ['onqueue schedule:remove report:42', 'for all workers'],
    ['onqueue schedule:remove report:42 --json', 'for a program'],
  ],
  words: WORD,
  async run(call) {
    const { schedules, schedule } = await openSchedules(call);
    // The error names those that there are.
    if (!(await schedules.remove(schedule))) await schedules.named(schedule);
    call.output.result({ schedule, removed: true }, `Removed ${schedule}.`);
  },
});

const from: Flag<Date> = {
  value: '<moment>',
  help: 'start after this moment: 2027-03-27, 2027-03-27T12:00 or 2027-03-27T12:00+01:00; UTC unless given (default: now)',
  read(value, flag) {
    const moment = momentIn(value);
    if (moment !== undefined) return moment;
    throw invalidOption(flag, value, 'Give a day or a moment, such as 2027-03-27 or 2027-03-27T12:00.');
  },
};

export const scheduleTest = defineCommand({
  name: 'schedule:test',
  summary: 'show when a schedule comes up, and where clocks change',
  description: 'Looks only at its declaration, paused or not. Sends nothing.',
  examples: [
    ['onqueue schedule:test prune', 'the next 5 occurrences'],
    ['onqueue schedule:test prune --from=2027-03-27 --count=3', 'around the change to summer time'],
    ['onqueue schedule:test prune --json', 'for a program'],
  ],
  words: WORD,
  flags: {
    from,
    count: ofKind<number>(COUNTS, { value: '<count>', help: `number of occurrences (default: ${DEFAULT_COUNT})` }),
  },
  async run(call) {
    const { output, flags } = call;
    const { schedules, schedule } = await openSchedules(call);
    const occurrences = await schedules.occurrences(schedule, { count: DEFAULT_COUNT, ...flags });
    const { cadence } = (await schedules.named(schedule)).parts;
    const shown = occurrences.map(({ at, wall, isClockChange }) => ({ at, wall, clockChange: isClockChange }));
    const zone = cadence.zone.name;
    const told = cadenceText(cadence.text);
    output.result({ schedule, cadence: told, timezone: zone, occurrences: shown });
    output.line(`${schedule}: ${told}`);
    const headings = zone === 'UTC' ? ['in UTC'] : [`in ${zone}`, 'in UTC', ''];
    const rows = shown.map(({ at, wall, clockChange }) =>
      zone === 'UTC' ? [momentText(at)] : [wall, momentText(at), clockChange ? 'clocks change' : ''],
    );
    if (rows.length > 0) output.table(headings, rows);
    if (rows.length < (flags.count ?? DEFAULT_COUNT))
      output.line(rows.length === 0 ? 'It never comes up again.' : 'There are no more.');
  },
});
