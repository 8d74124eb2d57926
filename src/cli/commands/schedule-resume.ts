/** `schedule:resume`: lets a paused schedule go on. */
import { defineCommand } from '../command';
import { openForSchedules, SCHEDULE_WORD } from '../schedule-text';

export const scheduleResume = defineCommand({
  name: 'schedule:resume',
  summary: 'let a paused schedule go on',
  description: 'Occurrences during the pause are not made up for.',
  examples: [
    ['onqueue schedule:resume prune', 'from its next occurrence'],
    ['onqueue schedule:resume prune --json', 'for a program'],
  ],
  words: SCHEDULE_WORD,
  async run(call) {
    const [schedule = ''] = call.words;
    const manager = await openForSchedules(call);
    const changed = await manager.schedules.resume(schedule);
    const line = changed ? `Resumed ${schedule}.` : `${schedule} was not paused.`;
    call.output.result({ schedule, paused: false, changed }, line);
  },
});
