/** `schedule:run`: sends the job of a schedule now. */
import { defineCommand } from '../command';
import { openForSchedules, SCHEDULE_WORD } from '../schedule-text';

export const scheduleRun = defineCommand({
  name: 'schedule:run',
  summary: 'send the job of a schedule now',
  description:
    'Works whether the schedule is paused or not, and even if its last job still runs. Its next occurrences do not change.',
  examples: [
    ['onqueue schedule:run prune', 'send it once'],
    ['onqueue schedule:run prune --json', 'for a program, with the id of the job'],
  ],
  words: SCHEDULE_WORD,
  async run(call) {
    const [schedule = ''] = call.words;
    const manager = await openForSchedules(call);
    const id = await manager.schedules.run(schedule);
    call.output.result({ schedule, id }, `Sent the job of ${schedule}: ${id}`);
  },
});
