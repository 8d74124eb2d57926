/** `schedule:list`: lists the schedules, their next occurrences, and whether a worker keeps them. */
import { defineCommand } from '../command';
import { HOW_TO_REGISTER } from '../errors';
import { isNeglected, openForSchedules, SCHEDULE_HEADINGS, scheduleDocument, scheduleRow } from '../schedule-text';

/** Columns that a state needs. */
const READABLE_STATE = 20;

export const scheduleList = defineCommand({
  name: 'schedule:list',
  summary: 'list the schedules, when they come up next, and whether a worker keeps them',
  description:
    'Lists schedules declared in this project, and others that the stores know. A schedule that is no longer declared anywhere is an orphan: it sends nothing, and is forgotten after seven days.',
  examples: [
    ['onqueue schedule:list', 'all schedules'],
    ["onqueue schedule:list --json | jq '.[] | select(.kept | not)'", 'for a program'],
  ],
  async run(call) {
    const { output, session } = call;
    const manager = await openForSchedules(call);
    const listed = await manager.schedules.list();
    output.result(listed.map(scheduleDocument));
    if (output.isJson) return;
    if (listed.length === 0) return output.note(`No schedule is declared. ${HOW_TO_REGISTER}`);
    const now = session.surroundings.clock.now();
    output.list(
      SCHEDULE_HEADINGS,
      listed.map((listing) => scheduleRow(listing, now)),
      READABLE_STATE,
    );
    const neglected = listed.filter(isNeglected).map(({ name }) => name);
    if (neglected.length === 0) return;
    output.note(
      `No live worker keeps ${neglected.join(', ')}: it sends nothing until a worker runs with the files that declare it, and without --no-schedule.`,
    );
  },
});
