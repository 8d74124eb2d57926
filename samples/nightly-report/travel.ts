/** The days around the change to summer time: there is no 02:30 in that night, so the report is due at 03:00. */
import { Queue } from 'onqueue';
import { TestClock } from 'onqueue/testing';
import { NightlyReport } from './jobs';

export async function run(): Promise<void> {
  const occurrences = await Queue.schedules.occurrences('NightlyReport', { from: new Date('2027-03-27'), count: 3 });
  for (const { wall, isClockChange } of occurrences) {
    console.log(`comes up at ${wall}${isClockChange ? ', clocks change' : ''}`);
  }
  const queue = Queue.fake({ clock: new TestClock(new Date('2027-03-26T12:00:00Z')) });
  await queue.travelTo(new Date('2027-03-29T12:00:00Z'));
  console.log(`${queue.pushed(NightlyReport).length} reports were sent`);
  await queue.drain();
  queue.restore();
}
