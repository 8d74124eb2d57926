/** `schedule:pause`: stops a schedule from sending jobs until it is resumed. */
import { defineCommand } from '../command';
import { openForSchedules, SCHEDULE_WORD } from '../schedule-text';

export const schedulePause = defineCommand({
  name: 'schedule:pause',
  summary: 'stop a schedule from sending jobs until it is resumed',
  description:
    'Applies to all workers, including those that start later. Jobs that were sent up to 15 s ahead still run.',
  examples: [
    ['onqueue schedule:pause prune', 'until onqueue schedule:resume prune'],
    ['onqueue schedule:pause prune --json', 'for a program'],
  ],
  words: SCHEDULE_WORD,
  async run(call) {
    const [schedule = ''] = call.words;
    const manager = await openForSchedules(call);
    const changed = await manager.schedules.pause(schedule);
    const line = changed ? `Paused ${schedule}.` : `${schedule} was already paused.`;
    call.output.result({ schedule, paused: true, changed }, line);
  },
});
