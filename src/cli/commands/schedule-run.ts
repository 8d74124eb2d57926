/** `schedule:run`: sends the job of a schedule now. */
import { defineCommand } from '../command';
import { openForSchedules, SCHEDULE_WORD } from '../schedule-text';

export const scheduleRun = defineCommand({
  name: 'schedule:run',
  summary: 'send the job of a schedule now',
  description:
    'Paused or not, and whatever else there is of it: it waits for nothing, and changes nothing of what comes up next.',
  examples: [
    ['onqueue schedule:run prune', 'once, now'],
    ['onqueue schedule:run prune --json', 'for a program, which learns its id'],
  ],
  words: SCHEDULE_WORD,
  async run(call) {
    const [schedule = ''] = call.words;
    const manager = await openForSchedules(call);
    const id = await manager.schedules.run(schedule);
    call.output.result({ schedule, id }, `Sent the job of ${schedule}: ${id}`);
  },
});
