/** `schedule:pause`: sends nothing of a schedule until it is resumed. */
import { defineCommand } from '../command';
import { openForSchedules, SCHEDULE_WORD } from '../schedule-text';

export const schedulePause = defineCommand({
  name: 'schedule:pause',
  summary: 'send nothing of a schedule until it is resumed',
  description: 'For all workers, also those that start later. What was sent up to 15 s ahead runs.',
  examples: [
    ['onqueue schedule:pause prune', 'until onqueue schedule:resume prune'],
    ['onqueue schedule:pause prune --json', 'for a program'],
  ],
  words: SCHEDULE_WORD,
  async run(call) {
    const [schedule = ''] = call.words;
    const manager = await openForSchedules(call);
    const changed = await manager.schedules.pause(schedule);
    const line = changed ? `Paused ${schedule}.` : `${schedule} was paused already.`;
    call.output.result({ schedule, paused: true, changed }, line);
  },
});
